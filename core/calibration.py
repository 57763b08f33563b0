"""The predictives side by side, with a posterior's two cheap rivals: temperature scaling, test-time augmentation.

Axes: N images · V views · C classes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from core.decomposition import Uncertainty, decompose
from core.draws import draw_heads
from core.finetune import Labelled
from core.logits import map_logits, posterior_logits, probit
from core.metrics import Metrics, evaluate, nlpd
from core.posterior.laplace import Posterior
from core.values import Features

HOTTEST = 100.0  # temperatures are looked for between 1/HOTTEST and HOTTEST
HALVINGS = 60  # of that range, on a log scale: to the last digit of float64


class Predictive(StrEnum):
    """How class probabilities are made of the model."""

    MAP = "map"
    TEMPERATURE = "temperature"
    AUGMENTED = "augmented"
    PROBIT = "probit"
    DRAWS = "draws"


NAMES: dict[Predictive, str] = {
    Predictive.MAP: "MAP",
    Predictive.TEMPERATURE: "MAP, temperature scaled",
    Predictive.AUGMENTED: "MAP, augmented at test time",
    Predictive.PROBIT: "Posterior, probit",
    Predictive.DRAWS: "Posterior, Monte Carlo",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """One predictive on one split; `tau` and `temperature` where it has one, `seconds` for the head and after."""

    predictive: Predictive
    metrics: Metrics
    seconds: float
    views: int = 1  # how often an image had to be encoded
    tau: float | None = None
    temperature: float | None = None


def fit_temperature(logits: Tensor, labels: Tensor) -> float:
    """T > 0 that minimises the mean of −log softmax(logits/T)[label], logits [N, C] (Guo et al. 2017).

    The loss is convex in 1/T with slope mean(Σ_c p_c z_c − z_label), so halving on the slope's sign finds the minimum.
    It ends at 1/100 where every label is its row's largest logit, and at 100 where larger logits only mislead.
    """
    if len(labels) == 0 or len(logits) != len(labels):
        raise ValueError(f"{len(logits)} rows of logits came with {len(labels)} labels: give one label a row, and any")
    logits = logits.double()
    logits = logits - logits.mean(dim=1, keepdim=True)  # a large common part would only cost digits
    chosen = logits.gather(1, labels[:, None])[:, 0]
    cold, hot = 1 / HOTTEST, HOTTEST
    for _ in range(HALVINGS):
        middle = (cold * hot) ** 0.5
        expected = ((logits / middle).softmax(dim=1) * logits).sum(dim=1)
        cold, hot = (middle, hot) if (expected - chosen).mean() > 0 else (cold, middle)
    return (cold * hot) ** 0.5


def certain_logits(posterior: Posterior, images: Features, texts: Features) -> Tensor:
    """Logits [N, C] of the most probable heads, taken as certain."""
    embedded = images.embed(posterior.image.weight), texts.embed(posterior.text.weight)
    return map_logits(*embedded, posterior.scale, posterior.bias)


def augmented(posterior: Posterior, views: Sequence[Features], texts: Features) -> Tensor:
    """MAP probabilities [N, C] averaged over V views of the same N images."""
    probs = [certain_logits(posterior, view, texts).softmax(dim=1) for view in views]
    return torch.stack(probs).mean(dim=0)


def with_best_tau(posterior: Posterior, texts: Features, validation: Labelled, taus: Sequence[float]) -> Posterior:
    """The posterior at that τ whose probit predictive has the lowest NLPD on the validation images; the first of ties.

    Another τ changes no logit's mean, so this is to the posterior what the temperature is to MAP.
    """

    def loss(candidate: Posterior) -> float:
        probs = probit(posterior_logits(candidate, validation.features, texts))
        return nlpd(probs, validation.labels).value

    return min([posterior.with_tau(tau) for tau in taus], key=loss)


def rivals(
    posterior: Posterior,
    texts: Features,
    judged: Labelled,
    *,
    validation: Labelled | None,
    views: Sequence[Features],
    bins: int = 15,
) -> list[Measured]:
    """Every predictive that draws nothing, on the judged images; the posterior's comes last.

    `views` are the judged images' further views, each a `Features` of N rows: without them there is no augmentation,
    and without validation labels no temperature.
    """
    images = judged.features

    def logits() -> Tensor:
        return certain_logits(posterior, images, texts)

    def measured(kind: Predictive, make: Callable[[], Tensor], **about) -> Measured:
        started = time.perf_counter()
        probs = make()
        seconds = time.perf_counter() - started
        return Measured(kind, evaluate(probs, judged.labels, bins), seconds, **about)

    table = [measured(Predictive.MAP, lambda: logits().softmax(dim=1))]
    if validation is not None and len(validation):
        T = fit_temperature(certain_logits(posterior, validation.features, texts), validation.labels)
        table.append(measured(Predictive.TEMPERATURE, lambda: (logits() / T).softmax(dim=1), temperature=T))
    if views:
        every = [images, *views]
        table.append(measured(Predictive.AUGMENTED, lambda: augmented(posterior, every, texts), views=len(every)))
    tau = posterior.image.tau
    table.append(measured(Predictive.PROBIT, lambda: probit(posterior_logits(posterior, images, texts)), tau=tau))
    return table


def compare(
    posterior: Posterior,
    texts: Features,
    judged: Labelled,
    *,
    validation: Labelled | None,
    views: Sequence[Features],
    K: int,
    rng: torch.Generator,
    bins: int = 15,
) -> tuple[list[Measured], Uncertainty]:
    """`rivals` and the predictive by K joint draws of both heads, and the parts of the doubt under these draws."""
    table = rivals(posterior, texts, judged, validation=validation, views=views, bins=bins)
    started = time.perf_counter()
    parts = decompose(draw_heads(posterior, texts, K, rng, with_text=True), judged.features)
    seconds = time.perf_counter() - started
    drawn = Measured(Predictive.DRAWS, evaluate(parts.probs, judged.labels, bins), seconds, tau=posterior.image.tau)
    return [*table, drawn], parts
