"""An export, whole or not at all: made beside its place and put there in one step, with a manifest."""

from __future__ import annotations

from pathlib import Path

from core.data.dataset import Dataset
from core.data.formats.base import Format, Written
from core.values import Progress, silent


def lost(dataset: Dataset, format: Format) -> list[str]:
    """What this export cannot hold, a sentence each, with counts; goes through the records once."""
    return []


def write(
    dataset: Dataset, name: str, folder: Path, *, replace: bool = False, on_progress: Progress = silent
) -> Written:
    """Write the dataset as `name` into `folder`, with manifest.json; all or nothing.

    An empty or missing folder is filled; an earlier export (one with our manifest and nothing added) only if `replace`.
    Raises InputError otherwise, or for an unknown name.
    """
    raise NotImplementedError
