"""Fixtures for all tests; `shared` is the developers' folder of real images, which a user's machine lacks."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = Path(__file__).parent / "reference"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The developers' folder beside the repository: real images and official outputs."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"needs the developers' folder of real images at {folder}")
    return folder
