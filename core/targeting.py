"""Nearest neighbours between images whose embeddings are Gaussians.

Axes: N pool images · M target images · D joint embedding size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

import torch
from torch import Tensor

from core.values import GaussianEmbeddings

Pool = GaussianEmbeddings | Iterable[GaussianEmbeddings]  # whole, or in parts that can be gone through again and again

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


def neighbours(pool: Pool, targets: GaussianEmbeddings, k: int, metric: Metric) -> Tensor:
    """Each target's k nearest pool images, nearest first, [M, min(k, N)]; what is not finite is nearest to none.

    A pool given in parts is gone through once and only k candidates of each target are kept.
    """
    distance, M, start = DISTANCES[Metric(metric)], len(targets.mean), 0
    best = targets.mean.new_empty(M, 0)
    nearest = torch.empty(M, 0, dtype=torch.int64, device=best.device)
    for part in _parts(pool, max(1, PAIRS_AT_ONCE // max(1, M))):
        found = distance(targets, part).nan_to_num_(nan=torch.inf)  # [M, n]
        positions = torch.arange(start, start + found.shape[1], device=best.device).expand(M, -1)
        both, index = torch.cat([best, found], dim=1), torch.cat([nearest, positions], dim=1)
        best, order = both.topk(min(k, both.shape[1]), largest=False)
        nearest, start = index.gather(1, order), start + found.shape[1]
    return nearest


def _parts(pool: Pool, rows: int) -> Iterable[GaussianEmbeddings]:
    for part in [pool] if isinstance(pool, GaussianEmbeddings) else pool:
        for mean, variance in zip(part.mean.split(rows), part.variance.split(rows), strict=True):
            yield GaussianEmbeddings(mean, variance)


def in_turns(nearest: Tensor) -> list[int]:
    """Every pool image of [M, k] once: all targets' nearest in the targets' order, then all second nearest, …"""
    return list(dict.fromkeys(nearest.T.flatten().tolist()))


def select_nearest(pool: Pool, targets: GaussianEmbeddings, k: int, metric: Metric) -> Tensor:
    """k·M different pool images (all N when the pool is smaller), the targets taking their nearest in turns.

    Hand the most uncertain targets first: a pool image that two share counts once, and both look one further.
    """
    depth, wanted = k, k * len(targets.mean)
    while True:
        nearest = neighbours(pool, targets, depth, metric)
        chosen = in_turns(nearest)
        if len(chosen) >= wanted or nearest.shape[1] < depth:
            return torch.tensor(chosen[:wanted], dtype=torch.int64)
        depth *= 2


def narrow(pool: Pool, targets: GaussianEmbeddings, k: int, metric: Metric) -> Tensor:
    """Positions of the pool images that are among some target's k nearest, ascending."""
    return neighbours(pool, targets, k, metric).unique()
