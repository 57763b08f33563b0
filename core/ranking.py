"""From a posterior to an order of the pool: one object per score, the same verbs for all of them.

Axes: N pool images · M target images · C classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

import torch
from torch import Tensor

from core.acquisition.compare import Question, score_pool
from core.acquisition.entropy import entropy
from core.acquisition.table import SCORES, Acquisition
from core.batches import ANYTHING, Limits, Pick, Quota, count_non_finite, fill, in_order, power_order, rank
from core.bounded import BoundedRanker
from core.config import memory_budget
from core.kernel import ROWS, Kernel, Pool, predictive, slices
from core.posterior.laplace import HeadPosterior, Posterior
from core.selection import GreedyRanker
from core.targeting import Metric, in_turns, narrow, neighbours
from core.values import Features, GaussianEmbeddings

TARGETS = 500  # target images that a score is averaged over, drawn by seed
NEIGHBOURS = 50  # pool images kept per target image when the pool is narrowed
PAIRS_SHARE = 0.5  # of the memory, for the pairs of pool and targets, or what bounds take in their place


class Batch(StrEnum):
    """How a batch is filled from the pool."""

    GREEDY = "greedy"  # the best first, each pick conditioning the next
    QUOTA = "quota"  # greedy, and no class has more than its share of the batch
    POWER = "power"  # drawn with weights score^β
    COSINE = "cosine"  # the pool neighbours of the most undecided targets, by expected cosine
    WASSERSTEIN = "wasserstein"  # the same by the 2-Wasserstein distance


NEAR: dict[Batch, Metric] = {Batch.COSINE: Metric.COSINE, Batch.WASSERSTEIN: Metric.WASSERSTEIN}


class Ranker(Protocol):
    """An order of the pool that answers may change."""

    @property
    def non_finite(self) -> int:
        """How many pool images have no finite score."""

    def scores(self) -> Tensor:
        """The score of each pool image now, [N]; on a big pool this takes as long as the first ranking."""

    def scores_at(self, positions: Sequence[int]) -> Tensor:
        """The scores of these pool positions now."""

    def pick(self, n: int, exclude: Iterable[int] = (), limits: Limits = ANYTHING) -> list[int]:
        """Positions of `take`."""

    def take(self, n: int, exclude: Iterable[int] = (), limits: Limits = ANYTHING) -> list[Pick]:
        """The n best positions outside `exclude` and within the limits, each conditioning the next."""

    def condition(self, indices: Sequence[int]) -> None:
        """Take into account that these positions have an answer, whatever it is."""

    def fresh(self) -> Ranker:
        """The same without any answer."""


class Scene(Protocol):
    """What a batch is chosen from."""

    @property
    def posterior(self) -> Posterior: ...

    @property
    def features(self) -> Pool: ...  # of the pool [N, p]

    @property
    def targets(self) -> Features: ...  # [M, p]

    @property
    def texts(self) -> Features: ...  # [C, p']


class FixedRanker:
    """An order that answers do not change."""

    def __init__(self, scores: Tensor):
        self._scores = scores
        self._order = rank(scores).tolist()

    @property
    def non_finite(self) -> int:
        return count_non_finite(self._scores)

    def scores(self) -> Tensor:
        return self._scores.clone()

    def scores_at(self, positions: Sequence[int]) -> Tensor:
        return self._scores[list(positions)]

    def pick(self, n: int, exclude: Iterable[int] = (), limits: Limits = ANYTHING) -> list[int]:
        return [pick.position for pick in self.take(n, exclude, limits)]

    def take(self, n: int, exclude: Iterable[int] = (), limits: Limits = ANYTHING) -> list[Pick]:
        return fill(n, len(self._order), exclude, limits, in_order(self._order, self._scores))

    def condition(self, indices: Sequence[int]) -> None:
        return None

    def fresh(self) -> FixedRanker:
        return self


def make_ranker(
    score: Acquisition,
    posterior: Posterior,
    pool: Pool,
    targets: Features,
    texts: Features,
    *,
    rng: torch.Generator,
    rho: float = 10.0,
    memory: int | None = None,
) -> Ranker:
    """The ranker of `pool` by a score; `rng` is drawn from by the random and the sampled scores only.

    `memory` in bytes (default `memory_budget()`): EPIG keeps all pairs that fit, else finds the same picks by bounds.
    A score that answers change is told of all of them by `condition`: its κ begins at the curvature alone.
    """
    if SCORES[Acquisition(score)].conditions:
        kernel = Kernel.before_answers(posterior, pool, targets, texts, rho)
        room = PAIRS_SHARE * (memory or memory_budget())
        if GreedyRanker.memory(len(kernel), len(kernel.target_rows), kernel.root.dtype, score) <= room:
            return GreedyRanker.of(kernel, score)
        slopes = len(kernel) * len(kernel.root) * kernel.root.itemsize <= room
        return BoundedRanker(kernel, slopes=slopes)
    if score is Acquisition.RANDOM:
        return FixedRanker(torch.rand(len(pool), generator=rng))
    seed = int(torch.randint(2**31, (), generator=rng))  # every part meets the same draws of the heads
    parts = (
        score_pool(score, Question(posterior, pool[part], targets, texts, torch.Generator().manual_seed(seed)))
        for part in slices(len(pool), ROWS)
    )
    return FixedRanker(torch.cat(list(parts)))


def draw_targets(candidates: Sequence[int], rng: torch.Generator, n: int = TARGETS) -> list[int]:
    """At most `n` of the candidates, drawn without replacement, in their order."""
    if len(candidates) <= n:
        return list(candidates)
    drawn = torch.randperm(len(candidates), generator=rng)[:n].sort().values.tolist()
    return [candidates[i] for i in drawn]


@dataclass(frozen=True, slots=True)
class Embedded:
    """A pool's embeddings, made part by part whenever they are gone through."""

    head: HeadPosterior
    pool: Pool

    def __iter__(self) -> Iterator[GaussianEmbeddings]:
        return (self.head.embed(self.pool[part]) for part in slices(len(self.pool), ROWS))


def outside(posterior: Posterior, pool: Pool, targets: Features, metric: Metric | None) -> list[int]:
    """Pool positions that narrowing leaves out: those among no target's NEIGHBOURS nearest; none without a metric."""
    if metric is None:
        return []
    kept = narrow(Embedded(posterior.image, pool), posterior.image.embed(targets), NEIGHBOURS, metric)
    left_out = torch.ones(len(pool), dtype=torch.bool)
    left_out[kept] = False
    return left_out.nonzero()[:, 0].tolist()


def take_batch(
    batch: Batch,
    ranker: Ranker,
    scene: Scene,
    n: int,
    *,
    rng: torch.Generator,
    exclude: Sequence[int] = (),
    limits: Limits = ANYTHING,
    beta: float = 1.0,
) -> list[Pick]:
    """Up to n images outside `exclude` and within the limits; `rng` and β are of power batches alone.

    Answers condition all but the neighbour batches, which score a pick by the entropy of the target that it is near.
    """
    if batch is Batch.POWER:
        scores = ranker.scores()
        return fill(n, len(scores), exclude, limits, in_order(power_order(scores, beta, rng), scores))
    if batch in NEAR:
        return near_undecided(scene, n, NEAR[batch], exclude, limits)
    if batch is Batch.QUOTA:
        limits = replace(limits, quotas=(*limits.quotas, class_quota(scene, n)))
    return ranker.take(n, exclude, limits)


def class_quota(scene: Scene, n: int) -> Quota:
    """A batch of n holds at most ⌈n/C⌉ images of each class, by the likeliest class of the predictive."""
    likeliest = predictive(scene.posterior, scene.features, scene.texts).argmax(dim=1)
    return Quota(likeliest, math.ceil(n / len(scene.texts)))


def near_undecided(
    scene: Scene, n: int, metric: Metric, exclude: Sequence[int] = (), limits: Limits = ANYTHING
) -> list[Pick]:
    """The pool neighbours of the targets whose predictive entropy is highest, which take turns, each image once.

    A pick's score is the entropy in nats of the most undecided target that looked at it.
    """
    undecided = entropy(predictive(scene.posterior, scene.targets, scene.texts))
    order = rank(undecided)[: min(n, len(undecided) - count_non_finite(undecided))]
    head, size = scene.posterior.image, len(scene.features)
    near, depth = head.embed(scene.targets[order]), 1 + math.ceil(n / max(1, len(order)))
    while True:
        nearest = neighbours(Embedded(head, scene.features), near, depth, metric)  # [n, depth]
        scores = undecided.new_full((size,), torch.nan)
        for target in reversed(range(len(order))):
            scores[nearest[target]] = undecided[order[target]]
        picks = fill(n, size, exclude, limits, in_order(in_turns(nearest), scores))
        if len(picks) == n or nearest.shape[1] < depth or not len(order):
            return picks
        depth *= 2
