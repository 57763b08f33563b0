"""How alike two Gaussians are.

Axes: N images · M texts · D embedding size.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import normalize

from core.values import ProlipEmbeddings


def cosine(a: ProlipEmbeddings, b: ProlipEmbeddings) -> Tensor:
    """Cosine of the angle between the means, [N, M]; the variances play no part."""
    return normalize(a.mean, dim=1) @ normalize(b.mean, dim=1).T


def expected_cosine(a: ProlipEmbeddings, b: ProlipEmbeddings) -> Tensor:
    """μ_a·μ_b/√(E‖a‖² E‖b‖²) with E‖·‖² = ‖μ‖² + Σσ², [N, M]: the cosine, nearer 0 the vaguer either is.

    The first moment of ProbCosine (`core.logits.prob_cosine`), for Gaussians that come with their own variance.
    """
    energy = [each.mean.square().sum(dim=1) + each.uncertainty for each in (a, b)]
    return a.mean @ b.mean.T / (energy[0][:, None] * energy[1]).sqrt()


def csd_logits(
    images: ProlipEmbeddings, texts: ProlipEmbeddings, scale: Tensor | float, bias: Tensor | float
) -> Tensor:
    """s·(μ_v·μ_t − ½ Σ(σ_v² + σ_t²)) + b, [N, M]: the closed-form sampled distance as a logit.

    E‖v − t‖² = 2 − 2 μ_v·μ_t + Σ(σ_v² + σ_t²) for means of unit length, so a logit falls with distance and with
    either variance (Chun 2024, "Improved Probabilistic Image-Text Representations"; Chun et al. 2025, "ProLIP").
    """
    vagueness = (images.uncertainty[:, None] + texts.uncertainty) / 2  # [N, M]
    return scale * (images.mean @ texts.mean.T - vagueness) + bias
