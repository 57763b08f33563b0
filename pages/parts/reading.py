"""Texts read by a Gaussian encoder: their uncertainty, what the tokenizer kept, and every two compared."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import pandas as pd
import torch

from core.encoders import GaussianEncoder, TextReading
from core.prolip.inclusion import inclusion_matrix
from core.prolip.similarity import cosine
from core.rounds import TEXTS_AT_ONCE
from core.values import Progress, ProlipEmbeddings
from pages.parts.text import count, escape
from pages.parts.typed import Typed

KEPT = 20_000  # texts in memory: what is typed is not written to the disk


@dataclass(frozen=True, slots=True)
class Read:
    """Texts in the order they were given; `by_length` is Spearman's correlation of tokens and uncertainty."""

    texts: tuple[str, ...]
    times: tuple[int, ...]
    readings: list[TextReading]
    gaussians: ProlipEmbeddings
    uncertainty: list[float]

    @property
    def order(self) -> list[int]:
        """Positions, the most uncertain first."""
        return sorted(range(len(self.texts)), key=lambda i: -self.uncertainty[i])

    @property
    def by_length(self) -> float | None:
        tokens, values = pd.Series([each.tokens for each in self.readings]), pd.Series(self.uncertainty)
        if tokens.nunique() < 2 or values.nunique() < 2:
            return None
        return float(tokens.rank().corr(values.rank()))


@dataclass(frozen=True, slots=True)
class Pairs:
    """H(row ⊂ column) and the cosine of every two texts."""

    inclusion: list[list[float]]
    similarity: list[list[float]]


def read(encoder: GaussianEncoder, given: Typed, on_progress: Progress) -> Read:
    """Every text's Gaussian, each text read once as long as this process lives."""
    gaussians = _memory.gaussians(encoder, given.texts, on_progress)
    readings = encoder.read_texts(given.texts)
    return Read(given.texts, given.times, readings, gaussians, gaussians.uncertainty.tolist())


def compare(found: Read, rows: Sequence[int], official: bool) -> Pairs:
    some = found.gaussians[list(rows)]
    return Pairs(inclusion_matrix(some, some, official=official).tolist(), cosine(some, some).clamp(-1, 1).tolist())


def seen(reading: TextReading) -> str:
    if not reading.kept:
        return "nothing it knows"
    return f"the first {reading.limit} of {reading.tokens:,} tokens" if reading.cut else "all"


def words(found: Read, most: int = 3) -> list[str]:
    """Which texts the model does not see as they are, in Markdown: cut ones and where, and those it drops."""
    cut = [(i, each) for i, each in enumerate(found.readings, 1) if each.cut]
    lines = [
        f"Text {i} is cut: of {each.tokens:,} tokens the model sees {each.limit}, up to “… {escape(each.kept[-50:])}”."
        for i, each in cut[:most]
    ]
    if len(cut) > most:
        lines.append(f"{count(len(cut) - most, 'more text')} {'is' if len(cut) == most + 1 else 'are'} cut too.")
    dropped = [f"“{escape(each.text[:40])}”" for each in found.readings if not each.kept]
    if dropped:
        listed = ", ".join(dropped[:most]) + (" and others" if len(dropped) > most else "")
        lines.append(f"The tokenizer knows nothing of {listed}: the model sees an empty or unknown text there.")
    return lines


class _Memory:
    """Gaussians of texts by (encoder, text), the longest unused dropped first."""

    def __init__(self, most: int = KEPT) -> None:
        self._most, self._lock = most, Lock()
        self._kept: OrderedDict[tuple[str, str], ProlipEmbeddings] = OrderedDict()

    def gaussians(self, encoder: GaussianEncoder, texts: Sequence[str], on_progress: Progress) -> ProlipEmbeddings:
        found = self._known(encoder.fingerprint, texts)
        todo = [text for text in dict.fromkeys(texts) if text not in found]
        for start in range(0, len(todo), TEXTS_AT_ONCE):
            on_progress(start, len(todo), "reading texts")
            some = todo[start : start + TEXTS_AT_ONCE]
            gaussians = encoder.text_gaussians(some).to("cpu", torch.float32)
            made = {text: gaussians[i] for i, text in enumerate(some)}
            self._keep(encoder.fingerprint, made)
            found |= made
        return ProlipEmbeddings.joined([found[text] for text in texts])

    def _known(self, fingerprint: str, texts: Sequence[str]) -> dict[str, ProlipEmbeddings]:
        with self._lock:
            known = [text for text in texts if (fingerprint, text) in self._kept]
            for text in known:
                self._kept.move_to_end((fingerprint, text))
            return {text: self._kept[fingerprint, text] for text in known}

    def _keep(self, fingerprint: str, made: dict[str, ProlipEmbeddings]) -> None:
        with self._lock:
            self._kept |= {(fingerprint, text): each for text, each in made.items()}
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


_memory = _Memory()
