"""What goes into an export: counted while its records pass, with the sentences on what a format cannot hold of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from core.data.dataset import Dataset, Holds, Record, Status
from core.data.formats import flat
from core.data.formats.answers import shown
from core.data.formats.base import Format, total
from core.data.formats.places import is_address
from core.data.json_stream import text

_NAMED = 5


@dataclass(slots=True)
class Tally:
    """Counts of the records that passed, and their `snapshot`: a hash of all that is known of them, in order."""

    counts: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    domains: Counter[str] = field(default_factory=Counter)
    splits: Counter[str] = field(default_factory=Counter)
    _digest: Any = field(default_factory=hashlib.sha256)

    def add(self, record: Record) -> None:
        """Count one."""
        name = shown(record)
        self.counts.update(
            images=1,
            addresses=is_address(record.path),
            bare=name is None,
            stated=record.stated is not None and record.stated != name,
            events=len(record.events),
            scores=record.guess is not None or bool(record.figures),
        )
        self.counts[record.status.value] += 1
        self.classes.update([name] if name is not None else [])
        self.domains.update([record.domain] if record.domain is not None else [])
        self.splits.update([record.split.value] if record.split is not None else [])
        self._digest.update(text(flat.row(record)).encode())

    def snapshot(self, classes: tuple[str, ...]) -> str:
        """The same for the same classes and records, another for any that differ in anything."""
        digest = self._digest.copy()
        digest.update(text(list(classes)).encode())
        return digest.hexdigest()

    def lost(self, format: Format, classes: tuple[str, ...]) -> list[str]:
        """What the format cannot hold, a sentence each."""
        sentences = {
            Holds.LABELS: self._many(self.classes.total(), "label"),
            Holds.CLASSES: f"the order of {len(classes)} classes" if classes else "",
            Holds.STATUS: self._unsettled(),
            Holds.DOMAIN: self._groups(self.domains, "domain"),
            Holds.SPLIT: self._groups(self.splits, "split"),
            Holds.STATED: self._many(
                self.counts["stated"], "class that the source states", "classes that the source states"
            ),
            Holds.HISTORY: self._many(self.counts["events"], "event of the history", "events of the history"),
            Holds.SCORES: self._many(self.counts["scores"], "image's scores and guess", "images' scores and guesses"),
        }
        found = [f"Not kept: {said}." for what, said in sentences.items() if said and what not in format.holds]
        if Holds.UNLABELLED not in format.holds and self.counts["bare"]:
            found.insert(0, f"Not written: {self._many(self.counts['bare'], 'image')} without a label.")
        if format.copies_images and self.counts["addresses"]:
            found.insert(0, f"Not written: {self._many(self.counts['addresses'], 'image')} known by an address alone.")
        return found

    def _unsettled(self) -> str:
        """How many are skipped, unusable or in conflict."""
        states = {Status.SKIPPED: "skipped", Status.UNUSABLE: "unusable", Status.CONFLICT: "in conflict"}
        parts = [f"{count} {word}" for status, word in states.items() if (count := self.counts[status.value])]
        return f"which images are skipped, unusable or in conflict ({', '.join(parts)})" if parts else ""

    def _groups(self, found: Counter[str], word: str) -> str:
        if not found:
            return ""
        names = [name for name, _ in found.most_common(_NAMED)]
        more = ", …" if len(found) > _NAMED else ""
        return f"the {word} of {self._many(found.total(), 'image')} ({', '.join(names)}{more})"

    @staticmethod
    def _many(count: int, one: str, more: str = "") -> str:
        return f"{count:,} {one if count == 1 else more or one + 's'}" if count else ""


@dataclass(slots=True)
class Counted:
    """Records that are counted anew each time they are gone through."""

    dataset: Dataset
    tally: Tally = field(default_factory=Tally)

    def __iter__(self) -> Iterator[Record]:
        self.tally = Tally()
        for record in self.dataset.records:
            self.tally.add(record)
            yield record

    def __length_hint__(self) -> int:
        return total(self.dataset)

    def as_dataset(self) -> Dataset:
        """The same dataset with its records counted."""
        return replace(self.dataset, records=self)
