"""EPIG over a pool of any size: the same greedy picks as `core.selection`, without a matrix of all pairs.

Axes: N pool images · M target images · k conditioned images · p input size of the image head.
Each image keeps the score it had when it was last computed and a bound on what it can be now; only images whose bound
reaches the best are computed again, from their features. EPIG may rise when another image is answered (κ'(x, x*) can
grow where κ(x, x*) was small), so an old score alone bounds nothing. With g = w(x, ·)∘κ(x, ·), EPIG = ‖g‖² and answers
since that lowered κ(x, x*) by Δ(x, x*) = u(x)·v(x*), v(x*) = Z a(x*), expanding ‖g − w∘Δ‖² and the triangle inequality
    EPIG' = EPIG − 2 u(x)·Zc(x) + ‖w∘Δ‖²,   c(x) = Σ_* w(x, x*)² κ(x, x*) a(x*)       EPIG' ≤ (√EPIG + ‖w∘Δ‖)²
    ‖w∘Δ‖² ≤ m(x)·Σ_* d_* Δ(x, x*)² = m(x)·uᵀ(V diag(d) Vᵀ)u,   m(x) = max_* w(x, x*)²/d_*,   d_* = tr(J_* S)
bound it from above. Only the last term is estimated, and SLACK covers rounding.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from core.acquisition.bald import label_information
from core.acquisition.table import Acquisition
from core.batches import Pick, count_non_finite
from core.greedy import Greedy
from core.kernel import ROWS, Index, Kernel, Pool, observe_all, slices
from core.values import Features

if TYPE_CHECKING:
    from core.posterior.laplace import Posterior

COLUMNS = 64  # answers since a score was computed that its bound accounts for; one more, and all are computed again
FIRST_BLOCK = 64  # images computed at once when looking for the best; doubled until it is found
SLACK = 1e-3  # of a bound, for rounding in float32


class BoundedRanker(Greedy):
    """`GreedyRanker` by EPIG for pools whose pairs do not fit in memory: N × (columns + C + 10) numbers.

    With `slopes`, c(x) takes p more for each image, and its bound is that much nearer: fewer are computed again.
    `scores()` computes what is not known, which is the whole pool in the worst case; `take` and `scores_at` do not.
    """

    score = Acquisition.EPIG

    def __init__(self, base: Kernel, columns: int = COLUMNS, slopes: bool = True):
        super().__init__(base)
        self._score = torch.full_like(base.variance, torch.nan)  # [N] when it was computed
        self._steepest = torch.zeros_like(base.variance)  # m(x) [N]
        self._moved = torch.full_like(base.variance, torch.inf)  # uᵀ(V diag(d) Vᵀ)u since then, [N]
        self._since = base.variance.new_zeros(len(base), columns)  # u(x) since then [N, columns]
        self._slopes = base.variance.new_empty(len(base), len(base.root)) if slopes else None  # c(x) [N, p]
        self._fallen = torch.zeros_like(base.variance)  # 2 u(x)·Zc(x) since then, [N]
        self._known = torch.zeros(len(base), dtype=torch.bool, device=base.variance.device)  # nothing moved since
        self._share = _share(base)  # d [M]
        self._start_over()

    @classmethod
    def from_posterior(
        cls,
        posterior: Posterior,
        pool: Pool,
        targets: Features,
        texts: Features,
        rho: float = 10.0,
        rows: int = ROWS,
        columns: int = COLUMNS,
        slopes: bool = True,
    ) -> BoundedRanker:
        """The ranker of `pool` towards `targets`; `pool` may stay on disk. Scores are computed when first asked for."""
        return cls(Kernel.of(posterior, pool, targets, texts, rho, rows), columns, slopes)

    @property
    def non_finite(self) -> int:
        """How many pool images have no finite score: broken features; they rank last and condition nothing."""
        self._compute_new()
        return count_non_finite(self._score)

    def fresh(self) -> BoundedRanker:
        """A ranker of the same kernel without any answer."""
        return BoundedRanker(self.base, self._since.shape[1], self._slopes is not None)

    def copy(self) -> BoundedRanker:
        """A ranker in the same state, independent of this one."""
        twin = copy.copy(self)
        twin._answers = self._answers.copy()
        for name in ("_variance", "_score", "_steepest", "_moved", "_since", "_slopes", "_fallen", "_known"):
            value = getattr(self, name)
            setattr(twin, name, None if value is None else value.clone())
        return twin

    def scores(self) -> Tensor:
        """EPIG in nats, second order, given the answers so far, [N]."""
        self._compute_new()
        self._compute((~self._known).nonzero()[:, 0])
        return self._score.clone()

    def scores_at(self, positions: Sequence[int]) -> Tensor:
        """The scores of these pool positions."""
        index = torch.as_tensor(positions, dtype=torch.int64, device=self._known.device)
        self._compute(index[~self._known[index]])
        return self._score[index]

    def condition(self, indices: Sequence[int]) -> None:
        """Take answers on these pool positions into account, whatever the answers are: one pass over the features."""
        base = self.base
        for z in observe_all(base, self._answers, indices):
            self._known.zero_()
            following = not self._moved.isinf().all() and self._used + len(z) <= self._since.shape[1]
            if following:
                self._follow(z)
            else:
                self._start_over()
            directions = base.unwhiten(z)
            for part in slices(len(base), base.rows):
                change = base.covariance(part, directions)  # [n, k]
                self._variance[part] -= change.square().sum(dim=1)
                if following:
                    self._move(part, change, z.to(change))

    def _start_over(self) -> None:
        """Follow no answer so far: every score is to be computed again, from the directions κ' now has."""
        self._used = 0
        self._targets = self._since.new_empty(0, len(self._share))  # v(x*) of the answers followed, [used, M]
        self._metric = self._since.new_empty(0, 0)  # V diag(d) Vᵀ
        self._moved.fill_(torch.inf)
        self._aim()

    def _aim(self) -> None:
        """L(I − ZᵀZ)a(x*) [p, M]: what κ' of any image towards the targets is made from."""
        self._directions = self.base.unwhiten(self._answers.lower(self.base.target_rows))

    def _follow(self, z: Tensor) -> None:
        self._targets = torch.cat([self._targets, z.to(self.base.root) @ self.base.target_rows.T])
        self._metric = self._targets * self._share @ self._targets.T
        self._used = len(self._targets)
        self._aim()

    def _move(self, part: slice, change: Tensor, z: Tensor) -> None:
        since = self._since[part, : self._used]
        since[:, self._used - change.shape[1] :] = change
        moved = (since @ self._metric * since).sum(dim=1).clamp_min(0)
        rounding = since.square() @ self._metric.diagonal()
        self._moved[part] = torch.where(self._moved[part].isinf(), torch.inf, moved + SLACK * rounding)
        if self._slopes is not None:
            self._fallen[part] += 2 * (change * (self._slopes[part] @ z.T)).sum(dim=1)

    def _compute_new(self) -> None:
        """The exact scores of all that have no bound, in the order in which they lie on the disk."""
        for part in slices(len(self.base), self.base.rows):
            new = self._moved[part].isinf()
            if new.all():
                self._compute_some(part)
            elif new.any():
                self._compute(part.start + new.nonzero()[:, 0])

    def _compute(self, index: Tensor) -> None:
        """The exact scores of these positions now."""
        for some in index.split(self.base.rows):
            if len(some):  # splitting nothing gives one empty part
                self._compute_some(some)

    def _compute_some(self, some: Index) -> None:
        weight = self.base.pair_weight(some)
        gain = self.base.covariance(some, self._directions).mul_(weight)  # [n, M]
        self._score[some] = gain.square().sum(dim=1)
        if self._slopes is not None:
            self._slopes[some] = gain.mul_(weight) @ self.base.target_rows
        if weight.numel():
            self._steepest[some] = weight.square_().div_(self._share).amax(dim=1)
        self._since[some] = 0
        self._moved[some] = 0
        self._fallen[some] = 0
        self._known[some] = True

    def _best(self, taken: Tensor) -> Pick | None:
        """The highest score outside `taken`: computes what could be it, the highest bounds first."""
        self._compute_new()
        bound = self._bounds().masked_fill_(taken.to(self._known.device), -torch.inf)
        block = FIRST_BLOCK
        while True:
            best = int(bound.argmax())
            if bound[best] == -torch.inf:
                return None
            if self._known[best]:
                return Pick(best, float(self._score[best]))
            reached = bound.masked_fill(~self._known, -torch.inf).max()
            could = bound.masked_fill(self._known, -torch.inf)
            some = could.topk(min(block, len(could))).indices
            some = (
                some[(could[some] >= reached) & (could[some] > -torch.inf)].sort().values
            )  # ties too, or it never ends
            self._compute(some)
            bound[some] = self._score[some].nan_to_num(nan=-torch.inf, posinf=-torch.inf)
            block *= 2

    def _bounds(self) -> Tensor:
        """[N]; where the score is known it is that, and −∞ where it is not finite."""
        moved = self._steepest * self._moved
        reach = (self._score.sqrt() + moved.sqrt()).square()
        if self._slopes is not None:
            reach = torch.minimum(reach, self._score - self._fallen + moved)
        reach += SLACK * self._score
        bound = torch.where(self._moved.isinf(), torch.inf, torch.where(self._known, self._score, reach))
        broken = ~self._variance.isfinite() | (self._moved.isfinite() & ~self._score.isfinite())
        return bound.masked_fill_(broken, -torch.inf)


def _share(base: Kernel) -> Tensor:
    """d_* = tr(J_* S) [M], none so small beside the others that it would make every bound loose."""
    information = label_information(base.target_probs, base.S)
    least = 1e-6 * float(information.max()) if len(information) else 0.0
    return information.clamp_min(max(least, torch.finfo(information.dtype).tiny))
