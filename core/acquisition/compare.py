"""Any score of a pool before the first pick, and how alike two scores rank it.

Axes: N pool images · M target images · C classes · Z scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from core.acquisition import baselines
from core.acquisition.bald import bald, bald_saturating
from core.acquisition.entropy import entropy
from core.acquisition.epig import epig
from core.acquisition.sampled import Sampled, bald_scores, epig_scores, sampled_bald, sampled_epig
from core.acquisition.table import SCORES, Acquisition
from core.draws import HeadDraws, draw_heads
from core.errors import InputError
from core.logits import class_covariance, map_logits, posterior_logits, probit, whitened
from core.posterior.laplace import Posterior
from core.values import Features, GaussianLogits

DRAWS = 4096


@dataclass(frozen=True)
class Question:
    """A pool to be scored towards targets; what several scores need is computed once. No label is in it."""

    posterior: Posterior
    pool: Features
    targets: Features
    texts: Features
    rng: torch.Generator
    K: int = DRAWS
    with_text: bool = False  # whether the draws include the text head

    @cached_property
    def logits(self) -> GaussianLogits:
        return posterior_logits(self.posterior, self.pool, self.texts)

    @cached_property
    def probs(self) -> Tensor:
        return probit(self.logits)

    @cached_property
    def certain(self) -> Tensor:
        """Probabilities [N, C] of the most probable heads."""
        p = self.posterior
        return map_logits(*_embedded(p, self.pool, self.texts), p.scale, p.bias).softmax(dim=1)

    @cached_property
    def rows(self) -> Tensor:
        return whitened(self.posterior, self.pool)

    @cached_property
    def S(self) -> Tensor:  # noqa: N802 (the field's name)
        return class_covariance(self.posterior, self.texts)

    @cached_property
    def draws(self) -> HeadDraws:
        return draw_heads(self.posterior, self.texts, self.K, self.rng, with_text=self.with_text)

    @cached_property
    def finite_targets(self) -> Features:
        return self.targets[self.targets.activations.isfinite().all(dim=1)]


def _embedded(posterior: Posterior, images: Features, texts: Features) -> tuple[Tensor, Tensor]:
    return images.embed(posterior.image.weight), texts.embed(posterior.text.weight)


def _epig(q: Question) -> Tensor:
    kappa = q.rows @ whitened(q.posterior, q.finite_targets).T
    return epig(kappa, q.probs, probit(posterior_logits(q.posterior, q.finite_targets, q.texts)), q.S)


def _own(q: Question) -> Tensor:
    if q.pool.log_variance is None:
        raise InputError("this project's encoder says nothing of its own uncertainty, only a ProLIP model does")
    return baselines.own_uncertainty(q.pool.log_variance)


SCORERS: dict[Acquisition, Callable[[Question], Tensor]] = {
    Acquisition.EPIG: _epig,
    Acquisition.BALD: lambda q: bald(q.rows.square().sum(dim=1), q.probs, q.S),
    Acquisition.BALD_SATURATING: lambda q: bald_saturating(q.rows.square().sum(dim=1), q.probs, q.S),
    Acquisition.ENTROPY: lambda q: entropy(q.probs),
    Acquisition.ENTROPY_MAP: lambda q: entropy(q.certain),
    Acquisition.MARGIN: lambda q: baselines.margin(q.probs),
    Acquisition.LEAST_CONFIDENCE: lambda q: baselines.least_confidence(q.probs),
    Acquisition.VARIANCE: lambda q: baselines.logit_variance(q.logits.variance),
    Acquisition.OWN_UNCERTAINTY: _own,
    Acquisition.RANDOM: lambda q: baselines.random(len(q.pool), q.rng),
    Acquisition.EPIG_DRAWS: lambda q: epig_scores(q.draws, q.pool, q.targets),
    Acquisition.BALD_DRAWS: lambda q: bald_scores(q.draws, q.pool),
}
FLOORED: dict[Acquisition, Callable[[Question], Sampled]] = {
    Acquisition.EPIG_DRAWS: lambda q: sampled_epig(q.draws, q.pool, q.targets),
    Acquisition.BALD_DRAWS: lambda q: sampled_bald(q.draws, q.pool),
}
"""The scores by draws with their noise floor, which an order does not need."""


def scores_of(pool: Features) -> list[Acquisition]:
    """The scores that can be had of a pool: the encoder's own uncertainty only where it says one."""
    return [score for score in SCORERS if pool.log_variance is not None or not SCORES[score].own]


def score_pool(score: Acquisition, question: Question) -> Tensor:
    """The score of each pool image [N] before any pick; higher is more worth asking."""
    return SCORERS[Acquisition(score)](question)


def average_ranks(scores: Tensor) -> Tensor:
    """Ranks [N] from 0, lowest first; ties share their mean rank, non-finite scores are the lowest."""
    scores = scores.double().masked_fill(~scores.isfinite(), -torch.inf)
    ordered = scores.sort().values
    return (torch.searchsorted(ordered, scores) + torch.searchsorted(ordered, scores, right=True) - 1) / 2


def spearman(scores: Tensor) -> Tensor:
    """Rank correlations [Z, Z] of scores [Z, N]; NaN beside a score that is the same for all images."""
    return torch.corrcoef(torch.stack([average_ranks(each) for each in scores]).double()).reshape(len(scores), -1)
