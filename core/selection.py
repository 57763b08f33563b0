"""Greedy ranking of the pool: each answer or pick conditions the scores of the rest, and no label value is read.

Axes: N pool images · M target images · C classes · k conditioned images · p input size of the image head.
Logits are jointly Gaussian, Cov(f(x), f(x*)) = κ(x, x*)·S. A label on image i acts as a Gaussian observation of
precision ω·w_i, w_i = tr(J_i S)/(C − 1):  κ'(x, x*) = κ(x, x*) − κ(x, i) κ(i, x*)/(κ(i, i) + 1/(ω w_i)).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from core.acquisition.bald import label_information
from core.acquisition.epig import pair_information
from core.acquisition.table import Acquisition
from core.errors import UnknownName
from core.logits import class_covariance, posterior_logits, probit, whitened
from core.values import Features

if TYPE_CHECKING:
    from core.posterior.laplace import Posterior

SHARPEST = 1e-3  # the largest signal-to-noise of one label, in units of 1/eps of the dtype
ROWS_AT_ONCE = 128  # rows of [N, M] updated while they are in the processor's cache


def rank(scores: Tensor) -> Tensor:
    """Positions [N] by score [N], highest first; ties keep their order and non-finite scores come last."""
    return scores.masked_fill(~scores.isfinite(), -torch.inf).argsort(descending=True, stable=True)


def count_non_finite(scores: Tensor) -> int:
    """How many scores are NaN or infinite; say so wherever the ranking is shown."""
    return int((~scores.isfinite()).sum())


def power_sample(scores: Tensor, n: int, beta: float, rng: torch.Generator) -> list[int]:
    """n different positions drawn with weights score^β (Kirsch et al. 2021), by adding Gumbel noise to β·log score.

    Scores that are not finite and positive are never drawn, so fewer may come back.
    """
    logs = beta * scores.clamp_min(0).log()
    uniform = torch.rand(scores.shape, generator=rng, dtype=scores.dtype, device=rng.device).to(scores.device)
    noisy = logs - uniform.log().neg().log()
    order = rank(noisy)[:n]
    return order[noisy[order].isfinite()].tolist()


@dataclass(frozen=True, slots=True)
class RankerBase:
    """What no answer changes; shared by every ranker made from it."""

    pool_rows: Tensor  # a(x) = φᵀL/√e_g [N, p]: κ(x, x*) = a(x)·a(x*)
    target_rows: Tensor  # a(x*) [M, p], non-finite targets left out
    variance: Tensor  # κ(x, x) [N]
    model_weight: Tensor  # ½ tr(J_x S) [N]
    pair_weight: Tensor | None  # √(½ tr(J_x S J_* S)/M) [N, M]; EPIG only
    gain: Tensor | None  # pair_weight ∘ κ [N, M]: EPIG(x) is a row's squared norm
    precision: Tensor  # ω·w_i [N]
    dropped_targets: int  # targets left out because something in them is not finite


class GreedyRanker:
    """Scores of the pool, conditioned on the images that have an answer.

    `condition` and `pick` change this ranker; `copy()` keeps a state for a what-if and `fresh()` starts again without
    any answer, both sharing the base.
    """

    def __init__(self, base: RankerBase, score: Acquisition):
        self.base, self.score = base, score
        self._variance = base.variance.clone()
        self._gain = None if base.gain is None else base.gain.clone()
        self._targeted = None if base.gain is None else base.gain.square().sum(dim=1)
        self._pool_update = base.pool_rows.new_empty(0, len(base.pool_rows))  # Uᵀ, capacity × N
        self._target_update = base.pool_rows.new_empty(0, len(base.target_rows))  # Vᵀ, capacity × M
        self._count = 0

    @classmethod
    def from_posterior(
        cls,
        posterior: Posterior,
        pool: Features,
        targets: Features,
        texts: Features,
        score: Acquisition = Acquisition.EPIG,
        rho: float = 10.0,
    ) -> GreedyRanker:
        """The ranker of `pool` towards `targets` for the class texts; nothing is conditioned yet.

        ρ is a label's signal-to-noise: ω is set so that the median of κ(i, i)·ω·w_i over the pool is ρ. Takes
        O(N·M·(p + 4C)). Raises UnknownName for a score that answers do not change.
        """
        if score not in (Acquisition.EPIG, Acquisition.BALD):
            raise UnknownName(f"{score!s} does not change with answers: rank by its scores, or choose epig or bald")
        return cls(_base(posterior, pool, targets, texts, Acquisition(score), rho), Acquisition(score))

    @property
    def conditioned(self) -> int:
        """How many answers the scores are conditioned on."""
        return self._count

    @property
    def non_finite(self) -> int:
        """How many pool images have no finite score: broken features; they rank last and condition nothing."""
        return count_non_finite(self.scores())

    def fresh(self) -> GreedyRanker:
        """A ranker of the same base without any answer."""
        return GreedyRanker(self.base, self.score)

    def copy(self) -> GreedyRanker:
        """A ranker in the same state, independent of this one."""
        twin = copy.copy(self)
        for name in ("_variance", "_gain", "_targeted", "_pool_update", "_target_update"):
            value = getattr(self, name)
            setattr(twin, name, None if value is None else value.clone())
        return twin

    def scores(self) -> Tensor:
        """EPIG or BALD in nats, second order, given the answers so far, [N]."""
        if self._targeted is not None:  # EPIG
            return self._targeted.clone()
        return self._variance.clamp_min(0) * self.base.model_weight

    def variances(self) -> Tensor:
        """κ'(x, x) [N] given the answers so far: times S it is the covariance of an image's logits."""
        return self._variance.clamp_min(0)

    def pick(self, n: int, exclude: Iterable[int] = ()) -> list[int]:
        """The n best positions outside `exclude`, each conditioning the next; fewer when no finite score is left."""
        taken = torch.zeros(len(self._variance), dtype=torch.bool, device=self._variance.device)
        taken[list(exclude)] = True
        picks: list[int] = []
        while len(picks) < n:
            scores = self.scores()
            scores[taken | ~scores.isfinite()] = -torch.inf
            best = int(scores.argmax())
            if scores[best] == -torch.inf:
                break
            picks.append(best)
            taken[best] = True
            self.condition([best])
        return picks

    def condition(self, indices: Sequence[int]) -> None:
        """Take answers on these pool positions into account, whatever the answers are.

        One block of a Cholesky factorisation: the order, and one call or many, make no difference. Positions with
        non-finite features are skipped.
        """
        index = torch.as_tensor(indices, dtype=torch.int64, device=self._variance.device)
        index = index[self._variance[index].isfinite()]
        if len(index) == 0:
            return
        rows, size = self.base.pool_rows, self._count
        known = self._pool_update[:size, index].T  # Uᵢ [k', k]
        pool = torch.addmm(rows[index] @ rows.T, known, self._pool_update[:size], alpha=-1)  # κ'(i, x) [k', N]
        targets = torch.addmm(
            rows[index] @ self.base.target_rows.T, known, self._target_update[:size], alpha=-1
        )  # κ'(i, x*) [k', M]
        root = self.base.precision[index].sqrt()[:, None]
        noisy = root * pool[:, index] * root.T
        noisy.diagonal().add_(1)  # I + D½ κ' D½ stays well-conditioned where a label tells nothing
        lower = torch.linalg.cholesky((noisy + noisy.T) / 2)
        pool, targets = (torch.linalg.solve_triangular(lower, root * part, upper=False) for part in (pool, targets))
        self._variance -= pool.square().sum(dim=0)
        self._lower_gain(pool, targets)
        self._remember(pool, targets)

    def _lower_gain(self, pool: Tensor, targets: Tensor) -> None:
        whole, targeted, weight = self._gain, self._targeted, self.base.pair_weight
        if whole is None or targeted is None or weight is None:  # BALD has none of them
            return
        for start in range(0, len(whole), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            change = pool[:, rows].T @ targets  # [rows, M]
            gain = whole[rows].addcmul_(change, weight[rows], value=-1)
            torch.sum(gain.square(), dim=1, out=targeted[rows])

    def _remember(self, pool: Tensor, targets: Tensor) -> None:
        size = self._count + len(pool)
        if size > len(self._pool_update):
            self._pool_update = _grown(self._pool_update, self._count, 2 * size)
            self._target_update = _grown(self._target_update, self._count, 2 * size)
        self._pool_update[self._count : size] = pool
        self._target_update[self._count : size] = targets
        self._count = size


def _grown(buffer: Tensor, used: int, capacity: int) -> Tensor:
    grown = buffer.new_empty(capacity, buffer.shape[1])
    grown[:used] = buffer[:used]
    return grown


def _base(
    posterior: Posterior, pool: Features, targets: Features, texts: Features, score: Acquisition, rho: float
) -> RankerBase:
    S = class_covariance(posterior, texts)
    pool_probs, target_probs = (probit(posterior_logits(posterior, part, texts)) for part in (pool, targets))
    pool_rows, target_rows = whitened(posterior, pool), whitened(posterior, targets)
    usable = target_rows.isfinite().all(dim=1) & target_probs.isfinite().all(dim=1)
    target_rows, target_probs = target_rows[usable], target_probs[usable]
    information = label_information(pool_probs, S)  # tr(J_i S) [N]
    variance = pool_rows.square().sum(dim=1)
    weight = gain = None
    if score is Acquisition.EPIG:
        traces = pair_information(pool_probs, target_probs, S)  # [N, M]
        weight = traces.div_(2 * max(1, len(target_rows))).sqrt_()
        gain = (pool_rows @ target_rows.T).mul_(weight)
    observed = information / (len(S) - 1)
    precision = _noise_scale(variance * observed, rho) * observed
    # κ' is exact to about eps·κ: a sharper observation would condition on rounding, and its pivot could turn negative.
    precision = torch.minimum(precision, SHARPEST / torch.finfo(variance.dtype).eps / variance)
    dropped = int((~usable).sum())
    return RankerBase(pool_rows, target_rows, variance, information / 2, weight, gain, precision, dropped)


def _noise_scale(signal: Tensor, rho: float) -> float:
    """ω, so that the median of ω·signal over the images that carry any is ρ; 0 when none does."""
    signal = signal[signal.isfinite() & (signal > 0)]
    return float(rho / signal.median()) if len(signal) else 0.0
