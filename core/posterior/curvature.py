"""KFAC-GGN curvature of the contrastive loss, in closed form: no D × D matrix per image.

Axes: n embeddings of one side (whose head it is) · m embeddings of the other side · D joint embedding size ·
p input size of the head. After Baumann et al., "Post-hoc Probabilistic Vision-Language Models" (2024).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor
from torch.nn.functional import normalize

from core.errors import FactorMismatch
from core.posterior.kron import pack_factors, unpack_factors, widen
from core.tensorfile import write_atomically
from core.values import Features, Heads, KroneckerFactors

PRODUCT_BYTES = 128 * 2**20  # of one matrix of products; about four are alive at once


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
    rows: int | None = None,
) -> Tensor:
    """Σ_i H_i [D, D]: the loss's Gauss–Newton Hessian in each unnormalised embedding, summed over the batch.

    H_i = s² J_i Yᵀ Λ_i Y J_i with J_i = (I − ĝ_iĝ_iᵀ)/‖g_i‖ and Λ_i = diag(p_i) − p_i p_iᵀ (InfoNCE) or
    diag(σ(l_i)σ(−l_i)) (SigLIP). `embeddings` [n, D] and `others` [m, D] are unnormalised. `labels` [n], which of
    the others each belongs to, changes neither Hessian (the sigmoid's is even) and is accepted for that reason only.
    Works on `rows` embeddings at once, so that [n, m] never exists whole; every choice of `rows` gives the same sum but
    for rounding.
    """
    likelihood = Likelihood(likelihood)
    norms = embeddings.norm(dim=1, keepdim=True)
    unit, inverse = embeddings / norms, norms.square().reciprocal()  # ĝ [n, D], 1/‖g‖² [n, 1]
    y = normalize(others, dim=1)
    rows = rows or rows_at_once(len(y), y.element_size())
    spread, rest = y.new_zeros(len(y), 1), y.new_zeros(y.shape[1], y.shape[1])
    for some, weight in zip(unit.split(rows), inverse.split(rows), strict=True):
        column, part = _hessian_parts(some, weight, y, scale, bias, likelihood)
        spread += column
        rest += part
    total = y.T @ (spread * y) + rest
    return scale**2 * (total + total.T) / 2


def rows_at_once(m: int, element_size: int) -> int:
    """How many rows of an [n, m] matrix of numbers of `element_size` bytes fit in PRODUCT_BYTES."""
    return max(1, PRODUCT_BYTES // max(1, m * element_size))


def _hessian_parts(
    unit: Tensor, inverse: Tensor, y: Tensor, scale: float, bias: float, likelihood: Likelihood
) -> tuple[Tensor, Tensor]:
    """Of rows ĝ [n, D]: Σ_i p_ij/‖g_i‖² for each other [m, 1], and all of ΣH/s² but Yᵀ diag(that) Y, up to a transpose.

    With v_i = Σ_j p_ij c_ij y_j: X = Σ v_iĝ_iᵀ/‖g_i‖², q_i = v_i·ĝ_i, and z̄_i is Σ_j p_ij y_j without its part along
    ĝ_i. Of −X − Xᵀ only −2X is formed: the caller takes the symmetric part.
    """
    cosines = unit @ y.T  # [n, m]
    weights = pair_weights(scale * cosines + bias, likelihood)
    v = cosines.mul_(weights) @ y  # [n, D]
    q = (v * unit).sum(dim=1, keepdim=True)
    rest = (inverse * (q * unit - 2 * v)).T @ unit
    if likelihood is Likelihood.INFONCE:
        mean = weights @ y
        centred = mean - (mean * unit).sum(dim=1, keepdim=True) * unit  # z̄ [n, D]
        rest -= centred.T @ (inverse * centred)
    return weights.T @ inverse, rest


@dataclass(frozen=True, slots=True)
class FactorSums:
    """Σφφᵀ [p, p] and ΣH [D, D] of one head over n pairs, in float64 on the CPU; more pairs make a new value."""

    A: Tensor
    B: Tensor
    n: int

    @staticmethod
    def empty(p: int, D: int) -> FactorSums:
        """Of no pair."""
        return FactorSums(torch.zeros(p, p, dtype=torch.float64), torch.zeros(D, D, dtype=torch.float64), 0)

    def added(
        self,
        activations: Tensor,
        embeddings: Tensor,
        others: Tensor,
        scale: float,
        bias: float = 0.0,
        likelihood: Likelihood = Likelihood.INFONCE,
    ) -> FactorSums:
        """With one block more: `activations` [n, p], `embeddings` [n, D], `others` [m, D]; on any device."""
        phi = widen(activations)
        hessian = kfac_b(widen(embeddings), widen(others), scale, bias, likelihood)
        return FactorSums(self.A + (phi.T @ phi).cpu(), self.B + hessian.cpu(), self.n + len(phi))

    def plus(self, other: FactorSums) -> FactorSums:
        """Over the pairs of both."""
        return FactorSums(self.A + other.A, self.B + other.B, self.n + other.n)

    def factors(self) -> KroneckerFactors:
        """A = Σφφᵀ/√n and B = ΣH/√n in float64; raises ValueError of no pair."""
        if self.n == 0:
            raise ValueError("curvature needs one batch of image-text pairs or more, none came")
        return KroneckerFactors(self.A / self.n**0.5, self.B / self.n**0.5, self.n)


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
    sums = FactorSums.empty(0, 0)
    for activations, embeddings, others in batches:
        if sums.n == 0:
            sums = FactorSums.empty(activations.shape[1], embeddings.shape[1])
        sums = sums.added(activations, embeddings, others, scale, bias, likelihood)
    return sums.factors()


def likelihood_of(heads: Heads) -> Likelihood:
    """What a model was trained with: one with a logit bias with SigLIP's loss, any other with InfoNCE."""
    return Likelihood.SIGLIP if heads.bias else Likelihood.INFONCE


def add_pairs(
    sums: tuple[FactorSums, FactorSums],
    images: Features,
    texts: Features,
    heads: Heads,
    likelihood: Likelihood | None = None,
) -> tuple[FactorSums, FactorSums]:
    """Both heads' sums (image, text) with one block of pairs more, row i of `images` belonging to row i of `texts`.

    Each side's softmax runs over the whole block of the other. `likelihood` None is the model's own.
    """
    likelihood = likelihood or likelihood_of(heads)
    g, h = (_embed(side, weight) for side, weight in ((images, heads.image), (texts, heads.text)))
    image, text = sums
    return (
        image.added(images.activations, g, h, heads.scale, heads.bias, likelihood),
        text.added(texts.activations, h, g, heads.scale, heads.bias, likelihood),
    )


def no_pairs(heads: Heads) -> tuple[FactorSums, FactorSums]:
    """Both heads' sums before the first block."""
    (D, p), (_, q) = heads.image.shape, heads.text.shape
    return FactorSums.empty(p, D), FactorSums.empty(q, D)


def _embed(side: Features, weight: Tensor) -> Tensor:
    wide = Features(widen(side.activations), None if side.residuals is None else widen(side.residuals))
    return wide.embed(widen(weight).to(wide.activations.device))


def halved(factors: KroneckerFactors) -> KroneckerFactors:
    """In float32, which the features are in too: half the size of what was accumulated."""
    return KroneckerFactors(factors.A.float(), factors.B.float(), factors.n)


def check_fit(image: KroneckerFactors, text: KroneckerFactors, heads: Heads, came: str, model: str) -> None:
    """Raises FactorMismatch, naming the factors (`came`) and the `model`, unless their sizes are the heads'."""
    for side, factors, weight in (("image", image, heads.image), ("text", text, heads.text)):
        D, p = weight.shape
        if factors.A.shape != (p, p) or factors.B.shape != (D, D):
            raise FactorMismatch(
                f"{came} has {side} factors A {list(factors.A.shape)} and B {list(factors.B.shape)}, but {model} has "
                f"the {side} head [{D}, {p}], which needs A [{p}, {p}] and B [{D}, {D}]: use factors that were "
                f"estimated with {model}"
            )


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
