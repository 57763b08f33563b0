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
    filter: dict = field(default_factory=dict)  # how `keep` was chosen, as JSON has it
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
    said = _ends(classes, [f"**{escape(name)}**" for name in study.names], "The vaguest class is {}, the surest {}.")
    if not said:
        said = f"All classes are equally vague (Σσ² {small(float(classes[0]))})."
    if len(study.templates) < 2:
        return said
    named = [
        f"“{escape(each[:60])}” (Σσ² {small(value)})"
        for each, value in zip(study.templates, prompts.tolist(), strict=True)
    ]
    on_average = _ends(prompts, named, "On average {} is the vaguest, {} the surest.")
    return f"{on_average or f'On average all prompts are equally vague (Σσ² {small(float(prompts[0]))}).'} {said}"


def _ends(values: Tensor, names: list[str], said: str) -> str:
    """The names of the highest and the lowest value put into a sentence; "" where all are alike."""
    high, low = int(values.argmax()), int(values.argmin())
    return (
        "" if float(values[high] - values[low]) <= 1e-6 * float(values[high]) else said.format(names[high], names[low])
    )


def cut_words(encoder: GaussianEncoder, names: tuple[str, ...], templates: tuple[str, ...]) -> list[str]:
    """Which prompts end beyond what the model reads, in Markdown: with a long class name, and with a short one."""
    ends = {max(names, key=len), min(names, key=len)}
    pairs = zip(*(encoder.read_texts([fill(each, name) for each in templates]) for name in sorted(ends)), strict=True)
    said = []
    for template, readings in zip(templates, pairs, strict=True):
        if any(each.cut for each in readings):
            line = f"“{escape(template[:60])}” is cut: the model reads {readings[0].limit} tokens of it"
            same = len({each.kept for each in readings}) < len(ends)
            said.append(line + (", and the class name is not among them: all classes look alike." if same else "."))
    return said


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


def against(study: Study, name: str, now: str) -> str:
    """What a way does to accuracy and NLPD beside what the classes say now, in one sentence; "" where not measured."""
    ways = list(study.candidates)
    if not study.effects or now not in ways:
        return ""
    new, old = study.effects[ways.index(name)], study.effects[ways.index(now)]
    return (
        f"On the {study.measured_on} its accuracy is {new.accuracy:.3f}, {old.accuracy:.3f} now; NLPD {new.nlpd:.3f}, "
        f"{old.nlpd:.3f} now."
    )


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
        "filter": study.filter,
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
