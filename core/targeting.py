"""Nearest neighbours between images whose embeddings are Gaussians.

Axes: N pool images · M target images · D joint embedding size.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import torch
from torch import Tensor

from core.values import GaussianEmbeddings

PAIRS_AT_ONCE = 8_000_000  # distances in flight: 32 MB in float32


class Metric(StrEnum):
    """How near two Gaussian embeddings are."""

    COSINE = "cosine"
    WASSERSTEIN = "wasserstein"


def expected_cosine(targets: GaussianEmbeddings, pool: GaussianEmbeddings) -> Tensor:
    """E[cos] = g·g*/√(e e*) with e = Σ mean² + variance, [M, N]."""

    def shrunk(embeddings: GaussianEmbeddings) -> Tensor:
        energy = (embeddings.mean.square() + embeddings.variance).sum(dim=1, keepdim=True)
        return embeddings.mean / energy.sqrt()

    return shrunk(targets) @ shrunk(pool).T


def wasserstein2_squared(targets: GaussianEmbeddings, pool: GaussianEmbeddings) -> Tensor:
    """Squared 2-Wasserstein distance of diagonal Gaussians, ‖μ − μ*‖² + Σ_d (σ − σ*)², [M, N]."""
    left, right = (torch.cat([e.mean, e.variance.sqrt()], dim=1) for e in (targets, pool))
    squares = left.square().sum(dim=1, keepdim=True) + right.square().sum(dim=1)
    return torch.addmm(squares, left, right.T, alpha=-2).clamp_min_(0)


DISTANCES: dict[Metric, Callable[[GaussianEmbeddings, GaussianEmbeddings], Tensor]] = {
    Metric.COSINE: lambda targets, pool: -expected_cosine(targets, pool),
    Metric.WASSERSTEIN: wasserstein2_squared,
}


def neighbours(pool: GaussianEmbeddings, targets: GaussianEmbeddings, k: int, metric: Metric) -> Tensor:
    """Each target's k nearest pool images, nearest first, [M, min(k, N)]."""
    distance, k = DISTANCES[Metric(metric)], min(k, len(pool.mean))
    rows = max(1, PAIRS_AT_ONCE // max(1, len(pool.mean)))
    parts = zip(targets.mean.split(rows), targets.variance.split(rows), strict=True)
    nearest = [distance(GaussianEmbeddings(*part), pool).topk(k, largest=False).indices for part in parts]
    return torch.cat(nearest)


def _in_turns(nearest: Tensor) -> list[int]:
    """Every pool image of [M, k] once: all targets' nearest in the targets' order, then all second nearest, …"""
    return list(dict.fromkeys(nearest.T.flatten().tolist()))


def select_nearest(pool: GaussianEmbeddings, targets: GaussianEmbeddings, k: int, metric: Metric) -> Tensor:
    """k·M different pool images (all N when the pool is smaller), the targets taking their nearest in turns.

    Hand the most uncertain targets first: a pool image that two share counts once, and both look one further.
    """
    wanted = min(k * len(targets.mean), len(pool.mean))
    depth = k
    while len(chosen := _in_turns(neighbours(pool, targets, depth, metric))) < wanted:
        depth *= 2
    return torch.tensor(chosen[:wanted], dtype=torch.int64)


def nearest_cosine(pool: GaussianEmbeddings, targets: GaussianEmbeddings, k: int) -> Tensor:
    """`select_nearest` by expected cosine."""
    return select_nearest(pool, targets, k, Metric.COSINE)


def nearest_wasserstein(pool: GaussianEmbeddings, targets: GaussianEmbeddings, k: int) -> Tensor:
    """`select_nearest` by the 2-Wasserstein distance."""
    return select_nearest(pool, targets, k, Metric.WASSERSTEIN)


def narrow(pool: GaussianEmbeddings, targets: GaussianEmbeddings, k: int, metric: Metric) -> Tensor:
    """Positions of the pool images that are among some target's k nearest, ascending."""
    return neighbours(pool, targets, k, metric).unique()
