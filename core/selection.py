"""Greedy ranking of the pool: each answer or pick conditions the scores of the rest, and no label value is read.

Axes: N pool images · M target images · k conditioned images · p input size of the image head.
A label on image i acts as a Gaussian observation of precision ω·w_i, w_i = tr(J_i S)/(C − 1):
κ'(x, x*) = κ(x, x*) − κ(x, i) κ(i, x*)/(κ(i, i) + 1/(ω w_i)). Here the matrix of all pairs stays in memory, which is
fastest where it fits; `core.bounded` ranks alike without it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from core.acquisition.bald import saturated, squared_information
from core.acquisition.table import SCORES, Acquisition
from core.batches import Pick, count_non_finite
from core.errors import UnknownName
from core.greedy import Greedy
from core.kernel import ROWS, Kernel, Pool, observe_all, slices
from core.values import Features

if TYPE_CHECKING:
    from core.posterior.laplace import Posterior

ROWS_AT_ONCE = 128  # rows of [N, M] updated while they are in the processor's cache


class GreedyRanker(Greedy):
    """Scores of the pool, conditioned on the images that have an answer.

    `copy()` keeps a state for a what-if and `fresh()` starts again without any answer, all sharing the kernel.
    """

    def __init__(
        self,
        base: Kernel,
        score: Acquisition,
        pairs: tuple[Tensor, Tensor] | None = None,
        squared: Tensor | None = None,
    ):
        super().__init__(base)
        self.score = score
        self._pairs = pairs  # √(½ tr(J_x S J_* S)/M), and its product with κ before any answer, both [N, M]; EPIG only
        self._squared = squared  # tr(J_x S J_x S) [N]; saturating BALD only
        self._gain = None if pairs is None else pairs[1].clone()  # EPIG(x) is a row's squared norm
        self._targeted = None if pairs is None else pairs[1].square().sum(dim=1)

    @classmethod
    def from_posterior(
        cls,
        posterior: Posterior,
        pool: Pool,
        targets: Features,
        texts: Features,
        score: Acquisition = Acquisition.EPIG,
        rho: float = 10.0,
        rows: int = ROWS,
    ) -> GreedyRanker:
        """The ranker of `pool` towards `targets` for the class texts; nothing is conditioned yet.

        ρ is a label's signal-to-noise, `rows` how many pool images are in flight. Takes O(N·M·(p + 4C)) and for EPIG
        keeps 3·N·M numbers. Raises UnknownName for a score that answers do not change.
        """
        return cls.of(Kernel.of(posterior, pool, targets, texts, rho, rows), score)

    @classmethod
    def of(cls, kernel: Kernel, score: Acquisition) -> GreedyRanker:
        """The ranker of a kernel by a score that answers change. Raises UnknownName for another."""
        score = check_conditions(score)
        if score is Acquisition.EPIG:
            return cls(kernel, score, pairs=_pairs(kernel))
        return cls(kernel, score, squared=_squared(kernel) if score is Acquisition.BALD_SATURATING else None)

    @staticmethod
    def memory(n: int, m: int, dtype: torch.dtype, score: Acquisition = Acquisition.EPIG) -> int:
        """Bytes that the pairs of n pool and m target images take."""
        return 3 * n * m * dtype.itemsize if score is Acquisition.EPIG else 0

    @property
    def non_finite(self) -> int:
        """How many pool images have no finite score: broken features; they rank last and condition nothing."""
        return count_non_finite(self.scores())

    def fresh(self) -> GreedyRanker:
        """A ranker of the same kernel without any answer."""
        return GreedyRanker(self.base, self.score, self._pairs, self._squared)

    def copy(self) -> GreedyRanker:
        """A ranker in the same state, independent of this one."""
        twin = copy.copy(self)
        twin._answers, twin._variance = self._answers.copy(), self._variance.clone()
        if self._gain is not None and self._targeted is not None:
            twin._gain, twin._targeted = self._gain.clone(), self._targeted.clone()
        return twin

    def scores(self) -> Tensor:
        """EPIG or BALD in nats given the answers so far, [N]."""
        if self._targeted is not None:  # EPIG
            return self._targeted.clone()
        if self._squared is not None:
            return saturated(self.variances(), 2 * self.base.model_weight, self._squared)
        return self.variances() * self.base.model_weight

    def scores_at(self, positions: Sequence[int]) -> Tensor:
        """The scores of these pool positions."""
        return self.scores()[list(positions)]

    def _best(self, taken: Tensor) -> Pick | None:
        scores = self.scores()
        scores[taken.to(scores.device) | ~scores.isfinite()] = -torch.inf
        best = int(scores.argmax())
        return None if scores[best] == -torch.inf else Pick(best, float(scores[best]))

    def condition(self, indices: Sequence[int]) -> None:
        """Take answers on these pool positions into account, whatever the answers are.

        The order, and one call or many, make no difference. Positions with non-finite features are skipped.
        """
        base = self.base
        for z in observe_all(base, self._answers, indices):
            directions, targets = base.unwhiten(z), z.to(base.root) @ base.target_rows.T  # [p, k], [k, M]
            for part in slices(len(base), base.rows):
                change = base.covariance(part, directions)  # [n, k]
                self._variance[part] -= change.square().sum(dim=1)
                self._lower_gain(part.start, change, targets)

    def _lower_gain(self, offset: int, change: Tensor, targets: Tensor) -> None:
        if self._gain is None or self._targeted is None or self._pairs is None:  # BALD has none of them
            return
        for part in slices(len(change), ROWS_AT_ONCE):
            rows = slice(offset + part.start, offset + part.stop)
            gain = self._gain[rows].addcmul_(change[part] @ targets, self._pairs[0][rows], value=-1)
            torch.sum(gain.square(), dim=1, out=self._targeted[rows])


def check_conditions(score: Acquisition) -> Acquisition:
    """The score, if answers change it; raises UnknownName for another."""
    if not SCORES[Acquisition(score)].conditions:
        others = ", ".join(each for each, about in SCORES.items() if about.conditions)
        raise UnknownName(f"{score!s} does not change with answers: rank by its scores, or choose one of {others}")
    return Acquisition(score)


def _pairs(kernel: Kernel) -> tuple[Tensor, Tensor]:
    """√(½ tr(J_x S J_* S)/M) and its product with κ, both [N, M]."""
    weight, gain = (kernel.root.new_empty(len(kernel), len(kernel.target_rows)) for _ in range(2))
    directions = kernel.unwhiten(kernel.target_rows)
    for part in slices(len(kernel), kernel.rows):
        weight[part] = kernel.pair_weight(part)
        torch.mul(kernel.covariance(part, directions), weight[part], out=gain[part])
    return weight, gain


def _squared(kernel: Kernel) -> Tensor:
    """tr(J_x S J_x S) [N]."""
    squared = torch.empty_like(kernel.model_weight)
    for part in slices(len(kernel), kernel.rows):
        squared[part] = squared_information(kernel.probs[part], kernel.S)
    return squared
