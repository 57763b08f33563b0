"""ProLIP's objective: contrastive, inclusion and variational terms.

Axes: N pairs of a batch · K of them masked too · D embedding size.
Defaults are the published training's. `exact=True` replaces two published values by what the paper's text says: H by
the integral itself, summed over the dimensions, and the variational term by the divergence of N(μ, σ²), where the
published code takes σ for σ².
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from core.prolip.inclusion import EPSILON, inclusion_by_dimension, log_inclusion
from core.prolip.similarity import csd_logits
from core.values import ProlipEmbeddings

TERMS = ("contrastive", "inclusion", "masked_image", "masked_text", "variational")
HALVES = (torch.float16, torch.bfloat16)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossWeights:
    """Weights and constants of the objective: ppcl·L + α_1·inclusion + α_2·(masked inclusions) + β·variational.

    An inclusion or variational term above its limit is left out of the step, as the published training does.
    Raises ValueError for a weight or limit below 0 or a scale not above 0.
    """

    contrastive: float = 1.0
    inclusion: float = 1e-7  # α_1: image ⊂ text
    masked: float = 1e-3  # α_2: original ⊂ masked
    variational: float = 1e-4  # β
    inclusion_scale: float = 1000.0  # c in −log σ(c·H)
    epsilon: float = EPSILON
    exact: bool = False
    inclusion_limit: float = 1e5
    variational_limit: float = 1e4

    def __post_init__(self) -> None:
        names = ("contrastive", "inclusion", "masked", "variational", "inclusion_limit", "variational_limit")
        for name in names:
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} = {getattr(self, name)}: a weight or limit of the objective is 0 or above")
        if not self.inclusion_scale > 0:
            raise ValueError(f"inclusion_scale = {self.inclusion_scale}: it must be above 0")


@dataclass(frozen=True, slots=True)
class ProlipLoss:
    """The objective and its terms, weighted, so that they sum to `total`; `ignored` names those over their limit."""

    total: Tensor
    contrastive: Tensor
    inclusion: Tensor
    masked_image: Tensor
    masked_text: Tensor
    variational: Tensor
    ignored: tuple[str, ...] = ()


def ppcl(logits: Tensor) -> Tensor:
    """Probabilistic pairwise contrastive loss −Σ log σ(±logit)/N of logits [N, N], own pairs on the diagonal."""
    if logits.ndim != 2 or logits.shape[0] != logits.shape[1] or not len(logits):
        raise ValueError(f"logits of N pairs are [N, N] with N of 1 or more, {list(logits.shape)} came")
    signs = 2 * torch.eye(len(logits), dtype=logits.dtype, device=logits.device) - 1
    return -logsigmoid(signs * logits).sum() / len(logits)


def inclusion_loss(
    inner: ProlipEmbeddings,
    outer: ProlipEmbeddings,
    *,
    scale: float = 1000.0,
    epsilon: float = EPSILON,
    exact: bool = False,
) -> Tensor:
    """−log σ(c·H(inner ⊂ outer)), the mean over pairs; published: over pairs and dimensions, each with its own H."""
    if exact:
        return -logsigmoid(scale * log_inclusion(inner, outer)).mean()
    return -logsigmoid(scale * inclusion_by_dimension(inner, outer, official=True, epsilon=epsilon)).mean()


def variational_loss(gaussians: ProlipEmbeddings, *, exact: bool = False) -> Tensor:
    """KL(N(μ, σ²) ‖ N(0, 1)) = ½(μ² + σ² − 1 − log σ²), the mean over rows and dimensions; published: σ for σ²."""
    log_variance = gaussians.log_variance if exact else gaussians.log_variance / 2
    return (gaussians.mean.square() + log_variance.exp() - 1 - log_variance).mean() / 2


def prolip_loss(
    images: ProlipEmbeddings,
    texts: ProlipEmbeddings,
    masked_images: ProlipEmbeddings | None = None,
    masked_texts: ProlipEmbeddings | None = None,
    masked_index: Tensor | None = None,
    *,
    scale: Tensor | float,
    bias: Tensor | float,
    weights: LossWeights = LossWeights(),
) -> ProlipLoss:
    """The whole objective of N image-text pairs, K of which were encoded once more with most of the input masked.

    `masked_index` [K] says which of the N; the first K where None. Half precision is computed in float32.
    Raises ValueError where the numbers of rows do not fit.
    """
    if len(images) != len(texts):
        raise ValueError(f"{len(images)} images and {len(texts)} texts are no pairs")
    images, texts = _full(images), _full(texts)
    limits = (weights.inclusion_limit, weights.variational_limit)
    terms = _Terms(images.mean.new_zeros(()))
    terms.add("contrastive", weights.contrastive, ppcl(csd_logits(images, texts, scale, bias)))
    terms.add("inclusion", weights.inclusion, _included(images, texts, weights), limits[0])
    for name, whole, masked in (("masked_image", images, masked_images), ("masked_text", texts, masked_texts)):
        if masked is not None and len(masked):
            originals = whole[_positions(masked_index, len(masked), len(whole))]
            terms.add(name, weights.masked, _included(originals, _full(masked), weights), limits[0])
    divergence = variational_loss(images, exact=weights.exact) + variational_loss(texts, exact=weights.exact)
    terms.add("variational", weights.variational, divergence, limits[1])
    return terms.sum()


def _included(inner: ProlipEmbeddings, outer: ProlipEmbeddings, weights: LossWeights) -> Tensor:
    return inclusion_loss(inner, outer, scale=weights.inclusion_scale, epsilon=weights.epsilon, exact=weights.exact)


class _Terms:
    """Weighted terms of a sum, each left out where its weight is 0 or its value is over its limit."""

    def __init__(self, zero: Tensor):
        self._values = dict.fromkeys(TERMS, zero)
        self._ignored: list[str] = []

    def add(self, name: str, weight: float, value: Tensor, limit: float = torch.inf) -> None:
        if weight == 0:
            return
        if value.detach().abs() > limit:
            self._ignored.append(name)
        else:
            self._values[name] = weight * value

    def sum(self) -> ProlipLoss:
        total = torch.stack(list(self._values.values())).sum()
        return ProlipLoss(total=total, **self._values, ignored=tuple(self._ignored))


def _full(gaussians: ProlipEmbeddings) -> ProlipEmbeddings:
    return gaussians.to(torch.float32) if gaussians.mean.dtype in HALVES else gaussians


def _positions(index: Tensor | None, count: int, total: int) -> Tensor:
    positions = torch.arange(count) if index is None else index
    if len(positions) != count or count > total:
        raise ValueError(f"{count} masked inputs came with {len(positions)} positions of a batch of {total}")
    return positions
