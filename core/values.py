"""Frozen values that pass between the stages.

Axes: N images · M targets · C classes · D joint embedding size · p input size of a head (bias column included).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Progress = Callable[[int, int, str], None]
"""on_progress(done, total, message); may raise `Cancelled`."""


def silent(done: int, total: int, message: str) -> None:
    """The progress callback that says nothing."""


@dataclass(frozen=True, slots=True)
class Features:
    """What a tower hands to its linear head, encoded once per image or text.

    `activations` [N, p], a trailing 1 included where the head has a bias. `residuals` [N, D] are added
    after the head (SigLIP's attention pool), or None.
    """

    activations: Tensor
    residuals: Tensor | None = None

    def __len__(self) -> int:
        return self.activations.shape[0]

    def __getitem__(self, index) -> Features:
        rows = None if self.residuals is None else self.residuals[index]
        return Features(self.activations[index], rows)

    def to(self, *args, **kwargs) -> Features:
        rows = None if self.residuals is None else self.residuals.to(*args, **kwargs)
        return Features(self.activations.to(*args, **kwargs), rows)

    def embed(self, weight: Tensor) -> Tensor:
        """Unnormalised embeddings [N, D] under a head `weight` [D, p]."""
        embeddings = self.activations @ weight.T
        return embeddings if self.residuals is None else embeddings + self.residuals

    @staticmethod
    def cat(parts: list[Features]) -> Features:
        """The rows of `parts`, one after the other."""
        residuals = [part.residuals for part in parts if part.residuals is not None]
        assert len(residuals) in (0, len(parts)), "parts of one head all have residuals or none has"
        return Features(torch.cat([part.activations for part in parts]), torch.cat(residuals) if residuals else None)


@dataclass(frozen=True, slots=True)
class Heads:
    """The two linear heads and the logit map: logit = scale · cos + bias."""

    image: Tensor  # [D, p]
    text: Tensor  # [D, p']
    scale: float  # s = exp(logit_scale)
    bias: float = 0.0


@dataclass(frozen=True, slots=True)
class KroneckerFactors:
    """KFAC-GGN curvature of one head: A = Σφφᵀ/√n [p, p], B = ΣH/√n [D, D], from n pairs (MATH.md §2)."""

    A: Tensor
    B: Tensor
    n: int


@dataclass(frozen=True, slots=True)
class GaussianEmbeddings:
    """Unnormalised embeddings as diagonal Gaussians, both [N, D]."""

    mean: Tensor
    variance: Tensor


@dataclass(frozen=True, slots=True)
class GaussianLogits:
    """Logits as diagonal Gaussians, both [N, C]."""

    mean: Tensor
    variance: Tensor
