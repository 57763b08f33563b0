"""What the Scores page computes, kept until the model or the answers change, and its figures in words and tables."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.acquisition.demonstration import joint_and_independent
from core.calibration_table import CalibrationTable, DomainLine, project_table
from core.comparison import Comparison, compare_scores
from core.evaluation import Evaluation, Line, evaluate_project
from db.repository import Split
from pages.parts.state import database
from pages.parts.text import count, escape, figure

FEW_DIGITS = st.column_config.NumberColumn(format="%.3f")


@st.cache_data(max_entries=16, show_spinner="Scoring the images …")
def comparison(project_id: int, state: tuple[int, int], images: int, draws: int, with_text: bool) -> Comparison:
    """`state` is the newest round and the number of answers: what is kept under it stays true."""
    return compare_scores(database(), project_id, images=images, draws=draws, with_text=with_text)


@st.cache_data(max_entries=16, show_spinner="Measuring; views that were never encoded take as long as an import …")
def evaluation(project_id: int, state: tuple[int, int], split: str) -> Evaluation:
    return evaluate_project(database(), project_id, split=Split(split))


@st.cache_data(max_entries=16, show_spinner="Measuring; views that were never encoded take as long as an import …")
def by_domain(project_id: int, state: tuple[int, int]) -> CalibrationTable:
    return project_table(database(), project_id)


@st.cache_data(show_spinner="Drawing a small model 20,000 times …")
def demonstration() -> pd.DataFrame:
    """Columns K, joint, independent (nats)."""
    return pd.DataFrame([{"K": p.K, "joint": p.joint, "independent": p.independent} for p in joint_and_independent()])


def basis(found: Comparison) -> str:
    """Of what the comparison's figures are."""
    heads = "both heads" if found.with_text else "the image head"
    return (
        f"Model {found.round} · {found.images:,} of {count(found.pool, 'unanswered image')} · "
        f"{count(found.targets, 'target image')} · {found.draws:,} joint draws of {heads} · "
        f"τ = {found.tau:g} · seed {found.seed}"
    )


def titles(found: Comparison) -> list[str]:
    return [line.title for line in found.lines]


def floor(found: Comparison) -> str:
    """How far the sampled scores can be trusted, in plain words."""
    parts = [
        f"{line.title}: mean {line.mean:.2g} nats, off by about {line.bias:+.1g} from too few draws; one image's score "
        f"is known to ± {line.noise:.1g}"
        for line in found.lines
        if line.noise is not None and line.bias is not None and line.mean is not None
    ]
    return " · ".join(parts)


def agreement(found: Comparison) -> str:
    """How the default score ranks beside its slow reference and beside chance."""
    names = [line.score for line in found.lines]
    row = found.correlation[names.index("epig")]
    slow, entropy = row[names.index("epig-draws")], row[names.index("entropy")]
    return (
        f"**EPIG in closed form ranks these images like {found.draws:,} joint draws do: {slow:.2f}.** "
        f"With entropy it agrees to {entropy:.2f}: the nearer to 1, the less it matters which of two scores asks."
    )


def broken(found: Comparison) -> str | None:
    """The images that have no finite score, where there are any."""
    counts = {line.title: line.non_finite for line in found.lines if line.non_finite}
    if not counts:
        return None
    listed = ", ".join(f"{escape(title)} {number}" for title, number in counts.items())
    return f"Images without a finite score, ranked last: {listed}. Their features are broken; import them again."


def score_table(found: Comparison) -> pd.DataFrame:
    lines = [(line.title, line.meaning, line.unit, line.mean, line.largest) for line in found.lines]
    return pd.DataFrame(lines, columns=["score", "what it asks for", "unit", "mean", "largest"])


def captions(found: Comparison, positions: Sequence[int], scores: Sequence[int]) -> list[tuple[str, str]]:
    """(sha256, both scores) of images at these positions, the highest of the first score first."""
    values = found.values
    order = sorted(positions, key=lambda position: -float(values[scores[0], position]))
    said = [" · ".join(f"{float(values[score, position]):.3g}" for score in scores) for position in order]
    return [(found.items[position].sha256, text) for position, text in zip(order, said, strict=True)]


def predictive_table(found: Evaluation) -> pd.DataFrame:
    lines = [
        {
            "predictive": each.name,
            "accuracy": each.accuracy,
            "NLPD": each.nlpd,
            "ECE": each.ece,
            "Brier": each.brier,
            "ms an image": each.milliseconds,
            "made with": _made(each),
        }
        for each in found.predictives
    ]
    return pd.DataFrame(lines)


def _made(line: Line | DomainLine) -> str:
    parts = [] if line.tau is None else [f"τ = {line.tau:g}"]
    parts += [] if line.temperature is None else [f"temperature {line.temperature:.2f}"]
    return " · ".join(parts + ([f"{line.views} views"] if line.views > 1 else []))


def measured_on(found: Evaluation) -> str:
    where = f" of {escape(found.domain)}" if found.domain else ""
    return (
        f"Model {found.round} · {found.split} split, {count(found.images, 'image')}{where} · ECE with {found.bins} bins"
        f" · {found.draws:,} draws of both heads · seed {found.seed}"
    )


def doubt(found: Evaluation) -> str:
    """The parts of the mean doubt in plain words."""
    share = found.epistemic / found.entropy if found.entropy else 0.0
    return (
        f"Of its doubt, {figure(found.entropy)} nats an image on average, **{100 * share:.0f} %** "
        f"({figure(found.epistemic)} nats) could be learned away; the rest ({figure(found.aleatoric)}) is ambiguity. "
        f"As variances of the label: {figure(found.epistemic_variance)} and {figure(found.aleatoric_variance)}."
    )


def measured_by_domain(found: CalibrationTable) -> str:
    return (
        f"Model {found.round} · test split of each domain, τ and temperature chosen on its validation split · "
        f"ECE with {found.bins} bins · splits by seed {found.seed}"
    )


def best_by_domain(found: CalibrationTable) -> str:
    """Which predictive is the least surprised by each domain's classes, and what it costs, in plain words."""
    winners: dict[str, list[str]] = {}
    for domain in dict.fromkeys(line.domain for line in found.lines):
        best = min((line for line in found.lines if line.domain == domain), key=lambda line: line.nlpd)
        winners.setdefault(best.name, []).append(_domain(domain))
    said = "; ".join(f"**{name}** on {', '.join(map(escape, domains))}" for name, domains in winners.items())
    views = max(line.views for line in found.lines)
    return f"Lowest NLPD: {said}." + (f" Augmentation encodes each image {views} times." if views > 1 else "")


def domain_table(found: CalibrationTable) -> pd.DataFrame:
    lines = [
        {
            "domain": _domain(each.domain),
            "predictive": each.name,
            "accuracy": each.accuracy,
            "NLPD": each.nlpd,
            "ECE": each.ece,
            "Brier": each.brier,
            "seconds": each.seconds,
            "images": each.images,
            "chosen on": each.chosen_on,
            "made with": _made(each),
        }
        for each in found.lines
    ]
    return pd.DataFrame(lines)


def _domain(name: str | None) -> str:
    return "no domain" if name is None else name
