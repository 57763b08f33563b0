"""COCO's JSON with labels alone: images, categories, and for each labelled image an annotation without a box.

Other people's annotations may have boxes: an image whose boxes are all of one class has that class, one with several
has none. What Penumbra knows besides is kept in fields of the image, which readers of COCO pass over.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from core.data.dataset import Dataset, Record
from core.data.formats import flat, manifest
from core.data.formats.answers import clean, shown
from core.data.formats.base import Payload, gathered, reported, total
from core.data.formats.places import placed
from core.data.json_stream import keys, members, text
from core.data.scan import Ignored
from core.errors import InputError
from core.values import Progress

NAME = "labels.json"
SEVERAL = "its annotations are of several classes: one image has one class here"
TELLING = ("samples", "labels", "images", "annotations")
_MANY = object()


def write(dataset: Dataset, folder: Path, on_progress: Progress) -> Payload:
    """labels.json; the annotations wait in a file without a name until all images are written."""
    numbers = {name: number for number, name in enumerate(dataset.classes, 1)}
    with (folder / NAME).open("x", encoding="utf-8") as handle, _waiting(folder) as annotations:
        handle.write('{"info": {"description": "Labels of images, made by Penumbra"}, "licenses": [],\n"images": [')
        written = labelled = 0
        for record in reported(dataset.records, total(dataset), on_progress, "Writing labels"):
            written += 1
            handle.write(f"{',' if written > 1 else ''}\n{text(_image(written, record))}")
            if (name := record.label if record.label is not None else shown(record)) is not None:
                labelled += 1
                category = numbers.setdefault(name, len(numbers) + 1)
                made = {"id": labelled, "image_id": written, "category_id": category, "iscrowd": 0}
                annotations.write(f"{',' if labelled > 1 else ''}\n{text(made)}")
        handle.write('\n],\n"annotations": [')
        annotations.seek(0)
        while piece := annotations.read(1 << 20):
            handle.write(piece)
        categories = [{"id": number, "name": name, "supercategory": ""} for name, number in numbers.items()]
        handle.write(f'\n],\n"categories": {text(categories)}}}\n')
    return Payload(written)


def read(source: Path, *, root: Path | None = None) -> Dataset:
    """The images; `root` is the folder they are in, by default the file's own. Raises InputError."""
    file = source / NAME if source.is_dir() else source
    start = root or file.parent
    order = manifest.classes(manifest.beside(source, "coco")) or tuple(_categories(file).values())
    return gathered(start, lambda: _entries(file, start), order, "COCO labels")


def first(source: Path) -> Iterator[Record | Ignored]:
    """The first images; the annotations are gone through, as they are behind them."""
    file = source / NAME if source.is_dir() else source
    return _entries(file, file.parent)


def recognises(source: Path) -> bool:
    """A JSON file that begins with COCO's members."""
    if source.is_dir():
        return manifest.beside(source, "coco") != {}
    return source.suffix.lower() == ".json" and not {"images", "annotations"}.isdisjoint(keys(source, TELLING))


def _waiting(folder: Path) -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="utf-8", dir=folder)


def _image(number: int, record: Record) -> dict[str, Any]:
    """The image with the flat columns as fields of its own; the label is in its annotation alone."""
    values = {key: value for key, value in flat.row(record).items() if key != "label"}
    kept = {key: value for key, value in values.items() if value is not None or key in flat.OURS}
    return {"id": number, "file_name": record.path} | kept


def _categories(file: Path) -> dict[Any, str]:
    """Name by id, in the order of the ids where they are numbers."""
    found = [each for _, each in members(file, "categories") if isinstance(each, Mapping) and "id" in each]
    if all(isinstance(each["id"], int) for each in found):
        found.sort(key=lambda each: each["id"])
    return {_key(each["id"]): clean(str(each.get("name", each["id"]))) for each in found}


def _entries(file: Path, root: Path) -> Iterator[Record | Ignored]:
    names, given = _categories(file), _given(file)
    for number, (_, image) in enumerate(members(file, "images"), 1):
        where = f"{file.name}, image {image.get('id', number) if isinstance(image, Mapping) else number}"
        try:
            if not isinstance(image, Mapping):
                raise InputError("it is no image")
            category = given.get(_key(image.get("id")))
            yield _record(image, None if category is _MANY else names.get(category), root)
            if category is _MANY:
                yield Ignored(where, SEVERAL)
        except InputError as error:
            yield Ignored(where, str(error))


def _given(file: Path) -> dict[Any, Any]:
    """The category of each image by its id: one entry an image, two numbers each."""
    found: dict[Any, Any] = {}
    for _, each in members(file, "annotations"):
        if isinstance(each, Mapping) and each.get("category_id") is not None:
            image, category = _key(each.get("image_id")), _key(each["category_id"])
            if found.setdefault(image, category) != category:
                found[image] = _MANY
    return found


def _record(image: Mapping[str, Any], label: str | None, root: Path) -> Record:
    if frozenset(image) >= flat.OURS:
        return flat.record(dict(image) | {"label": label}, root, labels_shown=True)
    path = image.get("file_name") or image.get("coco_url") or image.get("flickr_url")
    split, domain = str(image.get("split", "")).lower(), image.get("domain")
    return Record(
        path=placed(path, root),
        domain=clean(str(domain)) if domain else None,
        split=flat.SPLITS.get(split),
        stated=label,
    )


def _key(value: object) -> object:
    """An id as a key: what is no number or text counts by how it is written."""
    return value if isinstance(value, int | str | None) else text(value)
