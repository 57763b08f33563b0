"""What a prediction's doubt is made of: what answers could remove (epistemic) and what would stay (aleatoric).

Axes: N images · C classes · K draws.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from core.acquisition.bald import bald_monte_carlo
from core.acquisition.entropy import entropy
from core.draws import HeadDraws
from core.values import Features

HELD = 64_000_000  # probabilities held at once: 256 MB in float32


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """The predictive of N images and its doubt, split twice; in either, the two parts sum to the whole.

    In nats: H[p̄] = mean_k H[p_k] (aleatoric) + mutual information of label and heads (epistemic). As variances of the
    one-hot label, summed over the classes: Σ p̄(1 − p̄) = mean_k Σ p_k(1 − p_k) + Σ Var_k[p_k].
    """

    probs: Tensor  # p̄ [N, C]
    aleatoric: Tensor  # [N], nats
    epistemic: Tensor  # [N], nats
    aleatoric_variance: Tensor  # [N]
    epistemic_variance: Tensor  # [N]


def split(probs: Tensor) -> Uncertainty:
    """The parts from draws of probabilities [N, K, C]."""
    mean = probs.mean(dim=1)
    return Uncertainty(
        probs=mean,
        aleatoric=entropy(probs).mean(dim=1),
        epistemic=bald_monte_carlo(probs),
        aleatoric_variance=(probs * (1 - probs)).sum(dim=2).mean(dim=1),
        epistemic_variance=probs.var(dim=1, correction=0).sum(dim=1),
    )


def decompose(draws: HeadDraws, images: Features) -> Uncertainty:
    """`split` for images under joint draws of the heads, by chunks of images."""
    size = max(1, HELD // (draws.K * len(draws.texts)))
    parts = [split(draws.probabilities(images[i : i + size])) for i in range(0, len(images), size)]
    return Uncertainty(*(torch.cat([getattr(part, field.name) for part in parts]) for field in fields(Uncertainty)))
