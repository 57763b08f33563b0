"""An export, whole or not at all: made beside its place and put there in one step, with a manifest."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import deque
from datetime import UTC, datetime
from pathlib import Path

from core.config import VERSION
from core.data.dataset import Dataset
from core.data.formats import manifest
from core.data.formats.base import Format, Payload, Written
from core.data.formats.table import FORMATS
from core.data.formats.tally import Counted, Tally
from core.errors import InputError, UnknownName
from core.values import Progress, silent

_SYSTEM = frozenset({".ds_store", "thumbs.db", "desktop.ini"})  # what a system adds on its own


def lost(dataset: Dataset, format: Format) -> list[str]:
    """What this export cannot hold, a sentence each, with counts; goes through the records once."""
    counted = Counted(dataset)
    deque(counted, maxlen=0)
    return counted.tally.lost(format, dataset.classes)


def write(
    dataset: Dataset, name: str, folder: Path, *, replace: bool = False, on_progress: Progress = silent
) -> Written:
    """Write the dataset as `name` into `folder`, with manifest.json; all or nothing.

    An empty or missing folder is filled; an earlier export, to which nothing was added, is replaced only if `replace`.
    Raises InputError for any other folder, UnknownName for an unknown format; whatever `on_progress` raises ends it.
    """
    format = FORMATS.get(name)
    if format is None or format.write is None:
        known = ", ".join(each.name for each in FORMATS.values() if each.write)
        raise UnknownName(f"no format {name!r} to write; there are {known}")
    folder = Path(os.path.abspath(folder))
    if format.copies_images and dataset.local is None and folder.is_relative_to(os.path.realpath(dataset.root)):
        raise InputError(f"{folder} lies among the images, which would be taken in again: export to another folder")
    _refuse(dataset, folder, replace)
    counted = Counted(dataset)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".export-", dir=folder.parent))
    except OSError as error:
        raise InputError(f"{folder.parent} cannot be written to: {error.strerror}") from error
    try:
        staging.chmod(0o755)
        payload = format.write(counted.as_dataset(), staging, on_progress)
        made = _describe(format, dataset.classes, payload, counted.tally, staging)
        (staging / manifest.NAME).write_text(json.dumps(made, ensure_ascii=False, indent=1), encoding="utf-8")
        _refuse(dataset, folder, replace)
        _put(staging, folder)
    except OSError as error:
        raise InputError(f"the export to {folder} failed and left nothing there: {error}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return Written(folder, payload.written, str(made["snapshot"]), tuple(made["lost"]), payload.left_out)


def _describe(format: Format, classes: tuple[str, ...], payload: Payload, tally: Tally, staging: Path) -> dict:
    """The manifest, for people and for reading the export again."""
    counts = {"images": tally.counts["images"], "written": payload.written}
    counts |= {status: tally.counts[status] for status in ("labelled", "unlabelled", "skipped", "unusable", "conflict")}
    return {
        "app": manifest.APP,
        "version": VERSION,
        "format": format.name,
        "written_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "snapshot": tally.snapshot(classes),
        "classes": list(classes),
        "counts": counts | {"by_class": dict(tally.classes), "by_split": dict(tally.splits)},
        "lost": tally.lost(format, classes),
        "left_out": [{"path": each.path, "reason": each.reason, "count": each.count} for each in payload.left_out],
        "files": _count(staging) + 1,
        **payload.kept,
    }


def _refuse(dataset: Dataset, folder: Path, replace: bool) -> None:
    """Raise InputError unless the folder is missing, empty, or an earlier export that may go."""
    root = Path(os.path.realpath(dataset.root))
    if root.is_relative_to(os.path.realpath(folder)):
        raise InputError(f"{folder} holds the images themselves: export to another folder")
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder} is a link or a file: export to a folder")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    found = manifest.read(folder)
    if found is None:
        raise InputError(f"{folder} is not empty and holds no export of ours: export to an empty or a new folder")
    if not replace:
        raise InputError(f"{folder} holds an export from {found.get('written_utc')}: say that it is to be replaced")
    if _count(folder) != found.get("files"):
        raise InputError(
            f"{folder} holds {_count(folder)} files, and {found.get('files')} were exported: somebody added or removed "
            "some, and replacing it would lose that; export to another folder"
        )


def _put(staging: Path, folder: Path) -> None:
    """`staging` takes the place of `folder`; what was there goes, and comes back if this fails."""
    if not folder.exists():
        staging.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=".export-old-", dir=folder.parent))
    before = old / "before"
    folder.rename(before)
    try:
        staging.rename(folder)
    except OSError:
        before.rename(folder)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _count(folder: Path) -> int:
    """How many files lie in a folder and below, those of the system aside."""
    return sum(name.lower() not in _SYSTEM for _, _, names in os.walk(folder) for name in names)
