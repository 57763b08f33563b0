"""Frozen values that pass between the stages.

Axes: N images · M targets · C classes · D joint embedding size · p input size of a head (bias column included).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

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
    after the head (SigLIP's attention pool), or None. `log_variance` [N, D] is the encoder's own log σ² of each
    embedding (ProLIP's [UNC] output), or None.
    """

    activations: Tensor
    residuals: Tensor | None = None
    log_variance: Tensor | None = None

    def __len__(self) -> int:
        return self.activations.shape[0]

    def __getitem__(self, index) -> Features:
        return Features(**{name: part[index] for name, part in self.parts().items()})

    def to(self, *args, **kwargs) -> Features:
        return Features(**{name: part.to(*args, **kwargs) for name, part in self.parts().items()})

    def parts(self) -> dict[str, Tensor]:
        """The tensors that are there, by their names."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: tensor for name, tensor in found.items() if tensor is not None}

    def embed(self, weight: Tensor) -> Tensor:
        """Unnormalised embeddings [N, D] under a head `weight` [D, p]."""
        embeddings = self.activations @ weight.T
        return embeddings if self.residuals is None else embeddings + self.residuals

    @staticmethod
    def cat(parts: list[Features]) -> Features:
        """The rows of `parts`, one after the other."""
        tensors = [part.parts() for part in parts]
        assert len({frozenset(part) for part in tensors}) == 1, "parts of one encoder have the same tensors"
        return Features(**{name: torch.cat([part[name] for part in tensors]) for name in tensors[0]})


@dataclass(frozen=True, slots=True)
class ProlipEmbeddings:
    """Images or texts as N Gaussians with diagonal covariance (ProLIP, MATH.md §9).

    `mean` [N, D] of unit length, `log_variance` [N, D]. Raises ValueError where the two are not of one shape [N, D].
    """

    mean: Tensor
    log_variance: Tensor

    def __post_init__(self) -> None:
        mean, log_variance = tuple(self.mean.shape), tuple(self.log_variance.shape)
        if len(mean) != 2 or mean != log_variance:
            raise ValueError(f"mean {mean} and log-variance {log_variance} must both be [N, D]")

    def __len__(self) -> int:
        return self.mean.shape[0]

    def __getitem__(self, index) -> ProlipEmbeddings:
        """Some of the Gaussians, by position, slice, mask or positions; one position gives N = 1."""
        if isinstance(index, int):
            index = [index]
        return ProlipEmbeddings(self.mean[index], self.log_variance[index])

    def to(self, *args, **kwargs) -> ProlipEmbeddings:
        return ProlipEmbeddings(self.mean.to(*args, **kwargs), self.log_variance.to(*args, **kwargs))

    @property
    def dimension(self) -> int:
        return self.mean.shape[1]

    @property
    def variance(self) -> Tensor:
        """σ² [N, D]."""
        return self.log_variance.exp()

    @property
    def uncertainty(self) -> Tensor:
        """Σσ² over the dimensions, [N]."""
        return self.variance.sum(dim=1)

    @staticmethod
    def joined(parts: list[ProlipEmbeddings]) -> ProlipEmbeddings:
        """The Gaussians of `parts`, one after the other."""
        return ProlipEmbeddings(
            torch.cat([part.mean for part in parts]), torch.cat([part.log_variance for part in parts])
        )


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
