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
from core.prolip.inclusion import BUDGET, Pairs, form_of, tiles
from core.prolip.similarity import cosine
from core.values import Progress, ProlipEmbeddings, silent

MOST_IMAGES = 20_000  # 2N² bytes say who includes whom: 800 MB
ROOT = -1  # the parent of an image that none includes
SPARSE = 8  # one pair of this many or fewer to compare: pair by pair is quicker than whole tiles
NEAREST = 32  # edges of an image looked at one by one, before the rest are at once
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
    """Graph and tree of N images; takes 2N² bytes and `budget` numbers, N²·D/2 steps of two overlaps each.

    Raises InputError for more than MOST_IMAGES images or numbers that are not finite; what `on_progress` raises.
    """
    if len(images) > MOST_IMAGES:
        raise InputError(f"a hierarchy takes {MOST_IMAGES:,} images, {len(images):,} came: choose some of them")
    if not bool(images.mean.isfinite().all() and images.log_variance.isfinite().all()):
        raise InputError("an image has numbers that are not finite: encode it again")
    order = images.uncertainty.argsort(stable=True)  # [N], the least uncertain first
    pairs, at_once = Pairs(images, images, form_of(rule.official)), max(1, budget // max(1, images.dimension))
    included, parent = _compare(images[order], rule, budget, on_progress)
    counts = included.sum(dim=1), included.sum(dim=0)  # in order
    edges = order[transitive_reduction(included, on_progress)]
    graph = InclusionGraph(edges, _strength(pairs, edges, at_once), *(_restored(each, order) for each in counts))
    parents = _restored(torch.where(parent == ROOT, ROOT, order[parent]), order)
    below = (parents != ROOT).nonzero()[:, 0]
    strength = images.mean.new_full((len(images),), torch.nan)
    strength[below] = _strength(pairs, torch.stack([below, parents[below]], dim=1), at_once)
    return Hierarchy(graph, grown(parents, images.uncertainty, strength))


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
    values = images.mean.new_zeros(band.stop - band.start, len(images) - band.start)
    places = torch.arange(len(images), device=values.device)
    inside = places[band, None] < places[rest]
    if rule.similarity is not None:
        inside &= cosine(images[band], images[rest]) >= rule.similarity
    inclusion = torch.zeros_like(values)
    chosen = inside.nonzero()
    if len(chosen) * SPARSE <= inside.numel():
        for part in chosen.split(max(1, budget // images.dimension)):
            there, back = pairs.both_at(part[:, 0] + band.start, part[:, 1] + band.start)
            values[tuple(part.T)], inclusion[tuple(part.T)] = there, there - back
    else:
        for rows, columns in tiles(len(values), values.shape[1], images.dimension, budget):
            there, back = pairs.both(_moved(rows, band.start), _moved(columns, band.start))
            values[rows, columns], inclusion[rows, columns] = there, there - back
    inside &= inclusion > rule.threshold
    return (values if rule.parent is Parent.COVERS else inclusion), inside


def _moved(where: slice, by: int) -> slice:
    return slice(where.start + by, where.stop + by)


def _strength(pairs: Pairs, edges: Tensor, at_once: int) -> Tensor:
    """H of each edge [E], `at_once` of them in flight."""
    strength = pairs.empty(len(edges))
    for start in range(0, len(edges), at_once):
        part = slice(start, start + at_once)
        strength[part] = torch.sub(*pairs.both_at(*edges[part].T))
    return strength


def transitive_reduction(edges: Tensor, on_progress: Progress = silent) -> Tensor:
    """Edges [E, 2] of a graph bool [N, N] (`edges[i, j]`: i → j, all with i < j) that no path of others implies.

    Unique for a graph without cycles. `edges` is changed: afterwards it says who reaches whom.
    """
    total, kept = len(edges), torch.zeros_like(edges)
    for i in range(total - 1, -1, -1):
        kept[i] = _unimplied(edges, i)
        if i % BAND == 0:
            on_progress(total - i, total, "Leaving out what follows from the rest")
    return kept.nonzero()


def _unimplied(reach: Tensor, i: int) -> Tensor:
    """The edges of i that no others imply, bool [N], where the rows after i say who reaches whom; then row i does."""
    left, reached = reach[i].clone(), reach[i]
    kept = torch.zeros_like(left)
    for _ in range(NEAREST):  # what the nearest reach is no edge of its own: mostly that leaves nothing
        if not bool(left.any()):
            return kept
        j = int(left.to(torch.uint8).argmax())
        kept[j] = True
        left &= ~reach[j]
        left[j] = False
        reached |= reach[j]
    beyond = torch.zeros_like(left)
    for some in left.nonzero()[:, 0].split(BAND):
        beyond |= reach[some].any(dim=0)
    reached |= beyond
    return kept | (left & ~beyond)


def grown(parents: Tensor, uncertainty: Tensor, strength: Tensor) -> InclusionTree:
    """The tree of parents [N], each more uncertain than its children or later in the set, Σσ² and strength [N]."""
    up = parents.tolist()
    depth = [0] * len(up)
    children: list[list[int]] = [[] for _ in up]
    tops = []
    for i in reversed(uncertainty.argsort(stable=True).tolist()):
        if up[i] == ROOT:
            tops.append(i)
        else:
            depth[i] = depth[up[i]] + 1
            children[up[i]].append(i)
    return InclusionTree(
        parents, torch.tensor(depth, dtype=torch.int64), strength, tuple(tops), tuple(map(tuple, children))
    )
