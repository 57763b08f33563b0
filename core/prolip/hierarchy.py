"""Which images of a set include which: a graph without cycles, its reduction, and a tree to draw.

Axes: N images · D embedding size · E edges.
Image j includes image i where H(i ⊂ j) is above a threshold and j is the more uncertain (by Σσ², then by place in the
set). H alone can run in circles of three or more; the order by uncertainty cannot, so the graph has none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from core.errors import InputError
from core.prolip.inclusion import BUDGET, Pairs, form_of, log_inclusion, tiles
from core.prolip.similarity import cosine
from core.values import Progress, ProlipEmbeddings, silent

MOST_IMAGES = 20_000  # N² bytes say who includes whom: 400 MB
ROOT = -1  # the parent of an image that none includes
BAND = 64  # images whose pairs are looked at between two reports of progress


class Parent(StrEnum):
    """Which of the images that include one is its parent in the tree."""

    COVERS = "covers"  # the highest log∫pi²pj, the nearest that is wide enough
    INCLUDES = "includes"  # the highest H(i ⊂ j): with distance adding to H, mostly the vaguest of the set


@dataclass(frozen=True, slots=True, kw_only=True)
class InclusionRule:
    """When one image includes another: H above `threshold` nats and, if given, a cosine of at least `similarity`.

    Raises InputError for a threshold that is no number, or a similarity outside [−1, 1].
    """

    threshold: float = 0.0
    similarity: float | None = None
    parent: Parent = Parent.COVERS
    official: bool = False

    def __post_init__(self) -> None:
        if not math.isfinite(self.threshold):
            raise InputError(f"a threshold of {self.threshold} nats is no number: 0 takes every inclusion")
        if self.similarity is not None and not -1 <= self.similarity <= 1:
            raise InputError(f"a cosine lies between -1 and 1, {self.similarity} came: leave it empty to ask for none")


@dataclass(frozen=True, slots=True)
class InclusionGraph:
    """Who includes whom, without what follows from the rest.

    `edges` [E, 2]: (included, including) positions, such that no edge is implied by a path of others; `strength` [E]
    H of each in nats. `included_by` and `includes` [N] count images before the reduction.
    """

    edges: Tensor
    strength: Tensor
    included_by: Tensor
    includes: Tensor


@dataclass(frozen=True, slots=True)
class InclusionTree:
    """Each image under one that includes it: `parent` [N], ROOT where none does; `depth` [N] from 0 at the top.

    `strength` [N] is H(image ⊂ parent), nan at the top. `tops` and each image's `children` go from the most uncertain
    to the least.
    """

    parent: Tensor
    depth: Tensor
    strength: Tensor
    tops: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Both views of one set of images."""

    graph: InclusionGraph
    tree: InclusionTree


def hierarchy(
    images: ProlipEmbeddings,
    rule: InclusionRule = InclusionRule(),
    *,
    budget: int = BUDGET,
    on_progress: Progress = silent,
) -> Hierarchy:
    """Graph and tree of N images; takes N² bytes and `budget` numbers, N²·D/2 steps of two overlaps each.

    Raises InputError for more than MOST_IMAGES images or numbers that are not finite; what `on_progress` raises.
    """
    if len(images) > MOST_IMAGES:
        raise InputError(f"a hierarchy takes {MOST_IMAGES:,} images, {len(images):,} came: choose some of them")
    if not bool(images.mean.isfinite().all() and images.log_variance.isfinite().all()):
        raise InputError("an image has numbers that are not finite: encode it again")
    order = images.uncertainty.argsort(stable=True)  # [N], the least uncertain first
    ordered = images[order]
    included, parent = _compare(ordered, rule, budget, on_progress)
    counts = included.sum(dim=1), included.sum(dim=0)  # in order
    edges = order[transitive_reduction(included)]
    return Hierarchy(
        InclusionGraph(edges, _strength(images, edges, rule), *(_restored(each, order) for each in counts)),
        _tree(images, order, parent, rule),
    )


def _restored(values: Tensor, order: Tensor) -> Tensor:
    """Values of ordered images, back at their own places."""
    return torch.empty_like(values).index_copy_(0, order, values)


def _compare(
    images: ProlipEmbeddings, rule: InclusionRule, budget: int, on_progress: Progress
) -> tuple[Tensor, Tensor]:
    """Of images from the least uncertain on: who is included by whom, bool [N, N], and each one's parent [N]."""
    total = len(images)
    pairs = Pairs(images, images, form_of(rule.official))
    included = torch.zeros(total, total, dtype=torch.bool, device=images.mean.device)
    parent = torch.full((total,), ROOT, device=images.mean.device)
    for top in range(0, total, BAND):
        band = slice(top, min(top + BAND, total))
        values, inside = _band(images, pairs, rule, band, budget)  # [n, N - top]
        included[band, top:] = inside
        best = values.masked_fill(~inside, -torch.inf).argmax(dim=1) + top
        parent[band] = torch.where(inside.any(dim=1), best, ROOT)
        on_progress(band.stop, total, "Comparing images")
    return included, parent


def _band(
    images: ProlipEmbeddings, pairs: Pairs, rule: InclusionRule, band: slice, budget: int
) -> tuple[Tensor, Tensor]:
    """Of a band of images with those from its first on: what chooses a parent, and who is included, both [n, m]."""
    rest = slice(band.start, len(images))
    values = images.mean.new_empty(band.stop - band.start, len(images) - band.start)
    places = torch.arange(len(images), device=values.device)
    inside = places[band, None] < places[rest]
    if rule.similarity is not None:
        inside &= cosine(images[band], images[rest]) >= rule.similarity
    for rows, columns in tiles(len(values), values.shape[1], images.dimension, budget):
        if bool(inside[rows, columns].any()):
            there, back = pairs.both(_moved(rows, band.start), _moved(columns, band.start))
            inside[rows, columns] &= there - back > rule.threshold
            values[rows, columns] = there if rule.parent is Parent.COVERS else there - back
    return values, inside


def _moved(where: slice, by: int) -> slice:
    return slice(where.start + by, where.stop + by)


def _strength(images: ProlipEmbeddings, edges: Tensor, rule: InclusionRule, at_once: int = 4096) -> Tensor:
    parts = [
        log_inclusion(images[part[:, 0]], images[part[:, 1]], official=rule.official) for part in edges.split(at_once)
    ]
    return torch.cat(parts) if parts else images.mean.new_empty(0)


def transitive_reduction(edges: Tensor) -> Tensor:
    """Edges [E, 2] of a graph bool [N, N] (`edges[i, j]`: i → j, all with i < j) that no path of others implies.

    Unique for a graph without cycles. `edges` is changed: afterwards it says who reaches whom.
    """
    kept = []
    for i in range(len(edges) - 1, -1, -1):
        left, reached = edges[i].clone(), edges[i]  # the nearest first: what one reaches is no edge of its own
        while bool(left.any()):
            j = int(left.to(torch.uint8).argmax())
            kept.append((i, j))
            left &= ~edges[j]
            left[j] = False
            reached |= edges[j]
    return torch.tensor(kept[::-1], dtype=torch.int64, device=edges.device).view(-1, 2)


def _tree(images: ProlipEmbeddings, order: Tensor, parent: Tensor, rule: InclusionRule) -> InclusionTree:
    """The tree from ordered images' parents; a parent is always later in the order."""
    up, names = parent.tolist(), order.tolist()
    depth = [0] * len(up)
    children: list[list[int]] = [[] for _ in up]
    tops = []
    for place in range(len(up) - 1, -1, -1):
        if up[place] == ROOT:
            tops.append(names[place])
        else:
            depth[place] = depth[up[place]] + 1
            children[names[up[place]]].append(names[place])
    own = torch.where(parent == ROOT, ROOT, order[parent])
    parents = _restored(own, order)
    below = (parents != ROOT).nonzero()[:, 0]
    strength = images.mean.new_full((len(up),), torch.nan)
    strength[below] = _strength(images, torch.stack([below, parents[below]], dim=1), rule)
    depths = _restored(torch.tensor(depth, dtype=torch.int64, device=order.device), order)
    return InclusionTree(parents, depths, strength, tuple(tops), tuple(map(tuple, children)))
