"""EPIG: what a label tells about the predictions on the target images (Bickford Smith et al. 2023), in nats.

Axes: N pool images · M target images · C classes · K posterior draws.
"""

from __future__ import annotations

import torch
from torch import Tensor

from core.acquisition.entropy import entropy

JOINT_AT_ONCE = 8_000_000  # numbers of the joint [N, M, C, C] in flight: 32 MB in float32


def epig_monte_carlo(pool_probs: Tensor, target_probs: Tensor) -> Tensor:
    """mean over x* of H[p̄(y)] + H[p̄(y*)] − H[mean_k p_k(y|x) p_k(y*|x*)] in nats, [N].

    `pool_probs` [N, K, C] and `target_probs` [M, K, C] must come from joint draws: draw k of both is one model. With
    independent draws, and with few joint ones, the estimate is a bias that falls as 1/K.
    """
    (_, K, C), M = pool_probs.shape, target_probs.shape[0]
    marginal = entropy(target_probs.mean(dim=1)).mean()
    scores = []
    for pool in pool_probs.split(max(1, JOINT_AT_ONCE // (M * C * C))):
        joint = torch.einsum("nkc,mkd->nmcd", pool, target_probs) / K
        scores.append(entropy(pool.mean(dim=1)) + marginal - entropy(joint.flatten(2)).mean(dim=1))
    return torch.cat(scores)


def pair_information(pool_probs: Tensor, target_probs: Tensor, S: Tensor) -> Tensor:
    """tr(J_x S J_* S) for all pairs at once, [N, M], from pool_probs [N, C], target_probs [M, C] and S [C, C].

    With T = S∘S: P T P*ᵀ − (PS)² P*ᵀ − P ((P*S)²)ᵀ + (P S P*ᵀ)², squares elementwise. Never negative in exact
    arithmetic; rounding below 0 becomes 0.
    """
    pool_S, target_S = pool_probs @ S, target_probs @ S
    left = pool_probs @ S.square() - pool_S.square()  # [N, C]
    traces = left @ target_probs.T - pool_probs @ target_S.square().T
    return traces.add_((pool_S @ target_probs.T).square_()).clamp_min_(0)


def epig(kappa: Tensor, pool_probs: Tensor, target_probs: Tensor, S: Tensor) -> Tensor:
    """mean over x* of ½ κ(x, x*)²·tr(J_x S J_* S) in nats to second order, [N]; Cov(f(x), f(x*)) = κ(x, x*)·S.

    `kappa` [N, M]. Meets `epig_monte_carlo` as the covariance shrinks: a ranking without draws or noise, not a bound.
    """
    return (kappa.square() * pair_information(pool_probs, target_probs, S)).mean(dim=1) / 2
