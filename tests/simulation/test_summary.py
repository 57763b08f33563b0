"""What is said of learning curves, by hand."""

import math

import pytest
from scipy import stats

from core.simulation.curve import FIGURES, Point
from core.simulation.summary import band, by_curve, difference, table


def point(strategy, seed, number, accuracy, labels=None):
    figures = dict.fromkeys(FIGURES, 0.5) | {"accuracy": accuracy, "nlpd": 1 - accuracy, "balanced_accuracy": None}
    return Point(strategy, seed, number, 10 * number if labels is None else labels, figures, "map", 1.0, ())


RANDOM = [[0.2, 0.3, 0.4], [0.2, 0.2, 0.5], [0.3, 0.4, 0.3]]
EPIG = [[0.2, 0.5, 0.6], [0.2, 0.3, 0.7], [0.3, 0.7, 0.8]]
POINTS = [
    point(name, seed, number, value)
    for name, rows in (("random", RANDOM), ("epig", EPIG))
    for seed, row in enumerate(rows)
    for number, value in enumerate(row)
]


def test_the_table_is_sorted_and_paired_by_seed():
    first, second = table(POINTS)
    assert (first.strategy, second.strategy) == ("epig", "random")
    assert first.average == pytest.approx((0.55 + 0.5 + 0.75) / 3)
    assert first.final == pytest.approx(0.7)
    assert first.labels_to_level == 10, "random ends at 0.4, EPIG's mean is 0.5 after 10"
    assert second.labels_to_level == 20
    a, b = [0.55, 0.5, 0.75], [0.35, 0.35, 0.35]
    test = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert (first.difference, first.low, first.high) == pytest.approx((0.25, test.low, test.high))
    assert second.difference is None


def test_lower_is_better_for_nlpd():
    first = table(POINTS, "nlpd")[0]
    assert (first.strategy, first.labels_to_level) == ("epig", 10)
    assert first.difference == pytest.approx(-0.25)


def test_a_band_has_students_interval():
    found = band(by_curve(reversed(POINTS)), "epig", "accuracy")
    assert found.labels == (0, 10, 20)
    low, high = stats.t.interval(0.95, 2, loc=0.5, scale=stats.sem([0.5, 0.3, 0.7]))
    assert (found.mean[1], found.low[1], found.high[1]) == pytest.approx((0.5, low, high))


def test_one_seed_has_no_interval_and_an_undefined_figure_no_value():
    single = [p for p in POINTS if p.seed == 0]
    assert table(single)[0].low is None
    assert difference(by_curve(single), "epig", "random", "accuracy") is None
    assert math.isnan(band(by_curve(single), "epig", "accuracy").low[0])
    assert math.isnan(table(POINTS, "balanced_accuracy")[0].average)
    with pytest.raises(ValueError, match="no figure 'speed'"):
        table(POINTS, "speed")


def test_curves_of_different_length_are_averaged_where_they_are():
    short = [p for p in POINTS if p.strategy == "epig" and (p.seed, p.round) != (2, 2)]
    assert band(by_curve(short), "epig", "accuracy").mean[2] == pytest.approx(0.65)


def test_the_same_in_every_seed_is_a_sure_difference():
    same = [point(n, s, r, v) for n, v in (("random", 0.25), ("epig", 0.5)) for s in range(3) for r in range(2)]
    assert difference(by_curve(same), "epig", "random", "accuracy") == (0.25, 0.25, 0.25)
