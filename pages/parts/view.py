"""What the Rounds page looks at: a project's rounds on the measured images of a domain and a class."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from core import cockpit
from core.choice import MAP, POSTERIOR
from core.cockpit import Measured
from core.figures import METRICS, SEED, Judged, Spread
from core.history import copied
from db.repository import ProjectRow, RoundRow
from pages.parts.state import database
from pages.parts.text import count, escape, percent

BINS = 15
EVERY = ""  # the choice of all domains: no domain has this name


@dataclass(frozen=True, slots=True)
class View:
    """The rounds, and which of the measured images: `images` are positions in `on`. Bins are those of the last round.

    `rows` has every round by number, `learned` those with a model of their own that can still be read.
    """

    project: ProjectRow
    rows: tuple[RoundRow, ...]
    on: Measured
    domain: str | None
    label: int | None
    images: tuple[int, ...]
    bins: int

    @property
    def last(self) -> RoundRow:
        return self.rows[-1]

    @property
    def learned(self) -> list[RoundRow]:
        return [row for row in self.rows if copied(row) is None and cockpit.readable(row)]

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.project.classes]

    def measured_on(self) -> str:
        """Which images these are, and how many."""
        parts = [f"{self.on.split} split, {count(len(self.images), 'image')}"]
        parts += [escape(self.domain)] if self.domain else []
        parts += [f"class {escape(self.names[self.label])}"] if self.label is not None else []
        return " · ".join(parts)

    def basis(self) -> str:
        """Of what every figure on these images is."""
        return f"{self.measured_on()} · ECE with {self.bins} bins"

    def judged(self, row: RoundRow) -> Judged:
        """What a round serves, of these images."""
        return cockpit.judged(row, self.on)[self.images]

    def spread(self, row: RoundRow, kind: str | None = None) -> Spread:
        return cockpit.spread_of(row, self.on, self.images, self.bins, kind)

    def said(self, row: RoundRow, at: int, judged: Judged | None = None) -> tuple[str, str]:
        """(sha256, what the model says of it) of the `at`-th of these images."""
        judged = judged or self.judged(row)
        right, actual = bool(judged.predicted[at] == judged.labels[at]), int(judged.labels[at])
        truth = "" if right else f", is {escape(self.names[actual])}"
        guess = f"{'✓' if right else '✗'} {escape(self.names[int(judged.predicted[at])])}{truth}"
        return self.on.items[self.images[at]].sha256, f"{guess} · {percent(float(judged.confidence[at]))}"


def look(project: ProjectRow, rows: list[RoundRow]) -> View:
    """The view that was chosen: the images that the rounds measure, until another domain or a class is."""
    on = cockpit.measured(database(), project.id, rows[-1].fingerprint)
    domain, label = _chosen_part(project, on)
    bins = rows[-1].metrics.get("bins") or BINS
    images = on.rows(domain, label) if cockpit.readable(rows[-1]) else ()
    return View(project, tuple(rows), on, domain, label, images, bins)


def _chosen_part(project: ProjectRow, on: Measured) -> tuple[str | None, int | None]:
    domains = sorted({item.domain for item in on.items if item.domain})
    if not on.items:
        return None, None
    places = st.columns([1, 1, 2], vertical_alignment="bottom")
    domain = project.target_domain or EVERY
    if len(domains) > 1:
        options = [EVERY, *domains]
        domain = places[0].selectbox(
            "Domain", options, options.index(domain), format_func=_domain_name, key=f"domain-{project.id}"
        )
    names = {each.position: each.name for each in project.classes}
    label = places[1].selectbox(
        "True class",
        [None, *names],
        format_func=lambda each: "all classes" if each is None else names[each],
        key=f"class-{project.id}",
    )
    return domain or None, label


def _domain_name(domain: str) -> str:
    return domain or "all domains"


def curve_frame(view: View) -> pd.DataFrame:
    """One line a round that learned: round, labels, and of each metric what charts.learning_curve needs."""
    lines = []
    for row in view.learned:
        serves, kinds = view.spread(row), {kind: view.spread(row, kind) for kind in (POSTERIOR, MAP)}
        line = {"round": row.number, "labels": row.labels}
        for metric in METRICS:
            line[metric] = serves.value(metric)
            line |= {f"{metric}_{kind}": each.value(metric) for kind, each in kinds.items()}
            line[f"{metric}_low"], line[f"{metric}_high"] = serves.interval(metric) or (None, None)
        lines.append(line)
    return pd.DataFrame(lines)


def drawn() -> str:
    """How the bands are made."""
    return f"Shaded: 95 % interval, 500 bootstrap resamples of the images, seed {SEED}"
