"""All scores of one project's pool side by side: what each asks for, and how alike they rank.

Axes: N pool images · M target images · Z scores.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite

import torch
from torch import Tensor

from core.acquisition.compare import DRAWS, FLOORED, SCORERS, Question, scores_of, spearman
from core.acquisition.sampled import Sampled
from core.acquisition.table import SCORES, Acquisition
from core.batches import count_non_finite
from core.errors import NotReady
from core.ranking import draw_targets
from core.values import Progress, silent
from core.workspace import generator, workspace
from db import repository
from db.repository import ItemRow
from db.session import Database

IMAGES, TARGETS = 1000, 100


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """One score on these images. `bias` and `noise` are a sampled score's floor, in nats (core/acquisition/sampled)."""

    score: str
    title: str
    meaning: str
    unit: str
    mean: float | None
    largest: float | None
    non_finite: int
    bias: float | None = None
    noise: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Scores [Z, N] of pool images that are not answered yet, and all that the figures depend on."""

    project: str
    round: int
    pool: int  # unanswered images, of which `images` were drawn
    images: int
    targets: int
    draws: int
    seed: int
    tau: float
    with_text: bool
    lines: list[ScoreLine]
    correlation: list[list[float]]  # Spearman [Z, Z]; NaN beside a score that is the same for all images
    items: tuple[ItemRow, ...]
    values: Tensor


def compare_scores(
    database: Database,
    project_id: int,
    *,
    images: int = IMAGES,
    targets: int = TARGETS,
    draws: int = DRAWS,
    seed: int = 0,
    with_text: bool = False,
    on_progress: Progress = silent,
) -> Comparison:
    """Score a drawn part of the unanswered pool by everything in the table, before any pick; no label is read.

    Closed forms are not conditioned on the answers, so that they and the draws answer the same question; what has been
    learned from the answers is in the posterior. Raises NotReady when fewer than 2 images are left.
    """
    space = workspace(database, project_id)
    with database.read() as s:
        heard = repository.heard(s, project_id)
    rng = generator(seed)
    left = [i for i, item in enumerate(space.pool) if item.id not in heard]
    rows = draw_targets(left, rng, images)
    if len(rows) < 2:
        raise NotReady(f"{len(rows)} unanswered images are left in the pool: scores compare 2 or more")
    towards = draw_targets(range(len(space.targets)), rng, targets)
    question = Question(
        space.posterior, space.features[rows], space.targets[towards], space.texts, rng, draws, with_text
    )
    values, lines, scores = [], [], scores_of(question.pool)
    for number, score in enumerate(scores):
        on_progress(number, len(scores), SCORES[score].title)
        floored = FLOORED[score](question) if score in FLOORED else None
        values.append(SCORERS[score](question) if floored is None else floored.scores)
        lines.append(_line(score, values[-1], floored))
    stacked = torch.stack([each.double().cpu() for each in values])  # [Z, N]
    return Comparison(
        project=space.project.name,
        round=space.round.number,
        pool=len(left),
        images=len(rows),
        targets=len(towards),
        draws=draws,
        seed=seed,
        tau=space.posterior.image.tau,
        with_text=with_text,
        lines=lines,
        correlation=spearman(stacked).tolist(),
        items=tuple(space.pool[row] for row in rows),
        values=stacked,
    )


def summary(comparison: Comparison) -> dict:
    """The comparison without its images, as plain values: what the command line prints."""
    kept = ("project", "round", "pool", "images", "targets", "draws", "seed", "tau", "with_text")
    names = [line.score for line in comparison.lines]
    rows = zip(names, comparison.correlation, strict=True)
    correlation = [{"spearman": name} | dict(zip(names, map(_known, row), strict=True)) for name, row in rows]
    return {
        **{name: getattr(comparison, name) for name in kept},
        "scores": [asdict(line) for line in comparison.lines],
        "correlation": correlation,
    }


def _known(value: float) -> float | None:
    return value if isfinite(value) else None


def _line(score: Acquisition, values: Tensor, sampled: Sampled | None) -> ScoreLine:
    about, finite = SCORES[score], values[values.isfinite()]
    mean, largest = (float(finite.mean()), float(finite.max())) if len(finite) else (None, None)
    floor = (None, None) if sampled is None else (sampled.bias, sampled.noise)
    non_finite = count_non_finite(values)
    return ScoreLine(str(score), about.title, about.meaning, about.unit, mean, largest, non_finite, *floor)
