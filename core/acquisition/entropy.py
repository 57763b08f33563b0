"""Shannon entropy of probabilities, in nats.

Axes: N images · C classes.
"""

from __future__ import annotations

import torch
from torch import Tensor


def entropy(probs: Tensor) -> Tensor:
    """H[p] = −Σ_c p_c log p_c in nats over the last axis, probs [..., C] → [...]; 0·log 0 is 0."""
    return -torch.xlogy(probs, probs).sum(dim=-1)
