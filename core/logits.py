"""Logits and probabilities from Gaussian embeddings (ProbCosine), and joint draws as the cross-check.

Axes: N images · C classes · K posterior draws · D joint embedding size · p input size of a head.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import normalize

from core.values import Features, GaussianEmbeddings, GaussianLogits

if TYPE_CHECKING:
    from core.posterior.laplace import Posterior

DRAWS_AT_ONCE = 4_000_000  # numbers in flight in a Monte Carlo step: 16 MB in float32


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds of each class's probability, both [N, C]."""

    lower: Tensor
    upper: Tensor


def map_logits(image_embeddings: Tensor, text_embeddings: Tensor, scale: float, bias: float = 0.0) -> Tensor:
    """The model's own logits [N, C]: s·cos(g, h) + b for unnormalised embeddings [N, D] and [C, D]."""
    return scale * normalize(image_embeddings, dim=1) @ normalize(text_embeddings, dim=1).T + bias


def expected_energy(embeddings: GaussianEmbeddings) -> Tensor:
    """e = E‖g‖² = Σ_d mean² + variance, [N]."""
    return (embeddings.mean.square() + embeddings.variance).sum(dim=1)


def prob_cosine(
    images: GaussianEmbeddings, texts: GaussianEmbeddings, scale: float, bias: float = 0.0
) -> GaussianLogits:
    """Gaussian logits [N, C] of two sets of Gaussian embeddings.

    E[cos] = g·h/√(e_g e_h), Var[cos] = Σ_d ((g² + v_g) v_h + v_g h²)/(e_g e_h); mean s·E + b, variance s²·Var
    (ProbCosine: Baumann et al. 2024, "Post-hoc Probabilistic Vision-Language Models").

    These are exactly the moments of g·h/√(E‖g‖² E‖h‖²), whatever the variance. As moments of the cosine itself, whose
    norms are drawn too, they are approximate: the mean was within 0.006 (D = 16) and 0.003 (D = 256) at variances of
    0.001 to 10 times the squared mean, and the variance within 10 % where |cos| < 0.3. It is too large by up to
    1/(1 − cos²) where image and text are nearly parallel and the variance is small: movement along g does not turn it.
    Two logits of one image, or of two images, are correlated, which no variance here says (`joint_draws`).
    """
    energy = expected_energy(images)[:, None] * expected_energy(texts)  # [N, C]
    mean = images.mean @ texts.mean.T / energy.sqrt()
    variance = (images.mean.square() + images.variance) @ texts.variance.T + images.variance @ texts.mean.square().T
    return GaussianLogits(scale * mean + bias, scale**2 * variance / energy)


def posterior_logits(posterior: Posterior, images: Features, texts: Features) -> GaussianLogits:
    """Gaussian logits [N, C] of images and class texts under both heads' posteriors."""
    embedded = posterior.image.embed(images), posterior.text.embed(texts)
    return prob_cosine(*embedded, posterior.scale, posterior.bias)


def probit(logits: GaussianLogits) -> Tensor:
    """Predictive probabilities [N, C]: softmax(mean/√(1 + π/8·variance)) (MacKay 1992)."""
    return (logits.mean / (1 + math.pi / 8 * logits.variance).sqrt()).softmax(dim=1)


def _draw(logits: GaussianLogits, draws: int, rng: torch.Generator) -> Tensor:
    """Probabilities [draws, N, C] of logits drawn independently of each other."""
    noise = torch.randn(draws, *logits.mean.shape, generator=rng, dtype=logits.mean.dtype, device=rng.device)
    return (logits.mean + logits.variance.sqrt() * noise.to(logits.mean.device)).softmax(dim=-1)


def _portions(total: int, size: int) -> Iterator[int]:
    """Portions of at most DRAWS_AT_ONCE/size draws, summing to `total`."""
    portion = max(1, DRAWS_AT_ONCE // max(1, size))
    for start in range(0, total, portion):
        yield min(portion, total - start)


def monte_carlo(logits: GaussianLogits, draws: int, rng: torch.Generator) -> Tensor:
    """Predictive probabilities [N, C]: the mean softmax over `draws` draws of the logits."""
    total = torch.zeros_like(logits.mean)
    for portion in _portions(draws, logits.mean.numel()):
        total += _draw(logits, portion, rng).sum(dim=0)
    return total / draws


def interval(logits: GaussianLogits, rng: torch.Generator, *, level: float = 0.9, draws: int = 1000) -> Interval:
    """Credible interval of each class's probability: central quantiles of the softmax over draws of the logits.

    `level` 0.9 leaves 5 % on either side. The logits are drawn independently, as `prob_cosine` gives no covariance.
    Raises ValueError for a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"a credible level lies between 0 and 1, {level} came")
    bounds = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=logits.mean.dtype, device=logits.mean.device)
    rows = max(1, DRAWS_AT_ONCE // (draws * logits.mean.shape[1]))
    parts = [
        torch.quantile(_draw(GaussianLogits(mean, variance), draws, rng), bounds, dim=0)
        for mean, variance in zip(logits.mean.split(rows), logits.variance.split(rows), strict=True)
    ]
    return Interval(*torch.cat(parts, dim=1))


def class_covariance(posterior: Posterior, texts: Features) -> Tensor:
    """S = s²·Ĥ B̃⁻¹ Ĥᵀ [C, C], the classes' part of the logits' covariance; Ĥ are the normalised class texts."""
    directions = normalize(texts.to(posterior.text.weight).embed(posterior.text.weight), dim=1).to(
        posterior.image.weight
    )
    return posterior.scale**2 * directions @ posterior.image.B_inverse @ directions.T


def whitened(posterior: Posterior, images: Features, embedded: GaussianEmbeddings | None = None) -> Tensor:
    """Rows a(x) = φᵀL/√e_g [N, p], so that κ(x, x*) = a(x)·a(x*) and Cov(f(x), f(x*)) = κ(x, x*)·S.

    `embedded` are the images' embeddings under this posterior, for whoever has them already.
    """
    images = images.to(posterior.image.weight)
    energy = expected_energy(embedded or posterior.image.embed(images))
    return images.activations @ posterior.image.A_root / energy.sqrt()[:, None]


def joint_draws(posterior: Posterior, features: Features, texts: Features, K: int, rng: torch.Generator) -> Tensor:
    """Probabilities [N, K, C] under K draws of the image head, one draw serving all N images at once.

    f_k = mean + R_S E_k R_κᵀ with RRᵀ = S and κ: the head's own draws P + L_B E_k L_Aᵀ seen through the class texts, so
    only C × min(N, p) numbers are drawn: the quickest for a few images at once. Draws that serve several sets of
    images, or one set by chunks, come from core.draws.
    """
    logits = posterior_logits(posterior, features, texts)
    S = class_covariance(posterior, texts)
    rows = whitened(posterior, features)
    root = torch.linalg.qr(rows.T, mode="r").R.T  # [N, min(N, p)], RRᵀ = κ
    values, vectors = torch.linalg.eigh(S)
    S_root = vectors * values.clamp_min(0).sqrt()
    noise = torch.randn(K, S.shape[0], root.shape[1], generator=rng, dtype=S.dtype, device=rng.device).to(S.device)
    spread = torch.einsum("cd,kdr,nr->nkc", S_root, noise, root)
    return (logits.mean[:, None, :] + spread).softmax(dim=-1)
