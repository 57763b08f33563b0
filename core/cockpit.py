"""What the rounds of a project say of its test images, and how much is left to learn: the figures of the Rounds page.

Axes: N measured images · M target images · R resamples. A round's model and an image's features never change, so what
one says of the other is computed once and kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import torch

from core.acquisition.table import Acquisition
from core.choice import MAP, POSTERIOR, predict
from core.class_texts import as_in, prompts
from core.config import home
from core.figures import METRICS, Judged, Spread, spread
from core.posterior.laplace import Posterior
from core.projects import get_project
from core.ranking import draw_targets, make_ranker
from core.workspace import RHO, class_texts, encoded, feature_store, generator
from db import repository
from db.repository import ItemRow, ProjectRow, RoundRow, Split
from db.session import Database

IMAGES, TARGETS = 1000, 100  # drawn, to see how much is left to learn
LITTLE = 0.05  # of what the best image promised at the start: below it nothing is left to learn
ROUNDS = 2  # without a change that the test images can show
FEW = 200  # images, below which only large changes show


@dataclass(frozen=True, slots=True)
class Measured:
    """The encoded images of a split whose class is known, of every domain; `labels` are positions of classes."""

    project: ProjectRow
    fingerprint: str
    split: Split
    items: tuple[ItemRow, ...]
    labels: tuple[int, ...]

    def rows(self, domain: str | None = None, label: int | None = None) -> tuple[int, ...]:
        """Positions of the images of a domain and of a class; None: of all."""
        pairs = enumerate(zip(self.items, self.labels, strict=True))
        return tuple(
            row for row, (item, actual) in pairs if domain in (None, item.domain) and (label is None or label == actual)
        )


@dataclass(frozen=True, slots=True)
class _Question:
    """What a round is asked. Equal where the answer is the same; the project only says how to find the texts."""

    checkpoint: str
    fingerprint: str
    texts: tuple[str, ...]
    sha256s: tuple[str, ...]
    labels: tuple[int, ...]
    project: ProjectRow = field(compare=False)


def measured(database: Database, project_id: int, fingerprint: str, split: Split = Split.TEST) -> Measured:
    """The images that can measure, as their classes are known now."""
    project = get_project(database, project_id)
    with database.read() as s:
        known = repository.measured(s, project_id, split)
        items = [item for item in repository.items(s, project_id, split) if item.id in known]
    usable = tuple(encoded(items, feature_store(fingerprint)))
    return Measured(project, fingerprint, split, usable, tuple(known[item.id] for item in usable))


def judged(row: RoundRow, on: Measured, kind: str | None = None) -> Judged:
    """What a round's posterior or MAP (None: what it serves) says of all measured images."""
    return _judged(_question(row, on))[kind or served(row)]


def spread_of(row: RoundRow, on: Measured, rows: tuple[int, ...], bins: int, kind: str | None = None) -> Spread:
    """The figures of some measured images, with the bootstrap's; the same images are drawn for every round."""
    return _spread(_question(row, on), kind or served(row), rows, bins)


def readable(row: RoundRow) -> bool:
    """Whether the model's file is still there."""
    return (home() / row.checkpoint).is_file()


def served(row: RoundRow) -> str:
    """Which predictive a round serves."""
    return row.metrics.get("served") or POSTERIOR


def _question(row: RoundRow, on: Measured) -> _Question:
    project = as_in(on.project, row)
    texts = (*prompts(project), str(project.prompt_weights))
    sha256s = tuple(item.sha256 for item in on.items)
    return _Question(str(home() / row.checkpoint), row.fingerprint, texts, sha256s, on.labels, project)


@lru_cache(maxsize=64)
def _judged(question: _Question) -> dict[str, Judged]:
    labels = torch.tensor(question.labels, dtype=torch.int64)
    features = feature_store(question.fingerprint).load(question.sha256s)
    posterior, texts = Posterior.load(question.checkpoint), class_texts(question.project, question.fingerprint)
    return {kind: Judged.of(predict(posterior, features, texts, kind), labels) for kind in (POSTERIOR, MAP)}


@lru_cache(maxsize=1024)
def _spread(question: _Question, kind: str, rows: tuple[int, ...], bins: int) -> Spread:
    return spread(_judged(question)[kind][rows], bins)


@dataclass(frozen=True, slots=True)
class Left:
    """The best and the mean EPIG (nats, second order) over drawn pool images without an answer, and of what it is."""

    best: float
    mean: float
    unanswered: int  # of the `images` drawn
    images: int
    targets: int
    tau: float
    seed: int


def left_to_learn(database: Database, row: RoundRow, tau: float) -> Left | None:
    """How much the best unanswered image promised when a round had learned; None where every drawn one was answered.

    At one τ for all rounds of a project, which would scale the scores otherwise, and for the same drawn images, given
    the answers of that round. In closed form: no draws of the model, so no noise floor.
    """
    project = get_project(database, row.project_id)
    with database.read() as s:
        pool = repository.items(s, project.id, Split.POOL)
        answered = repository.answers(s, project.id, row.label_watermark).keys()
    store, rng = feature_store(row.fingerprint), generator(project.seed)
    missing = set(store.missing([item.sha256 for item in pool]))
    pool = [item for item in pool if item.sha256 not in missing]
    drawn = set(draw_targets(range(len(pool)), rng, IMAGES))
    aimed = [i for i in sorted(drawn) if project.target_domain in (None, pool[i].domain)] or sorted(drawn)
    targets = [pool[i].sha256 for i in draw_targets(aimed, rng, TARGETS)]
    seen = [item for i, item in enumerate(pool) if i in drawn or item.id in answered]
    left = [i for i, item in enumerate(seen) if item.id not in answered]
    if not left:
        return None
    posterior = Posterior.load(home() / row.checkpoint).with_tau(tau)
    parts = (
        store.load([item.sha256 for item in seen]),
        store.load(targets),
        class_texts(as_in(project, row), row.fingerprint),
    )
    ranker = make_ranker(Acquisition.EPIG, posterior, *parts, rng=rng, rho=RHO)
    ranker.condition([i for i, item in enumerate(seen) if item.id in answered])
    scores = ranker.scores()[left].double()
    scores = scores[scores.isfinite()]
    best, mean = (float(scores.max()), float(scores.mean())) if len(scores) else (0.0, 0.0)
    return Left(best, mean, len(left), len(drawn), len(targets), tau, project.seed)


@dataclass(frozen=True, slots=True)
class Step:
    """What a round changed on the same images: the value and its 95 % interval by metric, None where undefined."""

    number: int
    change: dict[str, float | None]
    interval: dict[str, tuple[float, float] | None]

    def shows(self, metric: str) -> bool:
        """Whether the change is more than the choice of test images explains."""
        interval = self.interval[metric]
        return interval is not None and not interval[0] <= 0 <= interval[1]


def step(before: RoundRow, after: RoundRow, on: Measured, rows: tuple[int, ...], bins: int) -> Step:
    """The paired difference of what two rounds serve."""
    found = spread_of(after, on, rows, bins).minus(spread_of(before, on, rows, bins))
    return Step(after.number, {each: found.value(each) for each in METRICS}, {e: found.interval(e) for e in METRICS})


def advice(change: Step | None, share_left: float | None, unanswered: int, n: int) -> tuple[bool, str]:
    """Whether to stop, and why, in words; `change` of the last ROUNDS rounds together, None before there were as many.

    Stop where no image is left, or where the last ROUNDS rounds together moved neither accuracy nor NLPD of n images by
    more than the paired 95 % interval and the best image left promises under LITTLE of the best at the start. Neither
    alone: few images show nothing small, and EPIG falls with the square of the variance, long before accuracy ends.
    """
    if unanswered == 0:
        return True, "every pool image that was looked at is answered"
    little = share_left is not None and share_left < LITTLE
    still = change is not None and not change.shows("accuracy") and not change.shows("nlpd")
    if little and still:
        few = f" {n:,} images show large changes only: label more test images to be surer" if n < FEW else ""
        return True, f"{_RULE}.{few}"
    return False, f"to stop, two things must hold: {_RULE}. {_holds(still, little)}"


_RULE = (
    f"the last {ROUNDS} rounds together moved neither accuracy nor NLPD by more than the paired 95 % interval, and the "
    f"best image left promises under {100 * LITTLE:.0f} % of what the best did at the start"
)


def _holds(still: bool, little: bool) -> str:
    return {(True, False): "The first holds", (False, True): "The second holds"}.get((still, little), "Neither holds")
