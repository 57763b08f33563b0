"""A pool whose features stay on disk: read when asked for, a block ahead, and never held whole.

Axes: N pool images · p input size of the image head · D joint embedding size.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from core.features import FeatureStore
from core.kernel import Pool, slices
from core.values import Features

BLOCK = 16_384  # rows read at once when going through the pool
IN_MEMORY = 0.4  # of the budget that features may take before they are left on disk


class StoredPool:
    """The stored features of N images, by position; slices are cut from a block that is kept until the next one."""

    def __init__(self, store: FeatureStore, sha256s: Sequence[str]):
        self._store, self._sha256s = store, tuple(sha256s)
        self._start, self._block = 0, store.load(self._sha256s[:BLOCK])

    def __len__(self) -> int:
        return len(self._sha256s)

    def __getitem__(self, index) -> Features:
        if not isinstance(index, slice):
            positions = index.tolist() if isinstance(index, torch.Tensor) else index
            return self._store.load([self._sha256s[position] for position in positions])
        start, stop, _ = index.indices(len(self))
        if not (self._start <= start and stop <= self._start + len(self._block)):
            self._start, self._block = start, self._store.load(self._sha256s[start : max(stop, start + BLOCK)])
        return self._block[start - self._start : stop - self._start]


def pool_features(store: FeatureStore, sha256s: Sequence[str], memory: int) -> Pool:
    """Features of a pool within `memory` bytes: in memory where they take less than 40 % of it, else left on disk."""
    pool = StoredPool(store, sha256s)
    size = len(pool) * sum(part.nelement() * part.element_size() for part in pool[:1].parts().values())
    return _held(pool) if size <= IN_MEMORY * memory else pool


def _held(pool: StoredPool) -> Features:
    """All of a pool, copied block by block: nothing larger than the result is made."""
    held = {name: part.new_empty(len(pool), part.shape[1]) for name, part in pool[:1].parts().items()}
    for rows in slices(len(pool), BLOCK):
        for name, part in pool[rows].parts().items():
            held[name][rows] = part
    return Features(**held)
