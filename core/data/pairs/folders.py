"""Whole folders of image–text pairs as lists, every caption kept: what mini is trained on."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.data.pairs.tables import locate
from core.errors import InputError


@dataclass(frozen=True, slots=True)
class Captioned:
    """One image and its captions, from general to specific."""

    path: Path
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """One image and its ImageNet class."""

    path: Path
    class_index: int
    class_name: str


def read_captions(folder: Path, hold_out: int = 0) -> list[Captioned]:
    """Rows of `folder`/captions.csv (file_name, then one caption a column), without the last `hold_out` rows."""
    rows = _rows(folder / "captions.csv")
    kept = rows[: len(rows) - hold_out]
    return [Captioned(locate(folder, row.pop("file_name")), tuple(filter(None, row.values()))) for row in kept]


def read_names(folder: Path) -> list[Named]:
    """Rows of `folder`/labels.csv (file_name, class_index, class_name)."""
    rows = _rows(folder / "labels.csv")
    return [Named(locate(folder, row["file_name"]), int(row["class_index"]), row["class_name"]) for row in rows]


def read_pairs(folders: Sequence[Path], hold_out: int = 0) -> tuple[list[Captioned], list[Named]]:
    """All captioned and all named images of `folders`; raises InputError for a folder that has neither file."""
    captioned, named = [], []
    for folder in folders:
        if (folder / "captions.csv").exists():
            captioned += read_captions(folder, hold_out)
        elif (folder / "labels.csv").exists():
            named += read_names(folder)
        else:
            raise InputError(f"{folder} has neither captions.csv (file_name, captions…) nor labels.csv (class names)")
    return captioned, named


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))
