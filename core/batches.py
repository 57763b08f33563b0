"""What a batch may hold: an order of the pool, and limits that keep duplicates and full groups out.

Axes: N pool images · p input size of the image head.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn.functional import normalize

from core.kernel import ROWS, Index, Pool, slices

# Measured with mini on PACS: of the 4.6 million pairs of 3,021 images 4 lie over 0.96, each the same picture saved
# again or mirrored; the nearest different pictures lie at 0.95. Over 0.96 are 96 % of copies made 10 % brighter, 83 %
# of those saved as JPEG 75, 77 % of the mirrored and 73 % of those with 2 % cut off each side.
NEAR = 0.96
SWEEP = 20  # duplicates proposed before the whole pool is searched for more


class Pick(NamedTuple):
    """A pool position and its score when its turn came."""

    position: int
    score: float


def rank(scores: Tensor) -> Tensor:
    """Positions [N] by score [N], highest first; ties keep their order and non-finite scores come last."""
    return scores.masked_fill(~scores.isfinite(), -torch.inf).argsort(descending=True, stable=True)


def count_non_finite(scores: Tensor) -> int:
    """How many scores are NaN or infinite; say so wherever the ranking is shown."""
    return int((~scores.isfinite()).sum())


def power_order(scores: Tensor, beta: float, rng: torch.Generator) -> list[int]:
    """Positions in an order drawn with weights score^β (Kirsch et al. 2021), by adding Gumbel noise to β·log score.

    Scores that are not finite and positive are never drawn.
    """
    logs = beta * scores.clamp_min(0).log()
    uniform = torch.rand(scores.shape, generator=rng, dtype=scores.dtype, device=rng.device).to(scores.device)
    noisy = logs - uniform.log().neg().log()
    order = rank(noisy)
    return order[noisy[order].isfinite()].tolist()


@dataclass(frozen=True, slots=True)
class Quota:
    """At most `limit` images of each group in a batch; `groups` [N] numbers the group of each pool image."""

    groups: Tensor
    limit: int

    @classmethod
    def of(cls, names: Iterable[Hashable], limit: int) -> Quota:
        """A quota by any names: the sha256 of each file with limit 1 keeps exact duplicates apart."""
        numbers: dict[Hashable, int] = {}
        return cls(torch.tensor([numbers.setdefault(name, len(numbers)) for name in names]), limit)


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """Pool images whose activations point the same way: the cosine is over `threshold`."""

    pool: Pool
    threshold: float = NEAR

    def among(self, position: int, others: Sequence[int]) -> bool:
        """Whether the image at `position` is a near duplicate of one of the others. Broken features are of none."""
        if not others:
            return False
        rows = self.pool[torch.tensor([position, *others])].activations.float()
        cosines = normalize(rows[1:], dim=1) @ normalize(rows[0], dim=0)
        return bool((cosines > self.threshold).any())


class Held:
    """Images that are answered or on somebody's screen: their exact and near duplicates are to wait.

    Duplicates are found one by one, as they are proposed; after SWEEP of them, all others of the pool in one pass.
    `deferred` [N] marks those found.
    """

    def __init__(self, pool: Pool, files: Sequence[Hashable], threshold: float = NEAR):
        self.deferred = torch.zeros(len(pool), dtype=torch.bool)
        self._pool, self._threshold = pool, threshold
        self._file = Quota.of(files, limit=1).groups  # [N]
        self._held_files = torch.zeros(len(files), dtype=torch.bool)
        self._positions: set[int] = set()
        self._rows: Tensor | None = None  # unit rows [k, p] of the images held
        self._swept, self._found = 0, 0  # rows that the pool was searched by; duplicates found since

    def hold(self, positions: Iterable[int]) -> None:
        """These pool positions are answered or on a screen from here on."""
        new = [position for position in dict.fromkeys(positions) if position not in self._positions]
        if not new:
            return
        rows = self._unit(torch.tensor(new))
        self._rows = rows if self._rows is None else torch.cat([self._rows, rows])
        self._held_files[self._file[new]] = True
        self._positions |= set(new)

    def among(self, position: int, others: Sequence[int]) -> bool:
        """Whether the image at `position` is a duplicate of one held; the others are held from here on."""
        self.hold(others)
        if not self._are_copies(torch.tensor([position]), 0)[0]:
            return False
        self.deferred[position] = True
        self._found += 1
        if self._found >= SWEEP and self._rows is not None:
            for part in slices(len(self._pool), ROWS):
                self.deferred[part] |= self._are_copies(part, self._swept)
            self._swept, self._found = len(self._rows), 0
        return True

    def _are_copies(self, index: Index, since: int) -> Tensor:
        """Whether each of n images is the file of one held, or near one of those held since that many were, [n]."""
        same = self._held_files[self._file[index]]
        if self._rows is None:
            return same
        return same | (self._unit(index) @ self._rows[since:].T > self._threshold).any(dim=1)

    def _unit(self, index: Index) -> Tensor:
        return normalize(self._pool[index].activations.float(), dim=1)


class Near(Protocol):
    """Whether an image is too near others that are in the batch."""

    def among(self, position: int, others: Sequence[int]) -> bool: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What keeps an image out of a batch, given what is in it."""

    quotas: tuple[Quota, ...] = ()
    near: Near | None = None

    def refuse(self, position: int, picked: Sequence[int], taken: Tensor) -> bool:
        """Whether this image is too near one of those picked; what is known to be so too is marked in `taken` [N]."""
        if self.near is None or not self.near.among(position, picked):
            return False
        if isinstance(self.near, Held):
            taken |= self.near.deferred
        return True

    def close(self, taken: Tensor, picked: Sequence[int]) -> None:
        """Mark in `taken` [N] the rest of every group that the last pick filled."""
        for quota in self.quotas:
            group = quota.groups[picked[-1]]
            if int((quota.groups[list(picked)] == group).sum()) >= quota.limit:
                taken |= (quota.groups == group).to(taken.device)


ANYTHING = Limits()


def fill(
    n: int,
    size: int,
    exclude: Iterable[int],
    limits: Limits,
    best: Callable[[Tensor], Pick | None],
    then: Callable[[int], None] = lambda position: None,
) -> list[Pick]:
    """Up to n picks: `best(taken)` proposes from positions not in the mask [N], `then` hears of each that is kept.

    Fewer come when nothing is left within the limits.
    """
    taken = torch.zeros(size, dtype=torch.bool)
    taken[list(exclude)] = True
    picks: list[Pick] = []
    positions: list[int] = []
    while len(picks) < n and (pick := best(taken)) is not None:
        taken[pick.position] = True
        if limits.refuse(pick.position, positions, taken):
            continue
        picks.append(pick)
        positions.append(pick.position)
        limits.close(taken, positions)
        then(pick.position)
    return picks


def in_order(order: Iterable[int], scores: Tensor) -> Callable[[Tensor], Pick | None]:
    """The `best` of a fixed order: the next position that is not taken. To be used once."""
    rest = iter(order)

    def best(taken: Tensor) -> Pick | None:
        position = next((each for each in rest if not taken[each]), None)
        return None if position is None else Pick(position, float(scores[position]))

    return best
