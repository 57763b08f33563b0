"""All formats in one table, in the order in which a source is tried."""

from __future__ import annotations

from pathlib import Path

from core.data.dataset import Holds
from core.data.formats.base import Format, Preview
from core.errors import InputError

_TREE = frozenset({Holds.CLASSES})
_ALL = frozenset(Holds)


def _format(
    name: str, title: str, what: str, holds: frozenset[Holds], *extensions: str, copies: bool = False
) -> Format:
    return Format(name, title, what, extensions, lambda _: False, None, None, holds, copies)


FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        _format(
            "imagefolder",
            "ImageFolder",
            "a folder for each class, below train, validation and test",
            _TREE | {Holds.SPLIT},
            copies=True,
        ),
        _format(
            "officehome",
            "OfficeHome",
            "a folder for each domain, in it one for each class",
            _TREE | {Holds.DOMAIN},
            copies=True,
        ),
        _format("csv", "CSV", "one row an image, with all that is known of it", _ALL, ".csv", ".tsv"),
        _format("huggingface", "Hugging Face imagefolder", "images with a metadata file", _ALL, ".jsonl", copies=True),
        _format("labelstudio", "Label Studio", "tasks with annotations and predictions", _ALL, ".json"),
        _format(
            "fiftyone-tree",
            "FiftyOne directory tree",
            "a folder for each class, _unlabeled for the rest",
            _TREE | {Holds.UNLABELLED},
            copies=True,
        ),
        _format(
            "fiftyone", "FiftyOne dataset", "samples.json and labels.json with the images", _ALL, ".json", copies=True
        ),
        _format("coco", "COCO labels", "images, categories and annotations without boxes", _ALL, ".json"),
        _format("list", "List of paths", "a path or an address on each line", frozenset({Holds.UNLABELLED}), ".txt"),
    )
}


def recognise(path: Path) -> Format:
    """The format of a file or folder; raises InputError, naming those that are understood."""
    raise InputError(f"{path} is in none of the formats that are read: {', '.join(f.title for f in FORMATS.values())}")


def preview(path: Path, rows: int = 5) -> Preview:
    """The first rows as they are understood, without reading all; raises InputError."""
    return Preview(recognise(path).title, (), (), (), ())
