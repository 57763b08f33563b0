"""What learning curves say: each strategy's mean, its area, labels to a level, the paired difference to random.

Axes: R points of a curve · S seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t, ttest_rel

from core.simulation.curve import FIGURES, Point

LEVEL = 0.95  # of every interval here
RANDOM = "random"
LOWER_IS_BETTER = ("nlpd", "ece", "brier")

Curves = dict[tuple[str, int], list[Point]]  # by strategy and seed, in the order of the rounds


@dataclass(frozen=True, slots=True)
class Band:
    """A figure's mean over the seeds [R] and its Student interval; NaN bounds with one seed."""

    labels: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One strategy by one figure. `average` is the figure's mean over the rounds after the first answers and the seeds.

    `labels_to_level` is the fewest labels at which the mean curve reaches the level, None where it never does;
    `difference` is to random, paired by seed, with its interval; None without random or with one seed.
    """

    strategy: str
    figure: str
    seeds: int
    average: float
    final: float
    labels_to_level: int | None
    difference: float | None
    low: float | None
    high: float | None


def by_curve(points: Iterable[Point]) -> Curves:
    """The points in the order of their rounds."""
    found: Curves = {}
    for point in points:
        found.setdefault((point.strategy, point.seed), []).append(point)
    return {key: sorted(each, key=lambda point: point.round) for key, each in found.items()}


def band(curves: Curves, strategy: str, figure: str) -> Band:
    """The mean curve of a strategy: at each round over the seeds that reached it."""
    rows = [each for (name, _), each in sorted(curves.items()) if name == strategy]
    longest = max(rows, key=len)
    values = np.full((len(rows), len(longest)), np.nan)
    for row, each in zip(values, rows, strict=True):
        row[: len(each)] = [_value(point, figure) for point in each]
    counts = (~np.isnan(values)).sum(axis=0)
    mean = np.array([np.nanmean(column) if n else np.nan for column, n in zip(values.T, counts, strict=True)])
    half = np.array([_half_width(column[~np.isnan(column)]) for column in values.T])
    labels = np.rint(_mean_labels(rows, len(longest))).astype(int)
    return Band(
        tuple(labels.tolist()), tuple(mean.tolist()), tuple((mean - half).tolist()), tuple((mean + half).tolist())
    )


def table(points: Iterable[Point], figure: str = "accuracy", level: float | None = None) -> list[Row]:
    """A row for each strategy, the best average first. `level` is random's final value unless given."""
    if figure not in FIGURES:
        raise ValueError(f"there is no figure {figure!r}: {', '.join(FIGURES)}")
    curves = by_curve(points)
    strategies = list(dict.fromkeys(name for name, _ in curves))
    if level is None and RANDOM in strategies:
        level = band(curves, RANDOM, figure).mean[-1]
    rows = [_row(curves, each, figure, level) for each in strategies]
    sign = 1 if figure in LOWER_IS_BETTER else -1
    return sorted(rows, key=lambda row: (math.isnan(row.average), sign * row.average))


def averages(curves: Curves, strategy: str, figure: str) -> dict[int, float]:
    """Seed → the figure's mean over the rounds from 1 on: the area under the curve per round."""
    found = {}
    for (name, seed), points in curves.items():
        values = [_value(point, figure) for point in points if point.round > 0]
        if name == strategy and values:
            found[seed] = float(np.mean(values))
    return found


def difference(curves: Curves, strategy: str, other: str, figure: str) -> tuple[float, float, float] | None:
    """strategy − other by `averages`, paired by seed: the mean and its Student interval; None with one seed."""
    ours, theirs = averages(curves, strategy, figure), averages(curves, other, figure)
    seeds = sorted(ours.keys() & theirs.keys())
    if len(seeds) < 2:
        return None
    a, b = ([each[seed] for seed in seeds] for each in (ours, theirs))
    mean = float(np.mean(np.subtract(a, b)))
    if np.ptp(np.subtract(a, b)) == 0:  # the same in every seed: no spread to divide by
        return mean, mean, mean
    interval = ttest_rel(a, b).confidence_interval(LEVEL)
    return mean, float(interval.low), float(interval.high)


def _row(curves: Curves, strategy: str, figure: str, level: float | None) -> Row:
    own, found = averages(curves, strategy, figure), band(curves, strategy, figure)
    reached = None
    if level is not None:
        good = (lambda v: v <= level) if figure in LOWER_IS_BETTER else (lambda v: v >= level)
        reached = next((n for n, value in zip(found.labels, found.mean, strict=True) if good(value)), None)
    paired = None if strategy == RANDOM else difference(curves, strategy, RANDOM, figure)
    average = float(np.mean(list(own.values()))) if own else math.nan
    return Row(strategy, figure, len(own), average, found.mean[-1], reached, *(paired or (None, None, None)))


def _value(point: Point, figure: str) -> float:
    value = point.figures[figure]
    return math.nan if value is None else value


def _mean_labels(rows: Sequence[list[Point]], length: int) -> np.ndarray:
    return np.array([np.mean([each[i].labels for each in rows if i < len(each)]) for i in range(length)])


def _half_width(values: np.ndarray) -> float:
    if len(values) < 2:
        return math.nan
    return float(t.ppf((1 + LEVEL) / 2, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values)))
