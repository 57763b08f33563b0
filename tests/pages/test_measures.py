"""What is said of a round is what its metrics say."""

import numpy as np
import pytest
from scipy.optimize import brentq

from pages.parts import measures
from pages.parts.charts import learning_curve, reliability


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
    learning_curve(frame, "accuracy")


def test_the_change_is_against_the_round_before(site):
    frame = measures.frame(site.rounds())
    assert measures.value_and_change(frame, "nlpd") == ("1.000", "-0.200")
    assert measures.basis(site.rounds()[-1]) == "Model 1 · test split, 20 images · ECE with 2 bins · seed 0"


def test_a_model_that_says_90_and_is_right_on_70_is_too_sure(site):
    last = site.rounds()[-1]
    assert "when it says 90 % it is right 70 % of the time" in measures.sentence(last)
    assert measures.trust(measures.bins(last)).startswith("**Too sure.** On average its confidence is 20 points above")


def test_the_diagram_leaves_empty_bins_out_of_the_line_and_counts_all(site):
    chart = reliability(measures.bins(site.rounds()[-1]))
    line, bars = chart.data[1], chart.data[2]
    np.testing.assert_allclose(line.x, [0.9])
    assert list(bars.y) == [0, 20]
