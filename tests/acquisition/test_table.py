"""The table of scores is complete and plain."""

from core.acquisition.table import SCORES, Acquisition


def test_every_score_has_one_line_and_a_unit():
    assert set(SCORES) == set(Acquisition)
    for score in SCORES.values():
        assert score.title
        assert score.unit
        assert "\n" not in score.meaning


def test_second_order_scores_say_so():
    assert all("second order" in SCORES[name].unit for name in (Acquisition.EPIG, Acquisition.BALD))
