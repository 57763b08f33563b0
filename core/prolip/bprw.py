"""Bayesian prompt re-weighting (BPRW): what each prompt of a class weighs, from a few images of that class.

Axes: S observations, drawn from the Gaussians of a class's images · C classes · T prompts of each · D embedding size.
The observations are taken for draws of a mixture Σ_t w_t N(μ_t, σ_t² + ε) of the class's prompts, whose weights have a
Dirichlet(α, …, α) prior. EM climbs to their most probable values, w_t ∝ Σ_s r_st + α − 1 with responsibilities r
(Chun et al. 2025, "ProLIP"). The posterior is concave for α ≥ 1: the start decides how soon it gets there, not where.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from core.errors import InputError
from core.prolip.prompts import PromptMethod, PromptWeights, equal_weights
from core.values import ProlipEmbeddings


class Start(StrEnum):
    """Where EM starts."""

    UNIFORM = "uniform"
    INVERSE = "inverse"  # ∝ 1/mean σ²: the vaguer a prompt, the less


STARTS: dict[Start, Callable[[Tensor], Tensor]] = {
    Start.UNIFORM: lambda variance: torch.ones_like(variance[:, 0]),
    Start.INVERSE: lambda variance: 1 / variance.mean(dim=1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BprwConfig:
    """Settings of BPRW; the defaults are the published few-shot ones (5 images a class).

    `concentration` α, 1 for none, pulls towards equal weights as if each prompt had α − 1 observations of its own.
    Raises ValueError for α below 1, a variance below 0, or counts and a tolerance not above 0.
    """

    concentration: float = 2.0
    start: Start = Start.INVERSE
    added_variance: float = 0.02  # ε, to prompts: keeps one prompt from taking all in many dimensions
    draws: int = 20  # of each image's Gaussian
    tolerance: float = 1e-9  # the largest change of a weight in a step that counts as settled
    max_steps: int = 20_000

    def __post_init__(self) -> None:
        if not self.concentration >= 1 or not math.isfinite(self.concentration):
            raise ValueError(f"concentration {self.concentration}: a Dirichlet's mode needs 1 or more")
        if not self.added_variance >= 0:
            raise ValueError(f"added_variance {self.added_variance}: a variance is 0 or above")
        if not (self.draws > 0 and self.tolerance > 0 and self.max_steps > 0):
            raise ValueError("draws, tolerance and max_steps must be above 0")


@dataclass(frozen=True, slots=True)
class Mixture:
    """Weights of a mixture [T], summing to 1, and the steps of EM that it took."""

    weights: Tensor
    steps: int


def log_densities(observations: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    """log N(x_s; μ_t, σ_t²) [S, T], by matrix products: the square multiplied out."""
    precision = 1 / variance
    squared = observations.square() @ precision.T - 2 * observations @ (mean * precision).T
    squared = squared + (mean.square() * precision).sum(dim=1)
    return -(squared + variance.log().sum(dim=1) + mean.shape[1] * math.log(2 * math.pi)) / 2


def mixture_weights(observations: Tensor, prompts: ProlipEmbeddings, config: BprwConfig = BprwConfig()) -> Mixture:
    """The most probable weights of T prompts given observations [S, D], in float64.

    Raises InputError where there is nothing to weigh or to weigh it by, where numbers are not finite, and where the
    weights have not settled after `max_steps`.
    """
    if not len(observations) or not len(prompts):
        raise InputError(f"{len(prompts)} prompts and {len(observations)} observations: give at least one of each")
    mean, variance = prompts.mean.double(), prompts.variance.double() + config.added_variance
    densities = log_densities(observations.double(), mean, variance)
    weights = STARTS[config.start](variance)
    weights = weights / weights.sum()
    if not bool(densities.isfinite().all() and weights.isfinite().all()):
        raise InputError("an image or a prompt has numbers that are not finite, or no variance: encode it again")
    return _climb(densities, weights, config)


def _climb(densities: Tensor, weights: Tensor, config: BprwConfig) -> Mixture:
    observed, prompts = densities.shape
    pull = config.concentration - 1
    change = math.inf
    for step in range(1, config.max_steps + 1):
        responsible = (densities + weights.log()).softmax(dim=1).sum(dim=0)  # [T]
        moved = (responsible + pull) / (observed + prompts * pull)
        change = float((moved - weights).abs().max())
        weights = moved
        if change < config.tolerance:
            return Mixture(weights, step)
    raise InputError(
        f"the prompts' weights have not settled after {config.max_steps} steps (the last changed one by {change:.1e}): "
        "raise the concentration, the number of steps or the tolerance"
    )


def draw(images: ProlipEmbeddings, draws: int, rng: torch.Generator) -> Tensor:
    """`draws` points of each image's Gaussian, [N·draws, D], in float64 on the processor."""
    mean, deviation = images.mean.double().cpu(), images.variance.double().cpu().sqrt()
    noise = torch.randn(draws, *mean.shape, generator=rng, dtype=torch.float64)
    return (mean + deviation * noise).flatten(end_dim=1)


def bprw(
    images: ProlipEmbeddings,
    labels: Tensor,
    prompts: ProlipEmbeddings,
    equal: PromptWeights,
    *,
    rng: torch.Generator,
    config: BprwConfig = BprwConfig(),
) -> PromptWeights:
    """Weights of each class's prompts from the images [N] whose class is known.

    `labels` [N] are class numbers, below 0 where there is none. `equal` names the classes and templates; `prompts` are
    their C·T rows. A class without images keeps equal weights, which is what the prior alone says. Raises InputError
    where no class has any, and as `mixture_weights` does.
    """
    classes, templates = equal.weights.shape
    if len(prompts) != classes * templates:
        raise InputError(
            f"{len(prompts)} prompts do not fit {classes} classes with {templates} each: encode them again"
        )
    if not bool(((labels >= 0) & (labels < classes)).any()):
        raise InputError("no image has an answer yet: answer a few of each class, then weigh the prompts")
    weights = equal_weights(equal.classes, equal.templates).weights
    for c in range(classes):
        own = images[labels == c]
        if len(own):
            rows = prompts[c * templates : (c + 1) * templates]
            weights[c] = mixture_weights(draw(own, config.draws, rng), rows.to("cpu"), config).weights
    return PromptWeights(equal.classes, equal.templates, weights, PromptMethod.BPRW)
