"""What a source amounts to before anything is written: counted in one pass, no image opened. No Streamlit here."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from core.data.dataset import Dataset, Record, Status
from core.data.remote import is_remote
from core.data.scan import Ignored, Split
from core.sources import classes_of, clean
from pages.parts.text import count

SAMPLES = 6
NAMED = 5  # of the files that are not there
HELD_OUT = (Split.VALIDATION, Split.TEST)


@dataclass(frozen=True, slots=True)
class Survey:
    """Counts of a source. `counts` has the images of each (class, domain), `people` those who answered.

    `missing` files are named by the source and are not there; `samples` are paths spread evenly over it.
    """

    title: str
    images: int
    classes: tuple[str, ...]
    domains: tuple[str, ...]
    splits: Mapping[Split, int]
    counts: Mapping[tuple[str | None, str | None], int] = field(hash=False)
    statuses: Mapping[Status, int] = field(hash=False)
    answers: int
    people: tuple[str, ...]
    guesses: int
    addresses: int
    missing: int
    first_missing: tuple[str, ...]
    samples: tuple[str, ...]
    left_out: tuple[Ignored, ...]

    @property
    def labelled(self) -> int:
        return sum(number for (name, _), number in self.counts.items() if name is not None)

    @property
    def usable(self) -> int:
        return self.images - self.missing


def survey(dataset: Dataset, on_disk: bool = True) -> Survey:
    """Go through a dataset once and, of one `on_disk`, look whether its files are there."""
    seen = _Seen(dataset.root if on_disk else None)
    for record in dataset.records:
        seen.add(record)
    return Survey(
        dataset.title,
        sum(seen.counts.values()),
        classes_of(dataset),
        tuple(sorted({domain for _, domain in seen.counts} - {None})),
        seen.splits,
        seen.counts,
        seen.statuses,
        seen.answers,
        tuple(seen.people),
        seen.guesses,
        seen.addresses,
        seen.missing,
        tuple(seen.first_missing),
        tuple(seen.samples.spread(SAMPLES)),
        dataset.left_out,
    )


class _Seen:
    def __init__(self, root: Path | None) -> None:
        self._root = root
        self.splits: Counter[Split] = Counter()
        self.statuses: Counter[Status] = Counter()
        self.counts: Counter[tuple[str | None, str | None]] = Counter()
        self.people: dict[str, None] = {}
        self.answers = self.guesses = self.addresses = self.missing = 0
        self.first_missing: list[str] = []
        self.samples = _Spread()

    def add(self, record: Record) -> None:
        self.counts[clean(record.label or record.stated or "") or None, record.domain] += 1
        self.statuses[record.status] += 1
        self.splits.update([record.split] if record.split else [])
        self.answers += len(record.events)
        self.people |= dict.fromkeys(event.annotator for event in record.events)
        self.guesses += record.guess is not None
        self._look(record.path)

    def _look(self, path: str) -> None:
        if self._root is None:
            return
        if is_remote(path):
            self.addresses += 1
        elif self._is_there(path):
            self.samples.add(path)
        else:
            self.missing += 1
            self.first_missing += [path] if len(self.first_missing) < NAMED else []

    def _is_there(self, path: str) -> bool:
        if self._root is None or posixpath.normpath(path).startswith(("/", "..")):
            return False
        try:
            return (self._root / path).is_file()
        except (OSError, ValueError):
            return False


class _Spread:
    """Evenly spread ones of a stream whose length is not known: every 2ⁿ-th is kept, n growing."""

    def __init__(self, most: int = 64) -> None:
        self._most, self._step, self._met = most, 1, 0
        self._kept: list[str] = []

    def add(self, path: str) -> None:
        if self._met % self._step == 0:
            self._kept.append(path)
        self._met += 1
        if len(self._kept) > self._most:
            self._kept, self._step = self._kept[::2], 2 * self._step

    def spread(self, number: int) -> list[str]:
        number = min(number, len(self._kept))
        return [self._kept[len(self._kept) * place // number] for place in range(number)]


def headline(found: Survey) -> str:
    """“49 images · 12 classes · 2 domains · 18 answers of 2 people”."""
    parts = [count(found.images, "image"), count(len(found.classes), "class", "classes")]
    parts += [count(len(found.domains), "domain")] if found.domains else []
    people = f" of {count(len(found.people), 'person', 'people')}" if found.people else ""
    parts += [count(found.answers, "answer") + people] if found.answers else []
    parts += [count(found.guesses, "guess", "guesses") + " of models"] if found.guesses else []
    return " · ".join(parts)


def class_table(found: Survey) -> pd.DataFrame:
    """Images by class, and by domain where there are domains."""
    names = [*found.classes, *([None] if any(name is None for name, _ in found.counts) else [])]
    rows = []
    for name in names:
        by_domain = {domain: found.counts.get((name, domain), 0) for domain in found.domains}
        everywhere = sum(number for (each, _), number in found.counts.items() if each == name)
        rows.append({"class": name or "(no label)", **by_domain, "all": everywhere})
    return pd.DataFrame(rows)


def set_apart(found: Survey) -> str:
    """The images that the source itself sets apart; "" where it names no split."""
    if not found.splits:
        return ""
    said = [f"{count(found.splits.get(split, 0), 'image')} for {split}" for split in Split]
    unsaid = found.images - sum(found.splits.values())
    rest = f"; the {unsaid:,} without one fall by chance" if unsaid else ""
    return f"The source names splits: {', '.join(said)}{rest}."


def left_out_rows(ignored: Iterable[Ignored]) -> list[dict]:
    return [{"file": each.path, "reason": each.reason, "files": each.count} for each in ignored]
