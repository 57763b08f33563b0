"""A project of twelve small images in a data folder of its own, with two measured rounds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image

from core.config import database_url
from core.images import probe
from db import repository
from db.repository import NewItem
from db.session import Database, open_database
from tests.pages.team_toy import open_team, toy  # noqa: F401 (fixtures)

CLASSES = ("cat", "dog *bold*", "![spy](http://spy.invalid/x.png)")
SPLITS = ("pool", "pool", "pool", "test")


@dataclass(frozen=True)
class Site:
    home: Path
    root: Path
    database: Database
    project: int
    hashes: list[str]

    def rounds(self) -> list[repository.RoundRow]:
        with self.database.read() as session:
            return repository.rounds(session, self.project)


@pytest.fixture
def site(tmp_path, monkeypatch) -> Site:
    monkeypatch.setenv("PENUMBRA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PENUMBRA_DATABASE_URL", raising=False)
    monkeypatch.setattr("pages.parts.working.ensure_worker", lambda **_: None)
    root = tmp_path / "images"
    rows = [_image(root, number) for number in range(12)]
    database = open_database(database_url())
    with database.write() as session:
        project = repository.create_project(
            session, name="Tiny <b>", root=str(root), model="mini", prompt="a photo of a {class}", classes=CLASSES
        )
        repository.add_items(session, project, rows)
        repository.add_problems(session, project, [("broken.jpg", "the file ends early")])
        for number in range(2):
            repository.add_round(session, project, **round_columns(number))
    yield Site(tmp_path / "home", root, database, project, [row.sha256 for row in rows])
    database.close()


def _image(root: Path, number: int) -> NewItem:
    path = root / f"{number}.png"
    path.parent.mkdir(exist_ok=True)
    Image.new("RGB", (60 + number, 40), (20 * number, 90, 120)).save(path)
    info = probe(path)
    return NewItem(path.name, info.sha256, None, info.width, info.height, SPLITS[number % 4], CLASSES[number % 3])


def round_columns(number: int) -> dict:
    better = {"accuracy": 0.5 + 0.1 * number, "nlpd": 1.2 - 0.2 * number, "ece": 0.2 - 0.05 * number, "brier": 0.5}
    bins = [
        {"lower": 0.0, "upper": 0.5, "count": 0, "confidence": None, "accuracy": None},
        {"lower": 0.5, "upper": 1.0, "count": 20, "confidence": 0.9, "accuracy": 0.7},
    ]
    metrics = {"split": "test", "n": 20, "bins": 2, "served": "posterior", "posterior": better, "map": better}
    return {
        "label_watermark": 0,
        "labels": 10 * number,
        "settings": {},
        "seed": 0,
        "fingerprint": "none",
        "checkpoint": "none",
        "metrics": metrics | {"reliability": bins},
        "versions": {},
        "seconds": 1.5,
    }
