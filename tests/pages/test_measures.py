"""What is said of a round is what its metrics say."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq

from pages.parts import measures
from pages.parts.charts import reliability


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (3, 20), (20, 20), (87, 150)])
def test_wilson_is_where_the_score_test_rejects(hits, n):
    """The ends solve |p̂ − p| = 1.96·√(p(1 − p)/n)."""
    share = hits / n
    low, high = measures.wilson(share, n)

    def score(p):
        return (share - p) ** 2 * n - 1.959964**2 * p * (1 - p)

    if hits:
        assert low == pytest.approx(brentq(score, 1e-12, share - 1e-9), abs=1e-6)
    if hits < n:
        assert high == pytest.approx(brentq(score, share + 1e-9, 1 - 1e-12), abs=1e-6)


def test_nothing_measured_is_a_gap_and_said(site):
    first, last = site.rounds()
    unmeasured = type(last)(**{name: getattr(last, name) for name in last.__slots__} | {"metrics": {}})
    frame = measures.frame([first, unmeasured])
    assert frame["accuracy"].isna().tolist() == [False, True]
    assert measures.value_and_change(frame, "accuracy") == ("–", None)
    assert measures.bins(unmeasured) is None
    assert "cannot be said" in measures.sentence(unmeasured)


def test_a_round_of_other_classes_is_no_round_to_compare_with(site):
    first, last = site.rounds()
    renamed = dataclasses.replace(last, class_version=first.class_version + 1)
    assert measures.of_the_same_classes([first, last]) == [first, last]
    frame = measures.frame(measures.of_the_same_classes([first, renamed]))
    assert measures.value_and_change(frame, "accuracy")[1] is None


def test_the_change_is_against_the_round_before(site):
    frame = measures.frame(site.rounds())
    assert measures.value_and_change(frame, "nlpd") == ("1.000", "-0.200")
    assert measures.basis(site.rounds()[-1]) == "Model 1 · test split, 20 images · ECE with 2 bins · seed 0"


@pytest.mark.parametrize(
    ("metric", "before", "after", "says"),
    [
        ("accuracy", 0.5, 0.5, False),
        ("accuracy", 0.5, 0.65, False),  # Wilson of 10 of 20: 0.30 to 0.70
        ("accuracy", 0.5, 0.75, True),
        ("nlpd", 1.0, 1.0004, False),
        ("nlpd", 1.0, 0.9, True),
        ("nlpd", None, 0.9, False),
    ],
)
def test_a_change_within_the_noise_says_nothing(metric, before, after, says):
    low, high = measures.wilson(0.5, 20)
    frame = pd.DataFrame({metric: [before, after], "accuracy_low": [low, low], "accuracy_high": [high, high]})
    assert measures.says_something(frame, metric) == says


def test_one_round_has_no_change(site):
    frame = measures.frame(site.rounds()[:1])
    assert measures.value_and_change(frame, "nlpd") == ("1.200", None)
    assert not measures.says_something(frame, "nlpd")


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ({"chosen_by": "validation, 20 images"}, "posterior at τ 30 by validation, 20 images ·"),
        ({"chosen_by": "x", "served": "map"}, "MAP by x ·"),
        ({"chosen_by": "default", "chosen_on": {"validation": 0, "answers": 0}}, "τ 30 by default ·"),
        ({"chosen_by": "x", "chosen_on": {"validation": 4, "answers": 15}}, "by x (few: the choice is uncertain) ·"),
        ({"chosen_by": "x", "chosen_on": {"validation": 4, "answers": 16}}, "by x ·"),
    ],
)
def test_what_is_served_and_how_it_was_chosen_is_said(site, metrics, words):
    last = changed(site.rounds()[-1], tau=30.0, map={"accuracy": 0.5}, **metrics)
    assert words in measures.basis(last)


def test_a_metric_without_any_value_is_an_empty_cell(site):
    nothing = changed(site.rounds()[-1], posterior=None, map=None)
    assert measures.table([nothing])["Accuracy"].dtype == float  # an empty cell, not the word None


@pytest.mark.parametrize(("labels", "steps", "kept"), [(10, 0, True), (10, 7, False), (0, 0, False), (10, None, False)])
def test_a_head_that_stayed_is_said(site, labels, steps, kept):
    row = dataclasses.replace(site.rounds()[-1], labels=labels, settings={"steps": steps})
    assert measures.kept_pretrained(row) == kept


def changed(row, **metrics):
    return dataclasses.replace(row, metrics=row.metrics | metrics)


def test_a_model_that_says_90_and_is_right_on_70_is_too_sure(site):
    last = site.rounds()[-1]
    assert "when it says 90 % it is right 70 % of the time" in measures.sentence(last)
    assert measures.trust(measures.bins(last)).startswith("**Too sure.** On average its confidence is 20 points above")


def test_an_empty_bin_is_a_gap_in_the_line_and_all_are_counted(site):
    chart = reliability(measures.bins(site.rounds()[-1]))
    line, bars = chart.data[1], chart.data[2]
    np.testing.assert_allclose(line.x, [np.nan, 0.9])
    assert not line.connectgaps
    assert list(bars.y) == [0, 20]
