"""All formats in one table, and which of them a file or folder is in."""

from __future__ import annotations

import zipfile
from pathlib import Path

from core.data.dataset import Holds
from core.data.formats import coco, csv_file, fiftyone, folders, huggingface, labelstudio, list_file, manifest
from core.data.formats.base import Format
from core.errors import InputError

_TREE = frozenset({Holds.LABELS, Holds.CLASSES})
_ALL = frozenset(Holds)

FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format(
            "imagefolder",
            "ImageFolder",
            "A folder for each class, below train, validation and test; labelled images alone. Read by torchvision, "
            "Keras, timm and most others.",
            (),
            lambda path: folders.recognised(path) == "imagefolder",
            folders.read_imagefolder,
            folders.write_imagefolder,
            _TREE | {Holds.SPLIT},
            folders.first,
            copies_images=True,
        ),
        Format(
            "officehome",
            "OfficeHome layout",
            "A folder for each domain, in it one for each class; labelled images alone. Read by code for domain "
            "adaptation.",
            (),
            lambda path: folders.recognised(path) == "officehome",
            folders.read_officehome,
            folders.write_officehome,
            _TREE | {Holds.DOMAIN},
            folders.first,
            copies_images=True,
        ),
        Format(
            "csv",
            "CSV",
            "A table with one row for each image and all that is known of it, for spreadsheets and pandas; no images.",
            (".csv", ".tsv", ".tab", ".txt"),
            csv_file.recognises,
            csv_file.read,
            csv_file.write,
            _ALL,
            csv_file.first,
        ),
        Format(
            "huggingface",
            "Hugging Face imagefolder",
            "Images by split with a table of all that is known of them, for load_dataset.",
            (".jsonl", ".ndjson", ".parquet", ".csv"),
            huggingface.recognises,
            huggingface.read,
            huggingface.write,
            _ALL,
            huggingface.first,
            copies_images=True,
        ),
        Format(
            "labelstudio",
            "Label Studio",
            "Tasks with everybody's answers as annotations and the model's guesses as predictions; no images.",
            (".json",),
            labelstudio.recognises,
            labelstudio.read,
            labelstudio.write,
            _ALL,
            labelstudio.first,
        ),
        Format(
            "fiftyone-tree",
            "FiftyOne directory tree",
            "A folder for each class, and _unlabeled for all images without one.",
            (),
            lambda path: folders.recognised(path) == "fiftyone-tree",
            folders.read_tree,
            folders.write_tree,
            _TREE | {Holds.UNLABELLED},
            folders.first,
            copies_images=True,
        ),
        Format(
            "fiftyone",
            "FiftyOne dataset",
            "Images with samples.json, which holds all that is known of them, and labels.json.",
            (".json",),
            fiftyone.recognises,
            fiftyone.read,
            fiftyone.write,
            _ALL,
            fiftyone.first,
            copies_images=True,
        ),
        Format(
            "coco",
            "COCO labels",
            "One JSON file with images, categories and annotations without boxes; no images.",
            (".json",),
            coco.recognises,
            coco.read,
            coco.write,
            _ALL,
            coco.first,
        ),
        Format(
            "list",
            "List of paths",
            "A text with the path or address of an image on each line; nothing else.",
            (".txt", ".lst"),
            list_file.recognises,
            list_file.read,
            list_file.write,
            frozenset({Holds.UNLABELLED}),
            list_file.first,
        ),
    )
}
TRIED = ("fiftyone", "huggingface", "coco", "labelstudio", "csv", "list")
"""The order in which a source is tried: what is plain to see before what almost any folder is."""


def recognise(path: Path) -> Format:
    """The format of a file or folder, from names and first lines; of one of our own exports from its manifest.

    Raises InputError, naming what is understood, for anything else.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist: give a file or a folder")
    known = None if not path.is_dir() else manifest.read(path)
    if known is not None and known.get("format") in FORMATS:
        return FORMATS[str(known["format"])]
    found = next((name for name in TRIED if FORMATS[name].recognises(path)), "") or folders.recognised(path)
    if found in FORMATS:
        return FORMATS[found]
    if path.is_file() and zipfile.is_zipfile(path):
        raise InputError(f"{path} is a zip archive: it has to be unpacked before its format can be told")
    understood = ", ".join(each.title for each in FORMATS.values())
    raise InputError(f"{path} is in no format that is understood. These are: {understood}")
