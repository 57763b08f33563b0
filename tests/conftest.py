"""Fixtures for all tests; `shared` is the developers' folder of real images, which a user's machine lacks."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.postgres import missing, server

torch.set_num_threads(1)  # small products: a second thread costs more than it brings, far more on a busy machine

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = Path(__file__).parent / "reference"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The developers' folder beside the repository: real images and official outputs."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"needs the developers' folder of real images at {folder}")
    return folder


@pytest.fixture(scope="session")
def pacs_home(shared, tmp_path_factory) -> Path:
    """A data folder with the project "pacs" towards sketches, imported from a copy by the command line."""
    home = tmp_path_factory.mktemp("pacs")
    shutil.copytree(shared / "data" / "pacs", home / "images", copy_function=shutil.copyfile)
    command = [sys.executable, "-m", "core", "import", home / "images", "--project", "pacs", "--target", "sketch"]
    environment = os.environ | {"PENUMBRA_HOME": str(home)}
    environment.pop("PENUMBRA_DATABASE_URL", None)
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    return home


def pytest_generate_tests(metafunc):
    """What asks for a database runs on both kinds; modules marked `one_database` are about something else."""
    kinds = ["sqlite"] if metafunc.definition.get_closest_marker("one_database") else ["sqlite", "postgresql"]
    said = {name for mark in metafunc.definition.iter_markers("parametrize") for name in mark.args[0]}
    for name in ("database_url", "empty_url"):
        if name in metafunc.fixturenames and name not in said:
            metafunc.parametrize(name, kinds, indirect=True)


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server, started when first asked for."""
    if reason := missing():
        pytest.skip(reason)
    with server() as running:
        yield running


@pytest.fixture(scope="session")
def s3_address():
    """A server on this machine that speaks S3, started when first asked for."""
    from tests.s3 import serving

    with serving() as address:
        yield address


@pytest.fixture
def bucket(s3_address, monkeypatch) -> str:
    """An empty bucket, as s3://name; what the programs need to reach it is in the environment."""
    from tests.s3 import new_bucket

    return new_bucket(s3_address, monkeypatch)


@pytest.fixture
def database_url(request, tmp_path):
    """Where an empty database is, with its tables: an SQLite file to be, or a database of a PostgreSQL server."""
    yield from _url(request, tmp_path / "home", "migrated")


@pytest.fixture
def empty_url(request, tmp_path):
    """The same, before any table is made."""
    yield from _url(request, tmp_path / "empty", "empty")


def _url(request, folder, kind):
    if request.param == "sqlite":
        folder.mkdir(exist_ok=True)
        yield f"sqlite:///{folder / 'db.sqlite'}"
        return
    postgres = request.getfixturevalue("postgres")
    url = getattr(postgres, kind)()
    yield url
    postgres.drop(url)


@pytest.fixture
def database(database_url, tmp_path, monkeypatch):
    """An empty database, and a data folder of its own."""
    from db.session import open_database

    monkeypatch.setenv("PENUMBRA_HOME", str(tmp_path / "home"))
    opened = open_database(database_url)
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch):
    """A quarter of a second for each password would add up."""
    from core import passwords

    monkeypatch.setattr(passwords, "COST", passwords.Cost(n=2, r=1, p=1))


@pytest.fixture
def project(database, tmp_path, monkeypatch) -> int:
    """A project of 96 drawn images, read, encoded by an encoder that sees colour only, with its round 0."""
    from tests.toy import make_project

    return make_project(database, tmp_path / "images", 96, "toy", monkeypatch)
