"""How good and how honest probabilities are.

Axes: N images · C classes. Probabilities [N, C] in, never logits; labels [N] are class numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot


class Nlpd(NamedTuple):
    """Mean negative log predictive density in nats, and how many probabilities had to be clamped."""

    value: float
    clamped: int


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Images whose confidence lies in (lower, upper]; `confidence` and `accuracy` are None where there is none."""

    lower: float
    upper: float
    count: int
    confidence: float | None
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class Metrics:
    """One evaluation of N images; `ece` with its number of bins, `nlpd` with its clamped count."""

    accuracy: float
    balanced_accuracy: float
    nlpd: float
    ece: float
    brier: float
    n: int
    clamped: int
    bins: int


def _check(probs: Tensor, labels: Tensor) -> None:
    if len(probs) != len(labels) or len(labels) == 0:
        raise ValueError(f"{len(probs)} rows of probabilities came with {len(labels)} labels: give one label a row")


def accuracy(probs: Tensor, labels: Tensor) -> float:
    """Share of images whose likeliest class is their label."""
    _check(probs, labels)
    return float((probs.argmax(dim=1) == labels).double().mean())


def weighted_accuracy(probs: Tensor, labels: Tensor, class_weights: Tensor) -> float:
    """Accuracy with each image counting as the weight of its label's class, class_weights [C]."""
    _check(probs, labels)
    weights = class_weights.double()[labels]
    return float(((probs.argmax(dim=1) == labels) * weights).sum() / weights.sum())


def balanced_accuracy(probs: Tensor, labels: Tensor) -> float:
    """Mean over the classes that occur in `labels` of the accuracy within the class."""
    counts = torch.bincount(labels, minlength=probs.shape[1])
    return weighted_accuracy(probs, labels, 1 / counts.clamp_min(1).double())


def nlpd(probs: Tensor, labels: Tensor) -> Nlpd:
    """−mean log p(label) in nats; probabilities below the dtype's eps are clamped to it and counted."""
    _check(probs, labels)
    chosen = probs.gather(1, labels[:, None])[:, 0]
    smallest = torch.finfo(probs.dtype).eps
    value = -chosen.clamp_min(smallest).double().log().mean()
    return Nlpd(float(value), int((chosen < smallest).sum()))


def brier(probs: Tensor, labels: Tensor) -> float:
    """Mean over images of Σ_c (p_c − 1[c = label])², from 0 to 2."""
    _check(probs, labels)
    return float((probs.double() - one_hot(labels, probs.shape[1])).square().sum(dim=1).mean())


def bin_edges(confidence: Tensor, bins: int, equal_mass: bool = False) -> Tensor:
    """The bins + 1 edges from 0 to 1 of equal-width bins, or of bins that hold about equal counts."""
    edges = torch.linspace(0, 1, bins + 1, dtype=torch.float64, device=confidence.device)
    if not equal_mass:
        return edges
    inner = torch.quantile(confidence.double(), edges[1:-1])
    return torch.cat([edges[:1], inner, edges[-1:]])


def bin_numbers(confidence: Tensor, edges: Tensor) -> Tensor:
    """The bin (lower, upper] of each confidence [N]; 0 falls in the first, 1 in the last."""
    # The nearest float64 to a float32 such as 0.7 lies below the edge 0.7 or above it; a hair decides neither way.
    return torch.bucketize(confidence.double() - 1e-7, edges[1:-1])


def binned(confidence: Tensor, correct: Tensor, bins: int = 15, *, equal_mass: bool = False) -> list[ReliabilityBin]:
    """Confidence [N] against correct [N] in `bins` bins (lower, upper]; 0 falls in the first, 1 in the last.

    Equal widths, or with `equal_mass` about equal counts. Confidence is the bin's mean, not its centre.
    """
    confidence = confidence.double().clamp(0, 1)
    edges = bin_edges(confidence, bins, equal_mass)
    where = bin_numbers(confidence, edges)
    table = []
    for number in range(bins):
        inside = where == number
        count = int(inside.sum())
        means = [float(part[inside].double().mean()) if count else None for part in (confidence, correct)]
        table.append(ReliabilityBin(float(edges[number]), float(edges[number + 1]), count, *means))
    return table


def binned_error(table: list[ReliabilityBin]) -> float:
    """Expected calibration error of a reliability table: Σ (count/N)·|accuracy − confidence|."""
    total = sum(row.count for row in table)
    return sum(
        row.count / total * abs(row.accuracy - row.confidence)
        for row in table
        if row.accuracy is not None and row.confidence is not None
    )


def reliability_table(
    probs: Tensor, labels: Tensor, bins: int = 15, *, equal_mass: bool = False
) -> list[ReliabilityBin]:
    """`binned` for the likeliest class of each image, probs [N, C]."""
    _check(probs, labels)
    confidence, predicted = probs.max(dim=1)
    return binned(confidence, predicted == labels, bins, equal_mass=equal_mass)


def ece(probs: Tensor, labels: Tensor, bins: int = 15) -> float:
    """Expected calibration error of the likeliest class over equal-width bins (Guo et al. 2017)."""
    return binned_error(reliability_table(probs, labels, bins))


def evaluate(probs: Tensor, labels: Tensor, bins: int = 15) -> Metrics:
    """All metrics of N images at once."""
    density = nlpd(probs, labels)
    return Metrics(
        accuracy=accuracy(probs, labels),
        balanced_accuracy=balanced_accuracy(probs, labels),
        nlpd=density.value,
        ece=ece(probs, labels, bins),
        brier=brier(probs, labels),
        n=len(labels),
        clamped=density.clamped,
        bins=bins,
    )
