"""From a posterior to an order of the pool: one object per score, the same three verbs for all of them.

Axes: N pool images · M target images · C classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from core.acquisition.compare import Question, score_pool
from core.acquisition.table import SCORES, Acquisition
from core.posterior.laplace import Posterior
from core.selection import GreedyRanker, rank
from core.targeting import Metric, narrow
from core.values import Features

TARGETS = 500  # target images that a score is averaged over, drawn by seed
NEIGHBOURS = 50  # pool images kept per target image when the pool is narrowed


class Ranker(Protocol):
    """An order of the pool that answers may change."""

    def scores(self) -> Tensor:
        """The score of each pool image now, [N]."""

    def pick(self, n: int, exclude: Iterable[int] = ()) -> list[int]:
        """The n best positions outside `exclude`, each conditioning the next."""

    def condition(self, indices: Sequence[int]) -> None:
        """Take into account that these positions have an answer, whatever it is."""

    def fresh(self) -> Ranker:
        """The same without any answer."""


class FixedRanker:
    """An order that answers do not change."""

    def __init__(self, scores: Tensor):
        self._scores = scores
        self._order = rank(scores).tolist()

    def scores(self) -> Tensor:
        return self._scores.clone()

    def pick(self, n: int, exclude: Iterable[int] = ()) -> list[int]:
        taken = set(exclude)
        return [position for position in self._order if position not in taken][:n]

    def condition(self, indices: Sequence[int]) -> None:
        return None

    def fresh(self) -> FixedRanker:
        return self


def make_ranker(
    score: Acquisition,
    posterior: Posterior,
    pool: Features,
    targets: Features,
    texts: Features,
    *,
    rng: torch.Generator,
    rho: float = 10.0,
) -> Ranker:
    """The ranker of `pool` by a score; `rng` is drawn from by the random and the sampled scores only."""
    if SCORES[Acquisition(score)].conditions:
        return GreedyRanker.from_posterior(posterior, pool, targets, texts, score, rho)
    return FixedRanker(score_pool(score, Question(posterior, pool, targets, texts, rng)))


def draw_targets(candidates: Sequence[int], rng: torch.Generator, n: int = TARGETS) -> list[int]:
    """At most `n` of the candidates, drawn without replacement, in their order."""
    if len(candidates) <= n:
        return list(candidates)
    drawn = torch.randperm(len(candidates), generator=rng)[:n].sort().values.tolist()
    return [candidates[i] for i in drawn]


def outside(posterior: Posterior, pool: Features, targets: Features, metric: Metric | None) -> list[int]:
    """Pool positions that narrowing leaves out: those among no target's NEIGHBOURS nearest; none without a metric."""
    if metric is None:
        return []
    kept = narrow(posterior.image.embed(pool), posterior.image.embed(targets), NEIGHBOURS, metric)
    left_out = torch.ones(len(pool), dtype=torch.bool)
    left_out[kept] = False
    return left_out.nonzero()[:, 0].tolist()
