"""A project for the ProLIP page in a browser: drawn images, and the official tiny weights in a folder as its model."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.gaussians import encode_project
from core.projects import create_from_folder
from core.rounds import prepare
from db.session import Database, open_database
from tests.conftest import ROOT
from tests.encoders.words import write_tokenizer
from tests.toy import CLASSES, ToyEncoder, draw, toy_factors


def tiny_project(folder: Path, images: int = 60) -> tuple[Database, int]:
    """The database under `folder / "home"` and a project of images that were read as Gaussians, with its round 0."""
    for name in ("home", "tiny"):
        (folder / name).mkdir()
    reference = ROOT / "tests" / "reference"
    shutil.copy(reference / "prolip_tiny_config.json", folder / "tiny" / "config.json")
    shutil.copy(reference / "prolip_tiny_weights.safetensors", folder / "tiny" / "model.safetensors")
    write_tokenizer(folder / "tiny")
    for number in range(images):
        draw(folder / "images", number, side=96)
    model, database = f"local-dir:{folder / 'tiny'}", open_database(f"sqlite:///{folder / 'home' / 'penumbra.sqlite'}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENUMBRA_HOME", str(folder / "home"))
        patch.setattr("core.rounds.encoder_for", lambda name: ToyEncoder())
        patch.setattr("core.rounds.factors_for", toy_factors)
        project = create_from_folder(database, name="p", folder=folder / "images", classes=CLASSES, model=model)
        prepare(database, project)
        encode_project(database, project, model)
    return database, project
