"""Groups of images whose embeddings point the same way: k-means on the unit sphere.

Axes: N images · D embedding size · K clusters.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import normalize

from core.kernel import slices

SAMPLE = 20_000  # images that the centres are learned from, drawn by seed; all are assigned
ROWS = 16_384  # images in flight
STEPS = 25
STARTS = 4  # candidates for each new centre

Rows = Callable[[slice | Tensor], Tensor]
"""Unit embeddings [n, D] of some of the images."""


def spherical_k_means(rows: Rows, total: int, k: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """The cluster [N] of each image, the largest first, and its cosine [N] to that cluster's centre.

    Lloyd's steps on unit vectors, where the nearest centre is that of the greatest cosine (Dhillon and Modha 2001),
    from k-means++ (Arthur and Vassilvitskii 2007). Fewer than k clusters come where images coincide; broken rows are
    in the last one, at cosine −1.
    """
    drawn = torch.randperm(total, generator=rng)[:SAMPLE].sort().values
    sample = rows(drawn).float()
    sample = sample[sample.isfinite().all(dim=1)]
    if not len(sample):
        return torch.zeros(total, dtype=torch.int64), torch.full((total,), -1.0)
    centres = _settled(sample, _starts(sample, min(k, len(sample)), rng))
    cosines = [rows(part).float() @ centres.T for part in slices(total, ROWS)]
    best, cluster = (torch.cat(each) for each in zip(*(part.max(dim=1) for part in cosines), strict=True))
    broken = ~best.isfinite()
    order = torch.bincount(cluster[~broken], minlength=len(centres)).argsort(descending=True, stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    numbered = place[cluster]
    numbered[broken] = int(numbered[~broken].max()) if (~broken).any() else 0
    return numbered, best.masked_fill(broken, -1.0)


def _starts(sample: Tensor, k: int, rng: torch.Generator) -> Tensor:
    """k rows [k, D] far from each other: each the best of STARTS drawn with weights of the squared distance."""
    chosen = [int(torch.randint(len(sample), (), generator=rng))]
    apart = 2 - 2 * sample @ sample[chosen[0]]  # squared distance to the nearest centre
    while len(chosen) < k:
        apart = apart.clamp_min(0)
        if not bool((apart > 1e-6).any()):
            break
        tried = torch.multinomial(apart, STARTS, replacement=True, generator=rng)
        nearer = torch.minimum(apart, 2 - 2 * sample[tried] @ sample.T)  # [STARTS, N]
        best = int(nearer.sum(dim=1).argmin())
        chosen.append(int(tried[best]))
        apart = nearer[best]
    return sample[chosen]


def _settled(sample: Tensor, centres: Tensor) -> Tensor:
    """The centres [K, D] once no image changes its cluster, or after STEPS; an empty cluster keeps its centre."""
    before = None
    for _ in range(STEPS):
        cluster = (sample @ centres.T).argmax(dim=1)
        if before is not None and bool((cluster == before).all()):
            break
        sums = torch.zeros_like(centres).index_add(0, cluster, sample)
        empty = torch.bincount(cluster, minlength=len(centres)) == 0
        centres = torch.where(empty[:, None], centres, normalize(sums, dim=1))
        before = cluster
    return centres
