"""Metrics: hand-computed values, edges and bounds."""

import math

import pytest
import torch

from core.metrics import (
    accuracy,
    balanced_accuracy,
    binned,
    binned_error,
    brier,
    ece,
    evaluate,
    nlpd,
    reliability_table,
    weighted_accuracy,
)
from tests.small import generator, normal

PROBS = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]], dtype=torch.float64)
LABELS = torch.tensor([0, 1, 2, 1])


def test_accuracies():
    assert accuracy(PROBS, LABELS) == 0.75
    assert balanced_accuracy(PROBS, LABELS) == pytest.approx((1 + 0.5 + 1) / 3)
    assert weighted_accuracy(PROBS, LABELS, torch.tensor([1.0, 2.0, 0.0])) == pytest.approx(3 / 5)


def test_balanced_accuracy_leaves_absent_classes_out():
    assert balanced_accuracy(PROBS, torch.tensor([0, 1, 1, 0])) == pytest.approx((1 + 0.5) / 2)


def test_nlpd_is_the_mean_log_loss():
    value, clamped = nlpd(PROBS, LABELS)
    assert value == pytest.approx(-sum(map(math.log, (0.7, 0.8, 0.4, 0.3))) / 4)
    assert clamped == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_nlpd_of_an_impossible_label_is_clamped_and_counted(dtype):
    value, clamped = nlpd(torch.tensor([[1.0, 0.0]], dtype=dtype), torch.tensor([1]))
    assert value == pytest.approx(-math.log(torch.finfo(dtype).eps))
    assert clamped == 1


def test_brier():
    assert brier(PROBS[:1], LABELS[:1]) == pytest.approx(0.3**2 + 0.2**2 + 0.1**2)
    assert brier(torch.eye(2), torch.tensor([1, 0])) == 2.0


def test_ece_of_the_example_with_confidence_one():
    table = binned(torch.tensor([0.95, 1.0]), torch.tensor([1, 0]), bins=10)
    assert binned_error(table) == pytest.approx(0.475)
    assert (table[-1].count, table[-1].confidence, table[-1].accuracy) == (2, pytest.approx(0.975), 0.5)


def test_confidence_zero_is_in_the_first_bin():
    table = binned(torch.tensor([0.0, 1.0]), torch.tensor([1, 1]), bins=4)
    assert [row.count for row in table] == [1, 0, 0, 1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_bin_holds_its_upper_edge_in_either_dtype(dtype):
    tenths = torch.arange(1, 11, dtype=dtype) / 10
    assert [row.count for row in binned(tenths, torch.ones(10), bins=10)] == [1] * 10


def test_empty_bins_are_gaps():
    table = binned(torch.tensor([0.9]), torch.tensor([1]), bins=3)
    assert [(row.confidence, row.accuracy) for row in table[:2]] == [(None, None)] * 2
    assert [row.upper for row in table] == pytest.approx([1 / 3, 2 / 3, 1])


def test_ece_the_slow_way():
    probs = (2 * normal(300, 4, rng=generator())).softmax(dim=1)
    labels = torch.randint(4, (300,), generator=generator(1))
    total = 0.0
    for lower in range(15):
        rows = [i for i in range(300) if lower / 15 < probs[i].max() <= (lower + 1) / 15]
        if rows:
            hits = sum(bool(probs[i].argmax() == labels[i]) for i in rows) / len(rows)
            total += len(rows) / 300 * abs(hits - sum(float(probs[i].max()) for i in rows) / len(rows))
    assert ece(probs, labels) == pytest.approx(total)


def test_perfect_calibration_has_no_error():
    probs = torch.tensor([[0.75, 0.25]]).repeat(4, 1)
    assert ece(probs, torch.tensor([0, 0, 0, 1])) == pytest.approx(0)


def test_equal_mass_bins_hold_about_equal_counts():
    probs = (2 * normal(600, 3, rng=generator())).softmax(dim=1)
    table = reliability_table(probs, torch.zeros(600, dtype=torch.int64), bins=6, equal_mass=True)
    assert all(98 <= row.count <= 102 for row in table)
    assert sum(row.count for row in table) == 600
    assert (table[0].lower, table[-1].upper) == (0, 1)


def test_evaluate_gathers_all():
    metrics = evaluate(PROBS, LABELS, bins=10)
    assert (metrics.accuracy, metrics.n, metrics.clamped, metrics.bins) == (0.75, 4, 0, 10)
    assert metrics.nlpd == nlpd(PROBS, LABELS).value
    assert (metrics.ece, metrics.brier) == (ece(PROBS, LABELS, 10), brier(PROBS, LABELS))


def test_labels_and_rows_must_match():
    with pytest.raises(ValueError, match="4 rows of probabilities came with 3 labels"):
        evaluate(PROBS, LABELS[:3])
    with pytest.raises(ValueError, match="0 labels"):
        accuracy(PROBS[:0], LABELS[:0])
