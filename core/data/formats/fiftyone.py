"""FiftyOne's datasets on disk: images in data/, with samples.json (all fields) or labels.json (classes alone).

Both are written: `FiftyOneDataset` reads samples.json and metadata.json, `FiftyOneImageClassificationDataset` reads
labels.json (https://docs.voxel51.com/user_guide/import_datasets.html). samples.json is in the form without a version,
which every FiftyOne reads, as the newer one is a dump of its own database.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.data.dataset import Dataset, Guess, Record
from core.data.formats import flat, manifest
from core.data.formats.answers import clean, guess_in, shown
from core.data.formats.base import Payload, gathered, reported, total
from core.data.formats.copying import copies
from core.data.formats.places import placed
from core.data.json_stream import keys, members, reading, text
from core.data.scan import EXTENSIONS, Ignored, Split
from core.errors import InputError
from core.values import Progress

SAMPLES, LABELS, METADATA, DATA = "samples.json", "labels.json", "metadata.json", "data"
TELLING = ("samples", "labels", "images", "annotations")
TRUTH, PREDICTION = "ground_truth", "prediction"
TAGS = {Split.POOL: "train", Split.VALIDATION: "validation", Split.TEST: "test"}


def write(dataset: Dataset, folder: Path, on_progress: Progress) -> Payload:
    """data/, samples.json, labels.json and metadata.json."""
    numbers = {name: number for number, name in enumerate(dataset.classes)}
    with (
        copies(dataset, folder, by_stem=True) as into,
        (folder / SAMPLES).open("x", encoding="utf-8") as samples,
        (folder / LABELS).open("x", encoding="utf-8") as labels,
    ):
        samples.write('{"samples": [')
        labels.write(f'{{"classes": {text(list(dataset.classes))},\n"labels": {{')
        for record in reported(dataset.records, total(dataset), on_progress, "Writing images"):
            if (place := into.place(record, DATA)) is None:
                continue
            comma = "," if into.written > 1 else ""
            samples.write(f"{comma}\n{text(_sample(record, place))}")
            stem = os.path.splitext(place.removeprefix(f"{DATA}/"))[0]
            name = record.label if record.label is not None else shown(record)
            labels.write(f"{comma}\n{text(stem)}: {text(None if name is None else numbers.get(name, name))}")
        samples.write("\n]}\n")
        labels.write("\n}}\n")
    about = {
        "media_type": "image",
        "default_classes": list(dataset.classes),
        "info": {"classes": list(dataset.classes)},
    }
    (folder / METADATA).write_text(json.dumps(about, ensure_ascii=False, indent=1), encoding="utf-8")
    return Payload(into.written, into.left_out)


def read(source: Path, *, root: Path | None = None) -> Dataset:
    """The samples, else the labels; `root` is the folder that holds data/. Raises InputError."""
    file = _file(source)
    start = root or file.parent
    order = manifest.classes(manifest.beside(source, "fiftyone")) or _classes(file)
    return gathered(start, lambda: _entries(file, start), order, "FiftyOne dataset")


def first(source: Path) -> Iterator[Record | Ignored]:
    """The first samples, with nothing of the rest read."""
    file = _file(source)
    return _entries(file, file.parent)


def recognises(source: Path) -> bool:
    """A folder with samples.json or labels.json, or such a file."""
    if source.is_dir():
        return any((source / name).is_file() and recognises(source / name) for name in (SAMPLES, LABELS))
    return source.suffix.lower() == ".json" and not {"samples", "labels"}.isdisjoint(keys(source, TELLING))


def _file(source: Path) -> Path:
    if not source.is_dir():
        return source
    return source / (SAMPLES if (source / SAMPLES).is_file() else LABELS)


def _classes(file: Path) -> tuple[str, ...] | None:
    found = tuple(clean(str(name)) for _, name in members(file, "classes"))
    about = file.parent / METADATA
    if not found and about.is_file() and "default_classes" in keys(about, ("default_classes",)):
        found = tuple(clean(str(name)) for _, name in members(about, "default_classes"))
    return found or None


def _entries(file: Path, root: Path) -> Iterator[Record | Ignored]:
    if "samples" in keys(file, TELLING):
        found = (_sampled(sample, root) for _, sample in members(file, "samples"))
    else:
        found = _labelled(file, root)
    for number, make in enumerate(found, 1):
        try:
            yield make()
        except InputError as error:
            yield Ignored(f"{file.name}, sample {number}", str(error))


# ── samples.json ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _sample(record: Record, place: str) -> dict[str, Any]:
    """The sample with the flat columns as fields of its own; the label is in `ground_truth` alone."""
    name = record.label if record.label is not None else shown(record)
    fields = {key: value for key, value in flat.row(record).items() if key not in ("label", "predicted", "probability")}
    made = {
        "filepath": place,
        "tags": [] if record.split is None else [TAGS[record.split]],
        "metadata": None,
        TRUTH: None if name is None else {"_cls": "Classification", "tags": [], "label": name},
        PREDICTION: None if record.guess is None else _classified(record.guess),
    }
    return made | fields


def _classified(guess: Guess) -> dict[str, Any]:
    return {"_cls": "Classification", "tags": [], "label": guess.label, "confidence": guess.probability}


def _sampled(sample: object, root: Path):
    return lambda: _from_sample(sample, root)


def _from_sample(sample: object, root: Path) -> Record:
    if not isinstance(sample, Mapping):
        raise InputError("it is no sample")
    place = placed(sample.get("filepath"), root)
    truth, guess = _classification(sample, TRUTH), _classification(sample, PREDICTION, "predictions")
    if frozenset(sample) >= flat.OURS:
        values = dict(sample) | {"label": truth and truth.get("label")}
        values |= {"predicted": guess and guess.get("label"), "probability": guess and guess.get("confidence")}
        return replace(flat.record(values, root, labels_shown=True), path=place, original=str(sample["path"]))
    if truth is None:
        truth = next((_classification(sample, name) for name in sample if _is_truth(sample, name)), None)
    tags = [str(tag).lower() for tag in sample.get("tags") or () if isinstance(tag, str)]
    return Record(
        path=place,
        split=next((flat.SPLITS[tag] for tag in tags if tag in flat.SPLITS), None),
        stated=clean(str(truth["label"])) if truth and truth.get("label") is not None else None,
        guess=None
        if guess is None
        else guess_in({"label": guess.get("label"), "probability": guess.get("confidence")}),
    )


def _classification(sample: Mapping[str, Any], *names: str) -> Mapping[str, Any] | None:
    """The first of these fields that is a classification."""
    found = (sample.get(name) for name in names)
    return next((each for each in found if isinstance(each, Mapping) and "label" in each), None)


def _is_truth(sample: Mapping[str, Any], name: str) -> bool:
    value = sample[name]
    return not name.startswith("predict") and isinstance(value, Mapping) and value.get("_cls") == "Classification"


# ── labels.json ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _labelled(file: Path, root: Path):
    """A maker of a record for each label, by the stem of its file in data/."""
    data = root / DATA if (root / DATA).is_dir() else root
    places = {
        _stem(path, data): path.relative_to(root).as_posix() for path in sorted(data.rglob("*")) if _is_image(path)
    }
    classes = _classes(file) or ()
    with reading(file) as cursor:
        for key in cursor.members():
            if key == "labels" and cursor.peek() == "{":
                for stem in cursor.members():
                    yield _target(places.get(stem), stem, cursor.value(), classes)
            else:
                cursor.skip()


def _target(place: str | None, stem: str, target: object, classes: tuple[str, ...]):
    def make() -> Record:
        if place is None:
            raise InputError(f"there is no image {stem[:60]!r} in {DATA}/")
        return Record(place, stated=_class(target, classes))

    return make


def _class(target: object, classes: tuple[str, ...]) -> str | None:
    """The class of a target: a name, the number of one, or an object with either; None for none."""
    if isinstance(target, Mapping):
        return _class(target.get("label"), classes)
    if isinstance(target, list):
        if len(target) > 1:
            raise InputError("it has several classes: one image has one class here")
        return _class(target[0], classes) if target else None
    if isinstance(target, int) and not isinstance(target, bool) and classes:
        if not 0 <= target < len(classes):
            raise InputError(f"its class is number {target}, and there are {len(classes)}")
        return classes[target]
    return None if target is None else clean(str(target))


def _stem(path: Path, data: Path) -> str:
    return os.path.splitext(path.relative_to(data).as_posix())[0]


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in EXTENSIONS and path.is_file()
