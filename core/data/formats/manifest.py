"""The manifest beside every export: what made it, the classes in order, the true names of folders, what is in it."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.data.table_file import restored

NAME, FILES = "manifest.json", "files.csv"
APP = "Penumbra"
_LARGEST = 16 << 20


def read(folder: Path) -> Mapping[str, Any] | None:
    """The manifest of one of our exports, None for any other folder."""
    file = folder / NAME
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return None
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("app") == APP else None


def beside(source: Path, format: str) -> Mapping[str, Any]:
    """The manifest of the export of this format that `source` is or lies in; {} where there is none."""
    found = read(source if source.is_dir() else source.parent)
    return found if found is not None and found.get("format") == format else {}


def classes(found: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The classes in their order, None where the manifest has none."""
    names = found.get("classes")
    return tuple(map(str, names)) if isinstance(names, list) else None


def names(found: Mapping[str, Any], key: str) -> dict[str, str | None]:
    """True name by folder."""
    kept = found.get(key)
    return dict(kept) if isinstance(kept, dict) else {}


def originals(folder: Path) -> dict[str, tuple[str, str]]:
    """(path before the export, sha256) by the file in the export; {} without our list of files."""
    try:
        with (folder / FILES).open(encoding="utf-8", newline="") as handle:
            return {
                restored(row["file"], True): (restored(row["path"], True), row["sha256"])
                for row in csv.DictReader(handle)
            }
    except (OSError, ValueError, KeyError, csv.Error):
        return {}
