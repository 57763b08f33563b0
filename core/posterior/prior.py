"""Prior precision λ of a head by the Laplace evidence.

Axes: p input size of the head · D joint embedding size; A [p, p], B [D, D], P [D, p].
"""

from __future__ import annotations

import math

from torch import Tensor

from core.posterior.kron import EigenFactors, damped, eigen, widen
from core.values import KroneckerFactors


def log_evidence(
    prior_precision: float, factors: KroneckerFactors | EigenFactors, weight: Tensor, tau: float = 1.0
) -> float:
    """log Z(λ) = −½ λ‖P‖² + ½ pD·log λ − ½ (D·log|Ã| + p·log|B̃|), up to what does not depend on λ.

    Ã = √τ·A + √λ·I, B̃ = √τ·B + √λ·I (MacKay 1992; Ritter et al. 2018). `weight` is P [D, p].
    """
    spectrum = eigen(factors)
    p, D = len(spectrum.A_values), len(spectrum.B_values)
    logdet = D * damped(spectrum.A_values, tau, prior_precision).log().sum()
    logdet += p * damped(spectrum.B_values, tau, prior_precision).log().sum()
    penalty = prior_precision * widen(weight).square().sum()
    return float(-penalty + p * D * math.log(prior_precision) - logdet) / 2


def optimal_prior_precision(factors: KroneckerFactors | EigenFactors, weight: Tensor, tau: float = 1.0) -> float:
    """The λ of the highest `log_evidence`, unique because the evidence is concave in log λ.

    λ‖P‖² = Σ_ij 1 − ½√λ/(√τ a_i + √λ) − ½√λ/(√τ b_j + √λ) ≤ pD: bisection on log λ, each step O(p + D).
    Raises ValueError for a head of zeros, whose evidence grows for ever.
    """
    spectrum = eigen(factors)
    a, b = spectrum.A_values, spectrum.B_values
    norm = float(widen(weight).square().sum())
    if norm == 0:
        raise ValueError("a head whose weights are all zero has no prior precision: load its weights first")

    def excess(log_precision: float) -> float:
        root = math.exp(log_precision / 2)
        shrunk = len(b) * (root / (tau**0.5 * a + root)).sum() + len(a) * (root / (tau**0.5 * b + root)).sum()
        return len(a) * len(b) - float(shrunk) / 2 - root**2 * norm

    high = math.log(len(a) * len(b) / norm)
    low = high - 100
    while high - low > 1e-12 * max(1.0, abs(high)):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return math.exp(high)
