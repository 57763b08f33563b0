"""Groups of images that are nearly the same: connected by cosines over a threshold.

Axes: N images · p input size of the image head.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from core.batches import NEAR
from core.kernel import Pool, slices
from core.values import Progress, silent

ROWS = 1024  # images compared with a block of others at once
BLOCK = 16_384


def near_groups(pool: Pool, threshold: float = NEAR, on_progress: Progress = silent) -> Tensor:
    """The group [N] of each image, numbered from 0 by its first image; −1 for one that is like no other.

    Two images are alike when the cosine of their activations is over `threshold`; a group is all that is connected so,
    and its ends may be less alike. Broken features are like none. O(N²·p).
    """
    parent = torch.arange(len(pool))
    total = len(pool)
    for some in slices(total, ROWS):
        on_progress(some.start, total, "looking for duplicates")
        rows = _units(pool, some)
        for block in slices(total, BLOCK):
            if block.stop > some.start:
                for i, j in (rows @ _units(pool, block).T > threshold).nonzero().tolist():
                    _join(parent, some.start + i, block.start + j)
    roots = torch.tensor([_root(parent, i) for i in range(total)], dtype=torch.int64)
    return _numbered(roots)


def _units(pool: Pool, part: slice) -> Tensor:
    return normalize(pool[part].activations.float(), dim=1)


def _join(parent: Tensor, i: int, j: int) -> None:
    first, second = _root(parent, i), _root(parent, j)
    parent[max(first, second)] = min(first, second)


def _root(parent: Tensor, i: int) -> int:
    while (above := int(parent[i])) != i:
        parent[i] = parent[above]
        i = above
    return i


def _numbered(roots: Tensor) -> Tensor:
    """Roots [N] of groups of two or more, numbered in order; −1 for the rest."""
    first, inverse, sizes = roots.unique(sorted=True, return_inverse=True, return_counts=True)
    numbers = torch.full_like(first, -1)
    numbers[sizes > 1] = torch.arange(int((sizes > 1).sum()))
    return numbers[inverse]
