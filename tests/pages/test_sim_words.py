"""What a simulation is said to show: against random, by its interval, never more than that."""

import math
from dataclasses import replace

import pytest

from core.simulation.summary import Band, band, difference, table
from pages.parts import sim_charts, sim_words
from pages.parts.sim_study import counted, mark_of, point_at
from tests.pages.sim_toy import BATCH, CONFIG, SPENT, made_points, made_study


def test_a_faster_strategy_is_said_to_be_with_its_interval_and_the_answers_it_saves():
    study = made_study(made_points({"random": 0.05, "epig": 0.18}))
    mean, low, high = difference(study.curves, "epig", "random", "accuracy")
    assert low > 0
    said = sim_words.answer(study)
    assert said.startswith("**EPIG learns faster than random here:** +0.26")
    assert f"+{mean:.3f} [{low:.3f}, {high:.3f}] in accuracy, averaged over the rounds and 3 seeds" in said
    assert "EPIG reached what random reached with 30 answers (0.470) after 10 answers" in said
    assert f"both spent {SPENT} validation labels beside them" in said
    unused = made_study(made_points({"random": 0.05, "epig": 0.15}, spent=0))
    assert "validation" not in sim_words.answer(unused)


def test_a_slower_one_is_said_to_be_slower():
    said = sim_words.answer(made_study(made_points({"random": 0.15, "epig": 0.05})))
    assert "**EPIG learns slower than random here:** −0.199 [−0.201, −0.197]" in said
    assert "did not reach random's 0.770, for which random took 30 answers" in said


def test_what_chance_may_have_done_is_no_win():
    points = made_points({"random": 0.05, "epig": 0.05})
    shaken = [
        replace(p, figures={name: value + (p.strategy == "epig") * (0.1, -0.06, 0.02)[p.seed]})
        for p in points
        for name, value in [("accuracy", p.figures["accuracy"])]
    ]
    said = sim_words.answer(made_study(shaken))
    assert "**EPIG and random cannot be told apart here:**" in said
    assert "the interval holds 0; more seeds narrow it" in said
    assert "faster" not in said


@pytest.mark.parametrize(
    ("gains", "seeds", "said"),
    [
        (
            {"random": 0.1, "epig": 0.2},
            1,
            "**EPIG is ahead of random with one seed, which says nothing",
        ),
        ({"random": 0.1}, 2, "**Only random so far.**"),
        ({"epig": 0.1}, 2, "**Nothing to compare with yet:**"),
        ({"random": -0.05, "epig": 0.1}, 2, "Random ended at 0.160, no better than before its first answer."),
        ({"random": 0.05, "badge": 0.1}, 2, "**BADGE learns faster than random here:**"),
    ],
)
def test_what_is_not_known_yet_is_not_said(gains, seeds, said):
    assert said in sim_words.answer(made_study(made_points(gains, range(seeds))))


def test_the_best_of_several_comes_with_a_warning():
    said = sim_words.answer(made_study(made_points({"random": 0.05, "epig": 0.1, "badge": 0.2})))
    assert said.startswith("**EPIG learns faster")
    assert "BADGE had the highest mean (+0.3" in said
    assert "the best of 2 is partly luck" in said
    assert "luck" not in sim_words.answer(made_study(made_points({"random": 0.05, "epig": 0.2, "badge": 0.1})))


def test_split_protocol_and_validation_are_named_by_the_figures_and_on_the_plot():
    study = made_study(made_points({"random": 0.1, "epig": 0.2}))
    said = sim_words.basis(study)
    for part in (
        "test split, 30 images of sketch",
        "pool of 60",
        "3 seeds, from 0",
        "batches of 10",
        "after each batch",
    ):
        assert part in said
    assert sim_words.axis(study) == "labels, 20 of them validation · learned in batches of 10"
    config = replace(CONFIG, protocol="paper", validation="unused")
    other = made_study(made_points({"random": 0.1}, spent=0), config=config)
    assert sim_words.axis(other) == "answers, no validation label is used · learned one by one"


def test_the_table_has_a_line_for_each_strategy_and_counts_what_it_picked(site):
    paths = [f"{i}.png" for i in range(30)]
    study = made_study(made_points({"random": 0.05, "epig": 0.18}, paths=paths))
    images = {
        path: sim_words.PickedRow(path, "0" * 64, "sketch" if i % 3 else "photo", i, i % 2)
        for i, path in enumerate(paths)
    }
    frame = sim_words.strategy_table(study, "accuracy", images).set_index("strategy")
    assert list(frame.index) == ["EPIG", "Random"]
    line = frame.loc["EPIG"]
    assert line["curve"] == pytest.approx(band(study.curves, "epig", "accuracy").mean)
    assert (line["labels"], line["classes"], round(line["of target"])) == (SPENT + BATCH, 2, 67)
    assert math.isnan(frame.loc["Random", "difference"])
    assert sim_words.strategy_table(study, "accuracy", {}, level=0.7).set_index("strategy")["labels"]["EPIG"] == 50
    assert set(frame.columns) <= {*sim_words.columns(study, "nlpd", "0.5"), "seeds"}


def test_points_are_found_again_by_their_marks():
    study = made_study(made_points({"random": 0.05, "typiclust": 0.1}))
    more = made_study(made_points({"random": 0.05, "epig": 0.1, "typiclust": 0.1}))
    mark = mark_of(study, "typiclust", 2)
    assert point_at(more, mark) == ("typiclust", 2)
    assert point_at(study, mark_of(more, "epig", 1)) is None
    assert point_at(study, None) is None


def test_the_chart_has_a_band_and_marks_for_each_curve_and_stays_within_what_can_be():
    found = Band((0, 10), (0.5, 0.9), (0.2, 0.7), (0.8, 1.3))
    alone = Band((0, 10), (0.5, 0.9), (math.nan,) * 2, (math.nan,) * 2)
    lines = [
        sim_charts.Line("<b>", found, sim_charts.look(0), (1, 2)),
        sim_charts.Line("one seed", alone, sim_charts.look(1), (3, 4)),
    ]
    chart = sim_charts.learning_curves(lines, "labels", "Accuracy", 1.0, chosen=2)
    curves = [each for each in chart.data if each.mode == "lines+markers"]
    assert [[mark[0] for mark in each.customdata] for each in curves] == [[1, 2], [3, 4]]
    assert list(chart.data[1].y) == [0.8, 1.0]
    assert curves[0].name == "&lt;b&gt;"
    assert list(curves[0].marker.size) == [9, 14]
    assert "95 %" in curves[0].hovertemplate
    assert "95 %" not in curves[1].hovertemplate
    assert len({sim_charts.look(i) for i in range(27)} | {sim_charts.RANDOM_LOOK}) == 28


def test_counts_name_the_most_frequent():
    assert counted(["a", "b", "a", "c"], most=2) == "a 2, b 1 and 1 more"
    assert counted(["a", "b", "a"]) == "a 2, b 1"


def test_differences_are_drawn_with_their_intervals_and_one_seed_has_none():
    study = made_study(made_points({"random": 0.05, "epig": 0.18}))
    rows = {row.strategy: row for row in table(study.points)}
    looks = [(name, row, sim_charts.look(0)) for name, row in rows.items()]
    (mark,) = sim_charts.differences(looks, "x").data
    row = rows["epig"]
    assert (mark.y[0], mark.x[0]) == ("epig", row.difference)
    assert mark.x[0] + mark.error_x.array[0] == pytest.approx(row.high)
    assert mark.x[0] - mark.error_x.arrayminus[0] == pytest.approx(row.low)
