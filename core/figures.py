"""The figures of one predictive on N images with what chance does to them: bootstrap over the images, paired by seed.

Axes: N images · R resamples · B bins · C classes · Z metrics. A resample is a row of counts: how often each image was
drawn. With counts [R, N] every figure of every resample is a matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from core.metrics import bin_edges, bin_numbers

METRICS = ("accuracy", "balanced_accuracy", "nlpd", "ece", "brier")
RESAMPLES, SEED, LEVEL = 500, 0, 0.95
AT_ONCE = 2_000_000  # counts held at once


@dataclass(frozen=True, slots=True)
class Judged:
    """What one predictive says of N images whose class is known: all that the figures need, whatever C is."""

    labels: Tensor  # [N]
    predicted: Tensor  # [N]
    confidence: Tensor  # of the predicted class, [N]
    density: Tensor  # −log p(label) in nats, p clamped at the dtype's eps, [N]
    brier: Tensor  # Σ_c (p_c − 1[c = label])², [N]

    @staticmethod
    def of(probs: Tensor, labels: Tensor) -> Judged:
        """From probabilities [N, C] and labels [N]."""
        confidence, predicted = probs.max(dim=1)
        chosen = probs.gather(1, labels[:, None])[:, 0].clamp_min(torch.finfo(probs.dtype).eps)
        brier = (probs.double() - one_hot(labels, probs.shape[1])).square().sum(dim=1)
        return Judged(labels, predicted, confidence.double(), -chosen.double().log(), brier)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Sequence[int] | Tensor) -> Judged:
        index = torch.as_tensor(rows, dtype=torch.int64)
        parts = (self.labels, self.predicted, self.confidence, self.density, self.brier)
        return Judged(*(part[index] for part in parts))

    @property
    def correct(self) -> Tensor:
        return self.predicted == self.labels

    def cost(self, metric: str) -> Tensor:
        """How much each image takes away from a metric, [N]: what to look at first where that metric is bad."""
        wrong = (~self.correct).double()
        costs = {"nlpd": self.density, "brier": self.brier, "ece": (self.confidence - self.correct.double()).abs()}
        return costs.get(metric, wrong + wrong * self.confidence)


@dataclass(frozen=True, slots=True)
class Spread:
    """Each metric, and the same of every resample; NaN where it is not defined."""

    values: Tensor  # [Z]
    resampled: Tensor  # [R, Z]

    def value(self, metric: str) -> float | None:
        value = float(self.values[METRICS.index(metric)])
        return None if value != value else value

    def interval(self, metric: str, level: float = LEVEL) -> tuple[float, float] | None:
        """The central interval of the bootstrap distribution (percentile bootstrap, Efron 1979)."""
        if self.value(metric) is None:
            return None
        tails = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
        low, high = torch.nanquantile(self.resampled[:, METRICS.index(metric)], tails).tolist()
        return low, high

    def minus(self, other: Spread) -> Spread:
        """The difference of two predictives on the same images, paired: both meet the same resamples."""
        return Spread(self.values - other.values, self.resampled - other.resampled)


def figures(judged: Judged, bins: int = 15) -> dict[str, float | None]:
    """Every metric by name; None where it is not defined: all without images, balanced accuracy with one class."""
    found = _figures(judged, torch.ones(1, len(judged), dtype=torch.float64), bins)[0].tolist()
    return {name: None if value != value else value for name, value in zip(METRICS, found, strict=True)}


def spread(judged: Judged, bins: int = 15, *, seed: int = SEED, resamples: int = RESAMPLES) -> Spread:
    """The figures and their bootstrap distribution over images; the same seed and N draw the same images."""
    values = _figures(judged, torch.ones(1, len(judged), dtype=torch.float64), bins)[0]
    if not len(judged):
        return Spread(values, values.expand(resamples, -1))
    rng = torch.Generator().manual_seed(seed)
    parts = [_figures(judged, counts, bins) for counts in _resampled(len(judged), resamples, rng)]
    return Spread(values, torch.cat(parts))


def confusion(judged: Judged, classes: int) -> Tensor:
    """How many images of class c are taken for class d, [C, C] with a row for each true class."""
    return torch.bincount(judged.labels * classes + judged.predicted, minlength=classes**2).view(classes, classes)


def _resampled(n: int, resamples: int, rng: torch.Generator) -> Iterator[Tensor]:
    """Counts [r, N] of R resamples of N images, some at a time."""
    at_once = max(1, AT_ONCE // n)
    for start in range(0, resamples, at_once):
        drawn = torch.randint(n, (min(at_once, resamples - start), n), generator=rng)
        yield torch.zeros(drawn.shape, dtype=torch.float64).scatter_add_(1, drawn, torch.ones_like(drawn).double())


def _figures(judged: Judged, counts: Tensor, bins: int) -> Tensor:
    """[R, Z] from counts [R, N]."""
    n, correct = counts.sum(dim=1), judged.correct.double()
    each = torch.stack([correct, judged.density, judged.brier], dim=1)  # [N, 3]
    accuracy, nlpd, brier = (counts @ each / n[:, None]).unbind(dim=1)
    found = (accuracy, _balanced(judged, counts, correct), nlpd, _ece(judged, counts, correct, bins), brier)
    return torch.stack(found, dim=1)


def _balanced(judged: Judged, counts: Tensor, correct: Tensor) -> Tensor:
    present, position = judged.labels.unique(return_inverse=True)
    if len(present) < 2:
        return counts.new_full((len(counts),), torch.nan)
    by_class = one_hot(position, len(present)).double()  # [N, C]
    seen, right = counts @ by_class, counts @ (by_class * correct[:, None])  # [R, C]
    return (right / seen.clamp_min(1)).sum(dim=1) / (seen > 0).sum(dim=1)


def _ece(judged: Judged, counts: Tensor, correct: Tensor, bins: int) -> Tensor:
    where = one_hot(bin_numbers(judged.confidence, bin_edges(judged.confidence, bins)), bins).double()  # [N, B]
    gaps = counts @ (where * (judged.confidence - correct)[:, None])  # [R, B]
    return gaps.abs().sum(dim=1) / counts.sum(dim=1)
