"""BALD and EPIG by joint Monte Carlo, with their noise floor, in bounded memory.

Axes: N pool images · M target images · C classes · K draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from core.acquisition.bald import bald_monte_carlo
from core.acquisition.epig import epig_halves, epig_monte_carlo
from core.draws import HeadDraws
from core.values import Features

HELD = 64_000_000  # probabilities held of the pool, and as many of the targets: 256 MB each in float32


@dataclass(frozen=True, slots=True)
class Sampled:
    """A Monte Carlo score [N] in nats, and its floor from two independent halves of the draws.

    `bias` is the mean over images of (mean of the halves − whole): an estimate that is off by b/K is off by 2b/K in a
    half, so the difference is what is left in the whole. `noise` is the standard error of one image's score, from
    half the difference of the halves. Scores below bias + noise say nothing.
    """

    scores: Tensor
    bias: float
    noise: float

    @staticmethod
    def of(halves: Tensor) -> Sampled:
        """From scores [3, N]: of all draws, of the first half and of the second; non-finite ones do not count."""
        whole, first, second = halves
        kept = halves.isfinite().all(dim=0)
        if not kept.any():
            return Sampled(whole, float("nan"), float("nan"))
        bias = ((first + second) / 2 - whole)[kept].mean()
        noise = ((first - second) / 2)[kept].square().mean().sqrt()
        return Sampled(whole, float(bias), float(noise))


def sampled_bald(draws: HeadDraws, pool: Features) -> Sampled:
    """`bald_monte_carlo` of the pool, by chunks of images."""
    half = draws.K // 2

    def estimates(probs: Tensor) -> Tensor:
        return torch.stack([bald_monte_carlo(each) for each in (probs, probs[:, :half], probs[:, half:])])

    return Sampled.of(torch.cat([estimates(draws.probabilities(images)) for images in _chunks(pool, draws)], dim=1))


def bald_scores(draws: HeadDraws, pool: Features) -> Tensor:
    """`sampled_bald` without the floor, [N]: for an order alone."""
    return torch.cat([bald_monte_carlo(draws.probabilities(images)) for images in _chunks(pool, draws)])


def sampled_epig(draws: HeadDraws, pool: Features, targets: Features) -> Sampled:
    """`epig_monte_carlo` of the pool towards the targets, by chunks of both: each sees the same heads in draw k.

    Targets whose features are not finite are left out.
    """
    return Sampled.of(_towards(draws, pool, targets, epig_halves, (3,)))


def epig_scores(draws: HeadDraws, pool: Features, targets: Features) -> Tensor:
    """`sampled_epig` without the floor, [N]: for an order alone, at a third of the entropies."""
    return _towards(draws, pool, targets, epig_monte_carlo)


def _towards(
    draws: HeadDraws,
    pool: Features,
    targets: Features,
    estimate: Callable[[Tensor, Tensor], Tensor],
    shape: tuple[int, ...] = (),
) -> Tensor:
    """The mean over the finite targets of what `estimate` gives for chunks of both, [*shape, N]; NaN without any."""
    targets = targets[targets.activations.isfinite().all(dim=1)]
    total = torch.zeros(*shape, len(pool), dtype=torch.float64)
    for towards in _chunks(targets, draws):
        target_probs = draws.probabilities(towards)
        scores = [estimate(draws.probabilities(images), target_probs) for images in _chunks(pool, draws)]
        total += torch.cat(scores, dim=-1).cpu() * len(towards)
    return total / len(targets)


def _chunks(images: Features, draws: HeadDraws) -> Iterator[Features]:
    size = max(1, HELD // (draws.K * len(draws.texts)))
    for start in range(0, len(images), size):
        yield images[start : start + size]
