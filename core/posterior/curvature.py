"""KFAC-GGN curvature of the contrastive loss, in closed form: no D × D matrix per image.

Axes: n embeddings of one side (whose head it is) · m embeddings of the other side · D joint embedding size ·
p input size of the head. After Baumann et al., "Post-hoc Probabilistic Vision-Language Models" (2024).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor
from torch.nn.functional import normalize

from core.errors import FactorMismatch
from core.posterior.kron import pack_factors, unpack_factors, widen
from core.tensorfile import write_atomically
from core.values import KroneckerFactors


class Likelihood(StrEnum):
    """What the model was trained with: a softmax over the other side, or independent pairs."""

    INFONCE = "infonce"
    SIGLIP = "siglip"


def pair_weights(logits: Tensor, likelihood: Likelihood) -> Tensor:
    """Per-pair curvature [n, m] at logits [n, m]: softmax probabilities (InfoNCE), or σ(l)σ(−l) (SigLIP)."""
    if likelihood is Likelihood.INFONCE:
        return logits.softmax(dim=1)
    return logits.sigmoid() * (-logits).sigmoid()


def kfac_b(
    embeddings: Tensor,
    others: Tensor,
    scale: float,
    bias: float = 0.0,
    likelihood: Likelihood = Likelihood.INFONCE,
    labels: Tensor | None = None,
) -> Tensor:
    """Σ_i H_i [D, D]: the loss's Gauss–Newton Hessian in each unnormalised embedding, summed over the batch.

    H_i = s² J_i Yᵀ Λ_i Y J_i with J_i = (I − ĝ_iĝ_iᵀ)/‖g_i‖ and Λ_i = diag(p_i) − p_i p_iᵀ (InfoNCE) or
    diag(σ(l_i)σ(−l_i)) (SigLIP). `embeddings` [n, D] and `others` [m, D] are unnormalised. `labels` [n], which of
    the others each belongs to, changes neither Hessian (the sigmoid's is even) and is accepted for that reason only.
    """
    likelihood = Likelihood(likelihood)
    norms = embeddings.norm(dim=1, keepdim=True)
    unit, y = embeddings / norms, normalize(others, dim=1)
    cosines = unit @ y.T  # [n, m]
    weights = pair_weights(scale * cosines + bias, likelihood)
    inverse = norms.square().reciprocal()  # 1/‖g_i‖² [n, 1]
    weighted_cosines = weights * cosines
    cross = (weighted_cosines @ y * inverse).T @ unit  # X [D, D]
    total = y.T @ ((weights * inverse).sum(dim=0)[:, None] * y) - cross - cross.T
    total += unit.T @ ((weighted_cosines * cosines).sum(dim=1, keepdim=True) * inverse * unit)
    if likelihood is Likelihood.INFONCE:
        centred = weights @ y - weighted_cosines.sum(dim=1, keepdim=True) * unit  # z̄ [n, D]
        total -= centred.T @ (inverse * centred)
    return scale**2 * (total + total.T) / 2


def estimate_factors(
    batches: Iterable[tuple[Tensor, Tensor, Tensor]],
    scale: float,
    bias: float = 0.0,
    likelihood: Likelihood = Likelihood.INFONCE,
) -> KroneckerFactors:
    """A = Σφφᵀ/√n and B = ΣH/√n over a stream of (activations [n, p], embeddings [n, D], others [m, D]).

    The others of a batch are the texts (or images) its softmax runs over, so the batch size belongs to the estimate.
    Accumulates in float64, and returns float64. Raises ValueError on an empty stream.
    """
    A = B = torch.zeros(())  # takes the shape, type and device of what is added
    n = 0
    for activations, embeddings, others in batches:
        activations = widen(activations)
        A = A + activations.T @ activations
        B = B + kfac_b(widen(embeddings), widen(others), scale, bias, likelihood)
        n += len(activations)
    if n == 0:
        raise ValueError("curvature needs one batch of image-text pairs or more, none came")
    return KroneckerFactors(A / n**0.5, B / n**0.5, n)


def save_factors(
    path: str | Path, image: KroneckerFactors, text: KroneckerFactors, metadata: dict[str, str] | None = None
) -> None:
    """Both heads' factors in one safetensors file, upper triangles only, with `metadata` beside them."""
    write_atomically(path, pack_factors("image", image) | pack_factors("text", text), metadata or {})


def load_factors(path: str | Path) -> tuple[KroneckerFactors, KroneckerFactors, dict[str, str]]:
    """(image, text, metadata) as `save_factors` wrote them; raises FactorMismatch when the file holds no factors."""
    with safe_open(str(path), framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        metadata = dict(file.metadata() or {})
    try:
        return unpack_factors("image", tensors), unpack_factors("text", tensors), metadata
    except KeyError as error:
        raise FactorMismatch(f"{path} holds no Kronecker factors ({error} is missing): estimate them again") from error


def load_official(folder: str | Path, n: int) -> tuple[KroneckerFactors, KroneckerFactors]:
    """(image, text) factors in the layout that the paper's authors publish: `A_img_analytic.pt` and so on.

    Those files do not say from how many pairs they come, so `n` is the caller's.
    """
    folder = Path(folder)

    def read(name: str) -> Tensor:
        return torch.load(folder / f"{name}_analytic.pt", map_location="cpu", weights_only=True)

    return (
        KroneckerFactors(read("A_img"), read("B_img"), n),
        KroneckerFactors(read("A_txt"), read("B_txt"), n),
    )
