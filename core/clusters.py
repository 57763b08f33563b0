"""Groups of images whose embeddings point the same way: scikit-learn's k-means on unit vectors.

Axes: N images · D embedding size · K clusters.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor
from torch.nn.functional import normalize

from core.kernel import slices

SAMPLE = 20_000  # images that the centres are learned from, drawn by seed; all are assigned
ROWS = 16_384  # images in flight

Rows = Callable[[slice | Tensor], Tensor]
"""Unit embeddings [n, D] of some of the images."""


def k_means(rows: Rows, total: int, k: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """The cluster [N] of each image, the largest first, and its cosine [N] to that cluster's centre.

    An image is of the centre with the greatest cosine. Fewer than k clusters come where images coincide; broken rows
    are in the last one, at cosine −1.
    """
    drawn = torch.randperm(total, generator=rng)[:SAMPLE].sort().values
    sample = rows(drawn).float()
    sample = sample[sample.isfinite().all(dim=1)]
    if not len(sample):
        return torch.zeros(total, dtype=torch.int64), torch.full((total,), -1.0)
    centres = _centres(sample, min(k, len(sample)), rng)
    cosines = [rows(part).float() @ centres.T for part in slices(total, ROWS)]
    best, cluster = (torch.cat(each) for each in zip(*(part.max(dim=1) for part in cosines), strict=True))
    broken = ~best.isfinite()
    order = torch.bincount(cluster[~broken], minlength=len(centres)).argsort(descending=True, stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    numbered = place[cluster]
    numbered[broken] = int(numbered[~broken].max()) if (~broken).any() else 0
    return numbered, best.masked_fill(broken, -1.0)


def _centres(sample: Tensor, k: int, rng: torch.Generator) -> Tensor:
    """Unit centres [k, D]; some are alike where images coincide."""
    seed = int(torch.randint(2**31, (), generator=rng))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different images than clusters
        found = KMeans(k, n_init=1, random_state=seed).fit(sample.cpu().numpy())
    return normalize(torch.from_numpy(found.cluster_centers_).float(), dim=1)
