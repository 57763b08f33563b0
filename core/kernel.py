"""What ranking reads of a pool and no answer changes, and what answers change of it: κ in the whitened space.

Axes: N pool images · M target images · C classes · k answers · p input size of the image head.
Logits are jointly Gaussian, Cov(f(x), f(x*)) = κ(x, x*)·S, with κ(x, x*) = a(x)·a(x*) and a(x) = Lᵀφ/√e [p]. Answers
only change κ, to κ'(x, x*) = a(x)ᵀ(I − ZᵀZ)a(x*): a few rows Z [≤ 2p, p] hold any number of them, whatever N is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from core.acquisition.bald import label_information
from core.acquisition.epig import pair_information
from core.logits import class_covariance, expected_energy, posterior_logits, prob_cosine, probit, whitened
from core.values import Features

if TYPE_CHECKING:
    from core.posterior.laplace import Posterior

SHARPEST = 1e-3  # the largest signal-to-noise of one label, in units of 1/eps of the dtype
ROWS = 2048  # pool images in flight: a few MB for each temporary
ANSWERS_AT_ONCE = 512  # answers in one Cholesky block

Index = slice | Tensor


class Pool(Protocol):
    """Features of N images, read by slices or positions: `Features`, or shards that stay on disk."""

    def __len__(self) -> int: ...

    def __getitem__(self, index) -> Features: ...


def slices(total: int, size: int) -> Iterator[slice]:
    """Slices of at most `size` that cover range(total), in order."""
    for start in range(0, total, size):
        yield slice(start, min(start + size, total))


@dataclass(frozen=True, slots=True)
class Kernel:
    """What no answer changes; shared by every ranker made from it. N × (C + 5) numbers besides the pool itself."""

    pool: Pool
    root: Tensor  # L [p, p]
    reach: Tensor  # 1/√e [N]
    variance: Tensor  # κ(x, x) [N]
    probs: Tensor  # [N, C]
    model_weight: Tensor  # ½ tr(J_x S) [N]
    precision: Tensor  # of a label as a Gaussian observation, ω·tr(J_i S)/(C − 1) [N]
    S: Tensor  # [C, C]
    target_rows: Tensor  # a(x*) [M, p], non-finite targets left out
    target_probs: Tensor  # [M, C]
    dropped_targets: int  # targets left out because something in them is not finite
    rows: int  # pool images in flight

    @classmethod
    def of(
        cls,
        posterior: Posterior,
        pool: Pool,
        targets: Features,
        texts: Features,
        rho: float = 10.0,
        rows: int = ROWS,
        predictive: Posterior | None = None,
    ) -> Kernel:
        """One pass over the pool, `rows` images in flight. O(N·p·(p + D)).

        ρ is a label's signal-to-noise: ω is set so that the median of κ(i, i)·ω·tr(J_i S)/(C − 1) over the pool is ρ.
        J is at the predictive of the posterior, or of `predictive`, which may know of answers that κ is yet to be told.
        """
        predictive = predictive or posterior
        S = class_covariance(posterior, texts)
        reach, variance, probs = _described(posterior, predictive, pool, texts, rows)
        information = label_information(probs, S)  # tr(J_i S) [N]
        observed = information / (len(S) - 1)
        precision = _noise_scale(variance * observed, rho) * observed
        # κ' is exact to about eps·κ: a sharper observation would condition on rounding.
        precision = torch.minimum(precision, SHARPEST / torch.finfo(variance.dtype).eps / variance)
        target_rows, target_probs = whitened(posterior, targets), probit(posterior_logits(predictive, targets, texts))
        usable = target_rows.isfinite().all(dim=1) & target_probs.isfinite().all(dim=1)
        return cls(
            pool,
            posterior.image.A_root,
            reach,
            variance,
            probs,
            information / 2,
            precision,
            S,
            target_rows[usable],
            target_probs[usable],
            int((~usable).sum()),
            rows,
        )

    @classmethod
    def before_answers(
        cls, posterior: Posterior, pool: Pool, targets: Features, texts: Features, rho: float = 10.0
    ) -> Kernel:
        """For whoever conditions on all answers: κ of the curvature alone, J at the predictive, which knows them."""
        return cls.of(posterior.unconditioned(), pool, targets, texts, rho, predictive=posterior)

    def __len__(self) -> int:
        return len(self.variance)

    def covariance(self, index: Index, directions: Tensor) -> Tensor:
        """a(x)·d for pool images [n] and whitened directions given as L·d, [p, m]: [n, m]."""
        return (self.pool[index].activations.to(self.root) @ directions).mul_(self.reach[index, None])

    def whiten(self, index: Index) -> Tensor:
        """a(x) [n, p] of pool images."""
        return self.covariance(index, self.root)

    def unwhiten(self, directions: Tensor) -> Tensor:
        """L·dᵀ [p, m] of whitened directions [m, p]: what `covariance` takes."""
        return self.root @ directions.to(self.root).T

    def pair_weight(self, index: Index) -> Tensor:
        """√(½ tr(J_x S J_* S)/M) [n, M]: EPIG(x) is the squared norm of its product with κ."""
        traces = pair_information(self.probs[index], self.target_probs, self.S)
        return traces.div_(2 * max(1, len(self.target_rows))).sqrt_()


class Answers:
    """What answers on k images told: Z, with κ'(x, x*) = a(x)ᵀ(I − ZᵀZ)a(x*). In float64, at most 2p rows."""

    def __init__(self, size: int, device: torch.device | None = None):
        self.Z = torch.zeros(0, size, dtype=torch.float64, device=device)
        self.count = 0

    def copy(self) -> Answers:
        """The same state; `observe` on either leaves the other alone."""
        twin = Answers(0)
        twin.Z, twin.count = self.Z, self.count
        return twin

    def observe(self, rows: Tensor, precision: Tensor) -> Tensor:
        """Observe images of whitened rows a(i) [k, p] with precisions [k]; returns the rows z [k, p] that Z grows by.

        κ falls by (z·a(x))·(z·a(x*)) summed over them: one block of a Cholesky factorisation, so order does not matter.
        """
        rows, root = rows.double(), precision.double().sqrt()[:, None]
        reduced = self.lower(rows)
        noisy = root * (reduced @ rows.T) * root.T
        noisy.diagonal().add_(1)  # I + D½ κ' D½ stays well-conditioned where a label tells nothing
        new = torch.linalg.solve_triangular(torch.linalg.cholesky((noisy + noisy.T) / 2), root * reduced, upper=False)
        self.Z = torch.cat([self.Z, new])
        self.count += len(rows)
        if len(self.Z) > 2 * self.Z.shape[1]:
            self.Z = torch.linalg.qr(self.Z, mode="r").R  # the same ZᵀZ in p rows
        return new

    def lower(self, rows: Tensor) -> Tensor:
        """(I − ZᵀZ)·a for rows a [n, p], in float64."""
        rows = rows.double()
        return rows - rows @ self.Z.T @ self.Z


def observe_all(kernel: Kernel, answers: Answers, indices: Sequence[int]) -> Iterator[Tensor]:
    """Observe pool positions block by block, non-finite ones skipped; yields the new rows z of each block."""
    index = torch.as_tensor(indices, dtype=torch.int64, device=kernel.variance.device)
    for block in index[kernel.variance[index].isfinite()].split(ANSWERS_AT_ONCE):
        if len(block):
            yield answers.observe(kernel.whiten(block), kernel.precision[block])


def predictive(posterior: Posterior, pool: Pool, texts: Features, rows: int = ROWS) -> Tensor:
    """Probabilities [N, C] of a pool of any size, `rows` images in flight."""
    return _described(posterior, posterior, pool, texts, rows)[2]


def _described(
    posterior: Posterior, predictive: Posterior, pool: Pool, texts: Features, rows: int
) -> tuple[Tensor, Tensor, Tensor]:
    """1/√e [N] and κ(x, x) [N] of the posterior, and the probit probabilities [N, C] of the predictive."""
    head, class_embeddings = posterior.image, predictive.text.embed(texts)
    trace = head.B_inverse.diagonal().sum()
    reach, variance = (head.weight.new_empty(len(pool)) for _ in range(2))
    probs = head.weight.new_empty(len(pool), len(texts))
    for part in slices(len(pool), rows):
        images = head.embed(pool[part])
        energy = expected_energy(images)
        reach[part] = energy.rsqrt()
        variance[part] = images.variance.sum(dim=1) / trace / energy  # the embedding's variance is φᵀÃ⁻¹φ·diag(B̃⁻¹)
        told = images if predictive.image is head else predictive.image.embed(pool[part])
        probs[part] = probit(prob_cosine(told, class_embeddings, posterior.scale, posterior.bias))
    return reach, variance, probs


def _noise_scale(signal: Tensor, rho: float) -> float:
    """ω, so that the median of ω·signal over the images that carry any is ρ; 0 when none does."""
    signal = signal[signal.isfinite() & (signal > 0)]
    return float(rho / signal.median()) if len(signal) else 0.0
