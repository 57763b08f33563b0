"""What the Prompts tab of the ProLIP page has found so far, and its figures in words and tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import pandas as pd
from torch import Tensor, ones_like

from core.class_texts import fill
from core.encoders import GaussianEncoder
from core.prolip.prompts import PromptEffect, PromptFilter, PromptWeights
from core.prompting import FEW
from core.values import ProlipEmbeddings
from db.repository import ProjectRow, Split
from pages.parts.measures import wilson
from pages.parts.text import count, escape, small

MEASURES = {Split.TEST: "test split", Split.VALIDATION: "validation split"}
FILTERS = {
    PromptFilter.MOST_CERTAIN: "the most certain of each class",
    PromptFilter.MOST_CERTAIN_OVERALL: "the most certain of all together",
    PromptFilter.THRESHOLD: "up to an uncertainty Σσ²",
    PromptFilter.DEVIATIONS: "up to deviations above its class's mean",
}
AMOUNTS: dict[PromptFilter, Callable[[Tensor], tuple]] = {
    PromptFilter.MOST_CERTAIN: lambda u: _counts(u.shape[1]),
    PromptFilter.MOST_CERTAIN_OVERALL: lambda u: _counts(u.numel()),
    PromptFilter.THRESHOLD: lambda u: (float(u.median()), 0.0, None, float(u.std()) / 10 if u.numel() > 1 else 0.1),
    PromptFilter.DEVIATIONS: lambda u: (1.0, -3.0, 5.0, 0.25),
}
"""What a filter takes: (usual, least, most, step) for uncertainties [C, T]."""


def _counts(most: int) -> tuple[int, int, int, int]:
    return math.ceil(most / 2), 1, most, 1


@dataclass
class Study:
    """Prompts of a project under an encoder, filled in from the top of the tab downwards. Uncertainty is [C, T]."""

    project: ProjectRow
    encoder: GaussianEncoder
    prompts: ProlipEmbeddings
    uncertainty: Tensor
    equal: PromptWeights
    keep: Tensor = field(init=False)
    bprw: PromptWeights | None = None
    candidates: dict[str, PromptWeights] = field(default_factory=dict)
    effects: list[PromptEffect] = field(default_factory=list)
    measured_on: str = ""

    def __post_init__(self) -> None:
        self.keep = ones_like(self.uncertainty, dtype=bool)

    @property
    def names(self) -> tuple[str, ...]:
        return self.equal.classes

    @property
    def templates(self) -> tuple[str, ...]:
        return self.equal.templates

    def vaguest(self, most: int) -> list[int]:
        """Rows of the classes in their order, or of the vaguest where there are more than `most`."""
        if len(self.names) <= most:
            return list(range(len(self.names)))
        return self.uncertainty.mean(dim=1).argsort(descending=True)[:most].tolist()


def vague_words(study: Study) -> str:
    """The vaguest and the surest prompt and class, in one sentence."""
    prompts, classes = study.uncertainty.mean(dim=0), study.uncertainty.mean(dim=1)
    vague, sure = int(prompts.argmax()), int(prompts.argmin())
    said = f"The vaguest class is **{escape(study.names[int(classes.argmax())])}**, the surest " + (
        f"**{escape(study.names[int(classes.argmin())])}**."
    )
    if len(study.templates) < 2:
        return said
    return (
        f"On average “{escape(study.templates[vague])}” is the vaguest (Σσ² {small(float(prompts[vague]))}), "
        f"“{escape(study.templates[sure])}” the surest ({small(float(prompts[sure]))}). {said}"
    )


def classes_said(names: tuple[str, ...], counts: list[int], most: int = 12) -> str:
    """How many answered images each class has, and which have too few, in Markdown."""
    each = " · ".join(f"{escape(name)} {n}" for name, n in list(zip(names, counts, strict=True))[:most])
    more = f" · and {len(names) - most:,} more" if len(names) > most else ""
    said = f"From **{count(sum(counts), 'answered image')}**: {each}{more}."
    none = [escape(name) for name, n in zip(names, counts, strict=True) if n == 0]
    few = [escape(name) for name, n in zip(names, counts, strict=True) if 0 < n < FEW]
    if none:
        said += f" Without any, weights stay equal: {_listed(none, most)}."
    if few:
        said += f" Fewer than {FEW}, so mostly the prior: {_listed(few, most)}."
    return said


def _listed(names: list[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def effect_table(study: Study, own: tuple[int, list[PromptEffect]] | None = None) -> pd.DataFrame:
    """One line a way to weigh: how many prompts weigh something, accuracy with its 95 % interval, NLPD."""
    lines = []
    for i, (name, weights) in enumerate(study.candidates.items()):
        found = study.effects[i]
        low, high = wilson(found.accuracy, found.n)
        used = int((weights.weights > 1e-3).sum())
        line = {"way": name, "prompts used": used, "accuracy": found.accuracy}
        line |= {"95 % interval": f"{low:.2f} – {high:.2f}", "NLPD": found.nlpd}
        if own is not None:
            number, effects = own
            line |= {f"accuracy, model {number}": effects[i].accuracy, f"NLPD, model {number}": effects[i].nlpd}
        lines.append(line)
    return pd.DataFrame(lines)


EXPORTED = ("class", "prompt", "text", "uncertainty", "kept", "weight filtered", "weight BPRW")


def export_rows(study: Study) -> tuple[tuple[str, ...], list[tuple]]:
    """Header and one row a prompt of a class."""
    filtered = study.candidates["Filtered"].weights.tolist()
    bprw = None if study.bprw is None else study.bprw.weights.tolist()
    uncertainty, keep = study.uncertainty.tolist(), study.keep.tolist()
    rows = [
        (
            name,
            template,
            fill(template, name),
            uncertainty[c][t],
            keep[c][t],
            filtered[c][t],
            None if bprw is None else bprw[c][t],
        )
        for c, name in enumerate(study.names)
        for t, template in enumerate(study.templates)
    ]
    return EXPORTED, rows


def whole(study: Study) -> dict:
    """Everything the tab shows, as JSON can hold it."""
    effects = dict(zip(study.candidates, study.effects, strict=False))
    return {
        "project": study.project.name,
        "model": study.encoder.name,
        "fingerprint": study.encoder.fingerprint,
        "uncertainty": study.uncertainty.tolist(),
        "measured_on": study.measured_on,
        "ways": {
            name: weights.to_json()
            | (
                {}
                if name not in effects
                else {"accuracy": effects[name].accuracy, "nlpd": effects[name].nlpd, "images": effects[name].n}
            )
            for name, weights in study.candidates.items()
        },
    }
