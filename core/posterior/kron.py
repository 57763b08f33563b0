"""Algebra of A ⊗ B without forming it, and its storage.

Axes: p input size of a head · D joint embedding size. A [p, p], B [D, D], both symmetric and positive semi-definite.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from core.values import KroneckerFactors


@dataclass(frozen=True, slots=True)
class EigenFactors:
    """Eigenvalues and vectors (columns) of A and B, ascending, in float64; they serve every τ and λ."""

    A_values: Tensor  # [p]
    A_vectors: Tensor  # [p, p]
    B_values: Tensor  # [D]
    B_vectors: Tensor  # [D, D]


def widen(tensor: Tensor) -> Tensor:
    """The tensor in float64, on its own device where that has float64 (MPS has not) and else on the CPU."""
    device = "cpu" if tensor.device.type == "mps" else tensor.device
    return tensor.to(device, torch.float64)


def eigen(factors: KroneckerFactors | EigenFactors) -> EigenFactors:
    """Eigendecomposition of both factors in float64; what is one already passes through.

    Negative eigenvalues of a positive semi-definite matrix are rounding and become 0. The newest few are kept by the
    factors' content: every round of a project has the same, and theirs is most of the time that loading one takes.
    """
    if isinstance(factors, EigenFactors):
        return factors
    A_values, A_vectors = _spectrum(_Content.of(factors.A))
    B_values, B_vectors = _spectrum(_Content.of(factors.B))
    return EigenFactors(A_values, A_vectors, B_values, B_vectors)


class _Content:
    """A matrix that equals another where their bytes do. The bytes are hashed: no matrix is kept alive by a cache."""

    def __init__(self, matrix: Tensor, digest: bytes):
        self.matrix: Tensor | None = matrix
        self._key = (digest, matrix.shape, matrix.dtype, matrix.device)

    @staticmethod
    def of(matrix: Tensor) -> _Content:
        data = matrix.detach().cpu().contiguous().view(torch.uint8).numpy()
        return _Content(matrix, hashlib.blake2b(data.tobytes()).digest())

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self._key == other._key


@lru_cache(maxsize=4)
def _spectrum(content: _Content) -> tuple[Tensor, Tensor]:
    matrix, content.matrix = content.matrix, None
    assert matrix is not None
    values, vectors = torch.linalg.eigh(widen(matrix))
    return values.clamp_min(0), vectors


def damped(values: Tensor, tau: float, prior_precision: float) -> Tensor:
    """Eigenvalues of √τ·F + √λ·I, from those of the factor F."""
    return tau**0.5 * values + prior_precision**0.5


def inverse_root(values: Tensor, vectors: Tensor) -> Tensor:
    """L with F⁻¹ = LLᵀ from the eigendecomposition of F; square, not triangular."""
    return vectors * values.rsqrt()


def pack_symmetric(matrix: Tensor) -> Tensor:
    """The upper triangle [p(p+1)/2] of a symmetric matrix, row by row."""
    rows, columns = torch.triu_indices(*matrix.shape, device=matrix.device)
    return matrix[rows, columns].contiguous()


def unpack_symmetric(packed: Tensor) -> Tensor:
    """The symmetric matrix [p, p] whose upper triangle `pack_symmetric` took."""
    size = int(((8 * len(packed) + 1) ** 0.5 - 1) / 2 + 0.5)
    rows, columns = torch.triu_indices(size, size, device=packed.device)
    matrix = packed.new_empty(size, size)
    matrix[rows, columns] = packed
    matrix[columns, rows] = packed
    return matrix


def pack_factors(prefix: str, factors: KroneckerFactors) -> dict[str, Tensor]:
    """Tensors to store for one head, named `prefix.A`, `prefix.B` (upper triangles) and `prefix.n` (int64)."""
    return {
        f"{prefix}.A": pack_symmetric(factors.A).cpu(),
        f"{prefix}.B": pack_symmetric(factors.B).cpu(),
        f"{prefix}.n": torch.tensor(factors.n, dtype=torch.int64),
    }


def unpack_factors(prefix: str, tensors: dict[str, Tensor]) -> KroneckerFactors:
    """The factors that `pack_factors` stored under `prefix`."""
    A, B = (unpack_symmetric(tensors[f"{prefix}.{name}"]) for name in "AB")
    return KroneckerFactors(A, B, int(tensors[f"{prefix}.n"]))
