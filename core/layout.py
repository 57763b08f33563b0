"""Maps: high-dimensional points laid out in the plane, by their main directions or by their neighbours.

Axes: N points · D size of a point · k neighbours · E edges of the neighbour graph.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import normalize

from core.values import Progress, silent

ROWS = 1024  # points compared with all others at once
A, B = 1.577, 0.895  # 1/(1 + a·d^(2b)) for a least distance of 0.1 (McInnes, Healy and Melville 2018)
NEGATIVES = 5  # points pushed away for each edge that pulls
STEEPEST = 4.0  # a gradient's entries are clipped here
STEPS = 48  # of the search for a neighbourhood's width


def principal(points: Tensor) -> Tensor:
    """Coordinates [N, 2] of points [N, D] along their two directions of greatest variance (PCA), centred.

    A direction's sign is set by its largest entry, so that the same points always give the same map. Points that are
    not finite take no part and come back as NaN.
    """
    usable = points.isfinite().all(dim=1)
    centred = points.double() - points[usable].double().mean(dim=0)
    covariance = centred[usable].T @ centred[usable]
    directions = torch.linalg.eigh(covariance).eigenvectors[:, -2:].flip(1)  # [D, 2]
    largest = directions.abs().argmax(dim=0, keepdim=True)
    laid = centred @ (directions * directions.gather(0, largest).sign())
    return laid.masked_fill(~usable[:, None], torch.nan).float()


def nearest(points: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Each point's k nearest others by cosine: distances 1 − cos, nearest first, and positions, both [N, k]."""
    units = normalize(points.float(), dim=1)
    found = []
    for start in range(0, len(units), ROWS):
        cosines = units[start : start + ROWS] @ units.T
        cosines[torch.arange(len(cosines)), torch.arange(start, start + len(cosines))] = -torch.inf
        found.append(cosines.nan_to_num(-1.0, neginf=-torch.inf).topk(k, dim=1))
    return (1 - torch.cat([each.values for each in found])).clamp_min(0), torch.cat([each.indices for each in found])


def by_neighbours(
    points: Tensor, *, rng: torch.Generator, k: int = 15, epochs: int = 200, on_progress: Progress = silent
) -> Tensor:
    """A map [N, 2] on which neighbours stay neighbours: UMAP's graph and objective, from `principal` on.

    A pull along each edge of the fuzzy neighbour graph as often as its weight says, pushes from drawn points
    (McInnes, Healy and Melville 2018). Distances between far groups mean little. Points that are not finite are NaN.
    """
    usable = points.isfinite().all(dim=1).nonzero()[:, 0]
    laid = torch.full((len(points), 2), torch.nan)
    if len(usable) <= k + 1:
        return principal(points)
    start = principal(points[usable])
    laid[usable] = _settled(
        10 * start / start.abs().max().clamp_min(1e-9), *graph(points[usable], k), rng, epochs, on_progress
    )
    return laid


def graph(points: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Edges [E, 2] of the fuzzy neighbour graph and their weights [E] in (0, 1], each pair once."""
    distances, neighbours = nearest(points, k)
    heads = torch.arange(len(points)).repeat_interleave(k)
    directed = torch.stack([heads, neighbours.flatten()], dim=1).sort(dim=1).values
    edges, place = directed.unique(dim=0, return_inverse=True)
    apart = torch.ones(len(edges)).scatter_reduce(0, place, 1 - memberships(distances).flatten(), "prod")
    weights = 1 - apart  # a + b − ab of the two directions
    return edges[weights > 0], weights[weights > 0]


def memberships(distances: Tensor) -> Tensor:
    """exp(−(d − d₁)/σ) of distances [N, k], nearest first; each row's σ makes it sum to log₂ k."""
    beyond = distances - distances[:, :1]
    low, high = torch.zeros(len(distances)), torch.full((len(distances),), 1e3)
    for _ in range(STEPS):
        sigma = (low + high) / 2
        over = (-beyond / sigma[:, None]).exp().sum(dim=1) > math.log2(distances.shape[1])
        high, low = torch.where(over, sigma, high), torch.where(over, low, sigma)
    return (-beyond / high[:, None]).exp()


def _settled(
    laid: Tensor, edges: Tensor, weights: Tensor, rng: torch.Generator, epochs: int, on_progress: Progress
) -> Tensor:
    """Stochastic gradient descent on the layout, as many edges at once as there are points."""
    for epoch in range(epochs):
        on_progress(epoch, epochs, "laying the map out")
        rate = 1 - epoch / epochs
        for some in _drawn(edges, weights, len(laid), rng):
            head, tail = some.T
            pull = _pull(laid[head] - laid[tail])
            other = torch.randint(len(laid), (len(head), NEGATIVES), generator=rng)
            push = _push(laid[head][:, None] - laid[other]).sum(dim=1)
            laid = laid.index_add(0, head, rate * (pull + push)).index_add(0, tail, -rate * pull)
    return laid


def _drawn(edges: Tensor, weights: Tensor, size: int, rng: torch.Generator) -> Iterator[Tensor]:
    """Edges of one epoch, each with the probability of its weight, in a random order and direction."""
    edges = edges[torch.rand(len(weights), generator=rng) < weights]
    turned = torch.rand(len(edges), generator=rng) < 0.5
    edges = torch.where(turned[:, None], edges.flip(1), edges)
    return iter(edges[torch.randperm(len(edges), generator=rng)].split(size))


def _pull(difference: Tensor) -> Tensor:
    square = difference.square().sum(dim=-1, keepdim=True).clamp_min(1e-9)
    return (-2 * A * B * square ** (B - 1) / (1 + A * square**B) * difference).clamp(-STEEPEST, STEEPEST)


def _push(difference: Tensor) -> Tensor:
    square = difference.square().sum(dim=-1, keepdim=True)
    return (2 * B / ((1e-3 + square) * (1 + A * square**B)) * difference).clamp(-STEEPEST, STEEPEST)
