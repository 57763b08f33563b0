"""BALD: what a label tells about the model itself (Houlsby et al. 2011), in nats.

Axes: N images · C classes · K posterior draws.
"""

from __future__ import annotations

from torch import Tensor

from core.acquisition.entropy import entropy


def bald_monte_carlo(probs: Tensor) -> Tensor:
    """H[mean_k p_k] − mean_k H[p_k] in nats, [N], from draws of probabilities [N, K, C]."""
    return entropy(probs.mean(dim=1)) - entropy(probs).mean(dim=1)


def label_information(probs: Tensor, S: Tensor) -> Tensor:
    """tr(J S) = Σ_c p_c S_cc − pᵀSp with J = diag(p) − ppᵀ, [N], for probs [N, C] and S [C, C].

    Never negative in exact arithmetic; rounding below 0 becomes 0.
    """
    return (probs @ S.diagonal() - (probs @ S * probs).sum(dim=1)).clamp_min(0)


def bald(kappa: Tensor, probs: Tensor, S: Tensor) -> Tensor:
    """½ κ(x, x)·tr(J_x S) in nats to second order, [N]: kappa [N] is the diagonal, Cov(f(x)) = κ(x, x)·S.

    Meets `bald_monte_carlo` as the covariance shrinks and grows too large with it: a ranking, not a bound.
    """
    return kappa * label_information(probs, S) / 2
