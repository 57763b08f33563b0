"""Every figure, band and paired difference against the loop that one would write first. float64, N, C, B, R differ."""

import math

import pytest
import torch
from torch.testing import assert_close

from core.figures import METRICS, Judged, Spread, confusion, figures, spread
from core.metrics import evaluate, reliability_table
from tests.small import generator, normal

N, C, BINS, R = 41, 3, 7, 60


def made(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Probabilities [N, C] by a seed, and labels [N] that are the same for all of them."""
    labels = torch.randint(C, (N,), generator=generator(1))
    return (2 * normal(N, C, rng=generator(seed))).softmax(dim=1), labels


def obvious(probs, labels) -> list[float]:
    found = evaluate(probs, labels, BINS)
    return [getattr(found, name) for name in METRICS]


def resampled(seed: int) -> torch.Tensor:
    """Each resample's images taken one by one, and each metric of them, [R, Z]."""
    probs, labels = made(seed)
    draws = torch.randint(N, (R, N), generator=generator(5))
    return torch.tensor([obvious(probs[row], labels[row]) for row in draws], dtype=torch.float64)


def bootstrapped(seed: int) -> Spread:
    return spread(Judged.of(*made(seed)), BINS, seed=5, resamples=R)


def test_figures_are_the_metrics():
    probs, labels = made(0)
    assert list(figures(Judged.of(probs, labels), BINS).values()) == pytest.approx(obvious(probs, labels))


def test_figures_of_some_rows_are_those_of_their_images():
    probs, labels = made(0)
    rows = [3, 5, 8, 13, 21]
    part = Judged.of(probs, labels)[rows]
    assert list(figures(part, BINS).values()) == pytest.approx(obvious(probs[rows], labels[rows]))


def test_the_bootstrap_draws_images_and_measures_them_again(monkeypatch):
    expected = resampled(0)
    assert_close(bootstrapped(0).resampled, expected)
    monkeypatch.setattr("core.figures.AT_ONCE", 5 * N)  # in pieces: the same draws
    assert_close(bootstrapped(0).resampled, expected)
    low, high = bootstrapped(0).interval("nlpd")
    ordered = expected[:, METRICS.index("nlpd")].sort().values
    assert ordered[0] < low < ordered[3]
    assert ordered[-4] < high < ordered[-1]
    assert low < bootstrapped(0).value("nlpd") < high


def test_a_difference_is_paired_image_by_image():
    difference = bootstrapped(2).minus(bootstrapped(0))
    assert_close(difference.resampled, resampled(2) - resampled(0))
    probs, labels = made(2)
    assert difference.value("ece") == pytest.approx(obvious(probs, labels)[3] - obvious(*made(0))[3])
    nothing = bootstrapped(0).minus(bootstrapped(0))
    assert nothing.interval("accuracy") == (0, 0)


def test_an_interval_of_accuracy_is_near_the_binomial_one_and_repeats_by_seed():
    probs = (2 * normal(100, 3, rng=generator())).softmax(dim=1)
    labels = probs.argmax(dim=1)
    labels[:30] = (labels[:30] + 1) % 3
    one, other = (spread(Judged.of(probs, labels), seed=4) for _ in range(2))
    assert torch.equal(one.resampled, other.resampled)
    half = 1.96 * (0.7 * 0.3 / 100) ** 0.5
    assert one.interval("accuracy") == pytest.approx((0.7 - half, 0.7 + half), abs=0.02)


def test_what_is_not_defined_is_none():
    probs, labels = made(0)
    judged = Judged.of(probs, labels)
    one_class = judged[(labels == 1).nonzero()[:, 0]]
    assert figures(one_class)["balanced_accuracy"] is None
    assert spread(one_class).interval("balanced_accuracy") is None
    assert figures(one_class)["accuracy"] is not None
    assert set(figures(judged[[]]).values()) == {None}
    assert spread(judged[[]]).interval("accuracy") is None


def test_a_certain_mistake_is_clamped_and_finite():
    judged = Judged.of(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([1, 1]))
    assert figures(judged)["nlpd"] == pytest.approx(-math.log(torch.finfo(torch.float32).eps) / 2, rel=1e-6)


def test_confusion_counts_each_image_in_the_row_of_its_class():
    probs, labels = made(0)
    table = confusion(Judged.of(probs, labels), C)
    predicted = probs.argmax(dim=1)
    for actual in range(C):
        for said in range(C):
            assert table[actual, said] == sum((labels == actual) & (predicted == said))


@pytest.mark.parametrize("metric", METRICS)
def test_cost_orders_images_by_what_they_take_from_the_metric(metric):
    probs, labels = made(0)
    judged = Judged.of(probs, labels)
    worst = int(judged.cost(metric).argmax())
    better = [row for row in range(N) if row != worst]
    before, after = figures(judged)[metric], figures(judged[better])[metric]
    if metric != "ece":  # over- and under-confidence in one bin cancel
        assert after > before if "accuracy" in metric else after < before


def test_equal_mass_bins_hold_what_sorting_puts_there():
    probs, labels = made(0)
    table = reliability_table(probs, labels, BINS, equal_mass=True)
    ordered = probs.max(dim=1).values.sort().values
    inner = [float(torch.quantile(ordered, number / BINS)) for number in range(1, BINS)]
    for number, row in enumerate(table):
        low = inner[number - 1] if number else 0.0
        high = inner[number] if number < BINS - 1 else 1.0
        assert row.count == sum(low < each <= high or (number == 0 and each == 0) for each in ordered.tolist())
    counts = [row.count for row in table]
    assert sum(counts) == N
    assert max(counts) - min(counts) <= 1
