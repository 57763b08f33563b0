"""Label Studio's JSON: a task for each image, an annotation for each person's answer, predictions of a model.

https://labelstud.io/guide/task_format: a skipped task is an annotation that was cancelled, an unusable image a choice
of its own. All that Penumbra knows beyond that is in the task's `meta`, which Label Studio keeps: the whole history and
who said what, as Label Studio knows its own users only. What was answered there since comes behind that history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit
from xml.sax.saxutils import quoteattr

from core.data.dataset import Dataset, Event, Guess, Kind, Record
from core.data.formats import flat, manifest
from core.data.formats.answers import (
    clean,
    events_out,
    guess_in,
    moment,
    number,
    parsed,
    settled,
    standing,
    standing_at,
)
from core.data.formats.base import Payload, gathered, reported, total
from core.data.formats.places import is_address, placed
from core.data.json_stream import keys, reading, write_array
from core.data.scan import EXTENSIONS, Ignored
from core.errors import InputError
from core.values import Progress

NAME, CONFIG, OURS = "tasks.json", "label_config.xml", "penumbra"
CLASS, QUALITY, UNUSABLE = "class", "quality", "unusable"  # names of the two controls, and the choice of the second
LOCAL = "/data/local-files/?d="
SEVERAL = "somebody gave it several classes: one image has one class here"


def write(dataset: Dataset, folder: Path, on_progress: Progress) -> Payload:
    """tasks.json to import, and the labelling interface that belongs to it."""
    written = 0

    def tasks() -> Iterator[dict[str, Any]]:
        nonlocal written
        for record in reported(dataset.records, total(dataset), on_progress, "Writing tasks"):
            written += 1
            yield _task(written, record)

    with (folder / NAME).open("x", encoding="utf-8") as handle:
        write_array(handle, tasks())
    (folder / CONFIG).write_text(_config(dataset.classes), encoding="utf-8")
    return Payload(written)


def read(source: Path, *, root: Path | None = None) -> Dataset:
    """The tasks; `root` is the folder of the images, by default the file's own. Raises InputError."""
    file = source / NAME if source.is_dir() else source
    start = root or file.parent
    order = manifest.classes(manifest.beside(source, "labelstudio"))
    return gathered(start, lambda: _entries(file, start), order, "Label Studio")


def first(source: Path) -> Iterator[Record | Ignored]:
    """The first tasks, with nothing of the rest read."""
    file = source / NAME if source.is_dir() else source
    return _entries(file, file.parent)


def recognises(source: Path) -> bool:
    """Whether it is a JSON array of tasks, in full or in short."""
    if source.is_dir():
        return manifest.beside(source, "labelstudio") != {}
    return source.suffix.lower() == ".json" and keys(source, ()) == ("[",)


def _entries(file: Path, root: Path) -> Iterator[Record | Ignored]:
    with reading(file) as cursor:
        if cursor.peek() != "[":
            raise InputError(f"{file} is no list of tasks: export as JSON from Label Studio")
        for number_, task in enumerate(cursor.elements(), 1):
            where = f"{file.name}, task {task.get('id', number_) if isinstance(task, dict) else number_}"
            try:
                found, several = _record(task, root)
                yield found
                if several:
                    yield Ignored(where, SEVERAL)
            except InputError as error:
                yield Ignored(where, str(error))


# ── a record as a task ───────────────────────────────────────────────────────────────────────────────────────────────


def _task(number_: int, record: Record) -> dict[str, Any]:
    """The task with all that Penumbra knows in its `meta`."""
    seen = {"image": record.path if is_address(record.path) else LOCAL + quote(record.path), "path": record.path}
    seen |= {} if record.domain is None else {"domain": record.domain}
    seen |= {} if record.split is None else {"split": record.split.value}
    known = flat.row(record) | {"history": events_out(record.events) or None}
    return {
        "id": number_,
        "data": seen,
        "annotations": [_annotation(record.events[place], place) for place in standing_at(record.events)],
        "predictions": [] if record.guess is None else [_prediction(record.guess)],
        "meta": {OURS: {name: value for name, value in known.items() if value is not None}},
    }


def _annotation(event: Event, place: int) -> dict[str, Any]:
    choice = {Kind.ANSWER: (CLASS, event.label), Kind.UNUSABLE: (QUALITY, UNUSABLE)}.get(event.kind)
    made: dict[str, Any] = {
        "result": [] if choice is None else [_choice(*choice, f"{OURS}-{place}")],
        "was_cancelled": event.kind is Kind.LATER,
        "ground_truth": False,
        "created_username": event.annotator,
    }
    if event.at is not None:
        made |= {"created_at": moment(event.at), "updated_at": moment(event.at)}
    return made if event.lead_ms is None else made | {"lead_time": event.lead_ms / 1000}


def _prediction(guess: Guess) -> dict[str, Any]:
    made = {"model_version": guess.model or "undefined", "result": [_choice(CLASS, guess.label, f"{OURS}-guess")]}
    return made if guess.probability is None else made | {"score": guess.probability}


def _choice(control: str, value: str | None, key: str) -> dict[str, Any]:
    return {"id": key, "from_name": control, "to_name": "image", "type": "choices", "value": {"choices": [value]}}


def _config(classes: Sequence[str]) -> str:
    choices = "".join(f"    <Choice value={quoteattr(name)}/>\n" for name in classes)
    return (
        f'<View>\n  <Image name="image" value="$image"/>\n  <Choices name="{CLASS}" toName="image" choice="single">\n'
        f'{choices}  </Choices>\n  <Choices name="{QUALITY}" toName="image" choice="single">\n'
        f'    <Choice value="{UNUSABLE}"/>\n  </Choices>\n</View>\n'
    )


# ── a task as a record ───────────────────────────────────────────────────────────────────────────────────────────────


def _record(task: object, root: Path) -> tuple[Record, bool]:
    """(the record, whether an answer had to be left out as it has several classes)."""
    if not isinstance(task, Mapping):
        raise InputError("it is no task")
    if not isinstance(data := task.get("data"), Mapping):
        return flat.foreign(task, flat.roles(tuple(task)), root), False  # Label Studio's short form, JSON_MIN
    annotations = [each for each in _list(task.get("annotations")) if isinstance(each, Mapping)]
    told = [(each, _said(each)) for each in annotations]
    several = any(len(classes) > 1 for _, (classes, _) in told)
    meta = task.get("meta")
    if isinstance(meta, Mapping) and isinstance(kept := meta.get(OURS), Mapping):
        known = flat.record(kept, root)
        new = _new(told, known.events)
        if not new:
            return known, several
        status, label = settled((*known.events, *new))
        return replace(known, events=(*known.events, *new), status=status, label=label), several
    events = tuple(event for each, said in told if (event := _event(each, said)) is not None)
    status, label = settled(events)
    place = placed(_path(data), root)
    guesses = [_guess(each) for each in _list(task.get("predictions")) if isinstance(each, Mapping)]
    split = flat.SPLITS.get(str(data.get("split", "")).lower())
    domain = str(data["domain"]) if data.get("domain") else None
    guess = next((each for each in guesses if each is not None), None)
    return Record(place, domain=domain, split=split, status=status, label=label, events=events, guess=guess), several


def _new(told: list[tuple[Mapping[str, Any], tuple[list[str], str]]], known: tuple[Event, ...]) -> list[Event]:
    """Answers that are none of those known: given or changed in Label Studio."""
    skipped = sum(event.kind is Kind.LATER for event in standing(known))
    found = []
    for each, (classes, key) in told:
        event = _event(each, (classes, key))
        place = key.removeprefix(f"{OURS}-")
        before = known[int(place)] if place.isdecimal() and len(place) < 9 and int(place) < len(known) else None
        if event is None or (before is not None and (before.kind, before.label) == (event.kind, event.label)):
            continue
        if event.kind is Kind.LATER and skipped:
            skipped -= 1
            continue
        found.append(event if before is None else replace(event, annotator=before.annotator))
    return found


def _said(annotation: Mapping[str, Any]) -> tuple[list[str], str]:
    """(the classes that were chosen, the id of the first result)."""
    results = [each for each in _list(annotation.get("result")) if isinstance(each, Mapping)]
    chosen = [each for each in results if each.get("type") == "choices" and isinstance(each.get("value"), Mapping)]
    names = [clean(str(name)) for each in chosen for name in _list(each["value"].get("choices"))]
    return names, str(results[0].get("id", "")) if results else ""


def _event(annotation: Mapping[str, Any], said: tuple[list[str], str]) -> Event | None:
    classes, _ = said
    by = _person(annotation)
    at = parsed(annotation.get("updated_at") or annotation.get("created_at"))
    lead = number(annotation.get("lead_time"))
    took = None if lead is None else round(lead * 1000)
    if annotation.get("was_cancelled"):
        return Event(by, Kind.LATER, None, at, took, "label studio")
    if len(classes) != 1:
        return None
    controls = {each.get("from_name") for each in _list(annotation.get("result")) if isinstance(each, Mapping)}
    if classes == [UNUSABLE] and QUALITY in controls:
        return Event(by, Kind.UNUSABLE, None, at, took, "label studio")
    return Event(by, Kind.ANSWER, classes[0], at, took, "label studio")


def _person(annotation: Mapping[str, Any]) -> str:
    """Whoever gave the annotation: by address or name where the file has them, else by number."""
    by = annotation.get("completed_by")
    if isinstance(by, Mapping):
        full = f"{by.get('first_name') or ''} {by.get('last_name') or ''}".strip()
        return clean(str(by.get("email") or full or f"annotator {by.get('id', '')}"))
    named = str(annotation.get("created_username") or "").strip()
    return clean(named) or (f"annotator {by}" if by is not None else "Label Studio")


def _guess(prediction: Mapping[str, Any]) -> Guess | None:
    names, _ = _said(prediction)
    model = str(prediction.get("model_version") or "")
    return guess_in({"label": names[0] if names else "", "probability": prediction.get("score"), "model": model})


def _path(data: Mapping[str, Any]) -> str | None:
    """The image's path or address among a task's data; what Label Studio serves itself is a path below its folder."""
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    known = [texts[name] for name in flat.ROLES["path"] if name in texts]
    known += [value for value in texts.values() if Path(urlsplit(value).path).suffix.lower() in EXTENSIONS]
    if not known:
        return None
    if known[0].startswith("/data/local-files/"):
        return parse_qs(urlsplit(known[0]).query).get("d", [""])[0]
    return known[0].removeprefix("/data/") if known[0].startswith("/data/upload/") else known[0]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
