"""Why pool and targets must see the same draw of the model: shown on a head small enough to draw in a moment.

Axes: N = 20 images · M = 10 targets · C = 3 classes · D = 6 · p = 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.acquisition.epig import epig_monte_carlo
from core.draws import draw_heads
from core.posterior.laplace import Posterior, fit
from core.values import Features, Heads, KroneckerFactors

COUNTS = (100, 300, 1000, 3000, 10_000)


@dataclass(frozen=True, slots=True)
class DrawCount:
    """Mean EPIG of the toy's images in nats from K draws: joint, and with the targets' draws made apart."""

    K: int
    joint: float
    independent: float


def joint_and_independent(seed: int = 1, counts: Sequence[int] = COUNTS) -> list[DrawCount]:
    """EPIG against the number of draws: joint draws estimate it, independent ones show a bias that falls as 1/K."""
    rng = torch.Generator().manual_seed(seed)
    posterior = _toy(rng)
    pool, targets, texts = (Features(_normal(rng, n, p)) for n, p in ((20, 5), (10, 5), (3, 4)))
    one, other = (draw_heads(posterior, texts, max(counts), rng) for _ in range(2))
    drawn, jointly, apart = (one.probabilities(pool), one.probabilities(targets), other.probabilities(targets))

    def mean(target_probs: Tensor, K: int) -> float:
        return float(epig_monte_carlo(drawn[:, :K], target_probs[:, :K]).mean())

    return [DrawCount(K, mean(jointly, K), mean(apart, K)) for K in counts]


def _toy(rng: torch.Generator) -> Posterior:
    heads = Heads(_normal(rng, 6, 5), _normal(rng, 6, 4), scale=8.0)
    image, text = (KroneckerFactors(_positive(rng, p), _positive(rng, 6), 9) for p in (5, 4))
    return fit(heads, image, text, tau=10.0, fingerprint="toy")


def _positive(rng: torch.Generator, size: int) -> Tensor:
    root = _normal(rng, size, size + 2)
    return root @ root.T / size


def _normal(rng: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=rng, dtype=torch.float64)
