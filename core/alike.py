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
    first = torch.arange(len(pool))  # [N], the first image of each one's group as far as it is known
    total = len(pool)
    for some in slices(total, ROWS):
        on_progress(some.start, total, "looking for duplicates")
        rows = _units(pool, some)
        for block in slices(total, BLOCK):
            if block.stop > some.start:
                near = rows @ _units(pool, block).T > threshold
                near &= first[some][:, None] != first[block]  # one group already
                i, j = near.nonzero().T
                first = joined(first, first[some][i], first[block][j])
    return numbered(first)


def _units(pool: Pool, part: slice) -> Tensor:
    return normalize(pool[part].activations.float(), dim=1)


def joined(first: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """`first` [N] with the groups of a [E] and b [E] put together: all pairs at once, each group to its smallest."""
    while len(a):
        first = first.scatter_reduce(0, torch.maximum(a, b), torch.minimum(a, b), "amin")
        while not torch.equal(first, further := first[first]):
            first = further
        a, b = first[a], first[b]
        a, b = a[a != b], b[a != b]
    return first


def numbered(first: Tensor) -> Tensor:
    """The groups [N] of two or more, numbered in the order of their first images; −1 for the rest."""
    groups, inverse, sizes = first.unique(sorted=True, return_inverse=True, return_counts=True)
    numbers = torch.full_like(groups, -1)
    numbers[sizes > 1] = torch.arange(int((sizes > 1).sum()))
    return numbers[inverse]
