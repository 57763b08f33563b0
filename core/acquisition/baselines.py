"""The scores that every active-learning paper compares with: they look at one image's prediction alone.

Axes: N images · C classes · D joint embedding size. Higher is more worth asking, everywhere.
"""

from __future__ import annotations

import torch
from torch import Tensor


def least_confidence(probs: Tensor) -> Tensor:
    """1 − max_c p_c, from 0 to 1 − 1/C, [N], for probs [N, C] (Lewis and Gale 1994)."""
    return 1 - probs.max(dim=1).values


def margin(probs: Tensor) -> Tensor:
    """1 − (p₁ − p₂) of the two likeliest classes, from 0 to 1, [N], for probs [N, C] (Scheffer et al. 2001)."""
    first, second = probs.topk(2, dim=1).values.unbind(dim=1)
    return 1 - (first - second)


def logit_variance(variance: Tensor) -> Tensor:
    """Mean over the classes of the logits' variance [N, C], in logits², [N]."""
    return variance.mean(dim=1)


def own_uncertainty(log_variance: Tensor) -> Tensor:
    """Σσ² over the dimensions of an encoder's own log σ² [N, D], [N] (Chun et al. 2025)."""
    return log_variance.exp().sum(dim=1)


def random(n: int, rng: torch.Generator) -> Tensor:
    """Uniform numbers [n]: no preference."""
    return torch.rand(n, generator=rng, device=rng.device)
