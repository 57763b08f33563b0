"""Folders that name classes: ImageFolder, the layout of OfficeHome, and FiftyOne's directory tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from core.data.dataset import Dataset, Record, Status
from core.data.formats import manifest
from core.data.formats.answers import shown
from core.data.formats.base import Payload, gathered, reported, total
from core.data.formats.copying import copies
from core.data.formats.flat import SPLITS
from core.data.names import FolderNames
from core.data.scan import FoundFile, Ignored, Layout, Scan, Split, scan_folder
from core.values import Progress

SPLIT_FOLDERS = {Split.POOL: "train", Split.VALIDATION: "validation", Split.TEST: "test"}
UNLABELLED, NO_DOMAIN = "_unlabeled", "_no_domain"
_OURS = (manifest.NAME, manifest.FILES)


def write_imagefolder(dataset: Dataset, folder: Path, on_progress: Progress) -> Payload:
    """class/file, below train, validation and test where images have a split; only images with a class."""
    classes = FolderNames(dataset.classes, reserved=frozenset(SPLITS))
    with copies(dataset, folder) as into:
        for record in reported(dataset.records, total(dataset), on_progress, "Writing images"):
            if (name := shown(record)) is not None:
                below = classes.of(name)
                into.place(record, below if record.split is None else f"{SPLIT_FOLDERS[record.split]}/{below}")
    return Payload(into.written, into.left_out, {"class_folders": _turned(classes)})


def write_officehome(dataset: Dataset, folder: Path, on_progress: Progress) -> Payload:
    """domain/class/file; only images with a class."""
    classes, domains = FolderNames(dataset.classes), FolderNames(reserved=frozenset({NO_DOMAIN}))
    with copies(dataset, folder) as into:
        for record in reported(dataset.records, total(dataset), on_progress, "Writing images"):
            if (name := shown(record)) is not None:
                domain = NO_DOMAIN if record.domain is None else domains.of(record.domain)
                into.place(record, f"{domain}/{classes.of(name)}")
    kept = {"class_folders": _turned(classes), "domain_folders": _turned(domains) | {NO_DOMAIN: None}}
    return Payload(into.written, into.left_out, kept)


def write_tree(dataset: Dataset, folder: Path, on_progress: Progress) -> Payload:
    """class/file, all without a class in _unlabeled."""
    classes = FolderNames(dataset.classes, reserved=frozenset({UNLABELLED}))
    with copies(dataset, folder) as into:
        for record in reported(dataset.records, total(dataset), on_progress, "Writing images"):
            name = shown(record)
            into.place(record, UNLABELLED if name is None else classes.of(name))
    return Payload(into.written, into.left_out, {"class_folders": _turned(classes)})


def read_imagefolder(source: Path, *, root: Path | None = None) -> Dataset:
    """Classes, below folders that are called like splits where there are some. Raises InputError."""
    return _read(source, "imagefolder", "ImageFolder", splits=True)


def read_officehome(source: Path, *, root: Path | None = None) -> Dataset:
    """Domains with the classes in them. Raises InputError."""
    return _read(source, "officehome", "OfficeHome layout", layout=Layout.DOMAIN_CLASS)


def read_tree(source: Path, *, root: Path | None = None) -> Dataset:
    """Classes and _unlabeled. Raises InputError."""
    return _read(source, "fiftyone-tree", "FiftyOne directory tree", layout=Layout.CLASS_FOLDERS)


def first(source: Path) -> Iterator[Record]:
    """The images of any of these layouts; the folder is listed and no file is opened."""
    format = recognised(source)
    return iter(
        {"officehome": read_officehome, "fiftyone-tree": read_tree}.get(format, read_imagefolder)(source).records
    )


def recognised(source: Path) -> str:
    """Which of these layouts a folder has, "" for a file."""
    if not source.is_dir():
        return ""
    if (found := manifest.read(source)) is not None:
        return str(found.get("format"))
    if (source / UNLABELLED).is_dir():
        return "fiftyone-tree"
    if _split_folders(source):
        return "imagefolder"
    return "officehome" if scan_folder(source).layout is Layout.DOMAIN_CLASS else "imagefolder"


def _read(source: Path, format: str, title: str, *, layout: Layout | None = None, splits: bool = False) -> Dataset:
    found = manifest.beside(source, format)
    tops = _split_folders(source) if splits else {}
    scan = scan_folder(source, layout=Layout.DOMAIN_CLASS if tops else layout or Layout.CLASS_FOLDERS)
    before = manifest.originals(source) if found else {}
    return gathered(source, lambda: _entries(scan, found, tops, before), manifest.classes(found), title)


def _entries(
    scan: Scan, found: Mapping[str, Any], tops: Mapping[str, Split], before: Mapping[str, tuple[str, str]]
) -> Iterator[Record | Ignored]:
    classes, domains = manifest.names(found, "class_folders"), manifest.names(found, "domain_folders")
    for file in scan.files:
        split, domain, folder = _levels(file, tops)
        name = None if folder in (None, UNLABELLED) else classes.get(folder, folder)
        original, _ = before.get(file.path, (None, ""))
        answered = bool(found) and split is Split.POOL and name is not None
        yield Record(
            path=file.path,
            domain=None if domain is None else domains.get(domain, domain),
            split=split,
            stated=None if answered else name,
            status=Status.LABELLED if answered else Status.UNLABELLED,
            label=name if answered else None,
            original=original,
        )
    for each in scan.ignored:
        if each.path not in _OURS or each.count > 1:
            yield each


def _levels(file: FoundFile, tops: Mapping[str, Split]) -> tuple[Split | None, str | None, str | None]:
    """(split, domain, folder of the class) of a file; below folders of splits the classes are one deeper."""
    if not tops:
        return None, file.domain, file.class_name
    if file.domain is not None and file.domain in tops:
        return tops[file.domain], None, file.class_name
    return None, None, file.domain


def _split_folders(source: Path) -> dict[str, Split]:
    """The split of each top folder where all that hold something are called like splits, at least one like training."""
    tops = [each.name for each in source.iterdir() if each.is_dir() and not each.name.startswith(".")]
    known = {name: SPLITS[name.lower()] for name in tops if name.lower() in SPLITS}
    ours = manifest.read(source) is not None
    return known if known and (ours or len(known) == len(tops)) else {}


def _turned(names: FolderNames) -> dict[str, str | None]:
    return {folder: name for name, folder in names.folders.items()}
