"""The Rounds page of a project that has learned, as Streamlit runs it without a browser."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from core import cockpit
from core.figures import confusion
from core.simulation.summary import Band
from db import repository
from db.repository import LabelKind
from pages.parts import charts, one_round, two_rounds
from pages.parts.sim_baseline import baseline
from tests.pages.sim_toy import CONFIG, about_of, made_points, store
from tests.pages.test_pages import MAIN, buttons, strong, words
from tests.test_history import learn_twice, rows_of, say
from tests.toy import make_project


@pytest.fixture
def learned(site, tmp_path, monkeypatch) -> int:
    project = make_project(site.database, tmp_path / "toy", 96, "toy", monkeypatch)
    learn_twice(site.database, project)
    return project


@pytest.fixture
def open_rounds(site, learned):
    def run(**state) -> AppTest:
        app = AppTest.from_file(MAIN, default_timeout=60)
        app.query_params["project"] = str(learned)
        for name, value in state.items():
            app.session_state[name] = value
        app = app.run().switch_page("rounds.py").run()
        assert not app.exception
        return app

    return run


def test_every_part_says_of_what_its_figures_are(open_rounds, site, learned):
    app = open_rounds()
    said = words(app)
    n = rows_of(site.database, learned)[-1].metrics["n"]
    for heading in ("With every answer", "Is there more to learn?", "Two models on the same images", "One round"):
        assert heading in said
    assert said.count(f"test split, {n} images · ECE with 15 bins") == 2  # curves, two models
    assert f"Model 2 · test split, {n} images · 15 bins of equal width: ECE 0." in said
    assert "500 bootstrap resamples of the images, seed 0" in said
    assert "In closed form, so without a noise floor" in said
    assert "learned from 20 answers" in said
    assert "**8 new answers** · Ada 8 · asked for by oracle 8" in said


def test_a_class_narrows_every_part_and_what_is_undefined_is_said(open_rounds, site, learned):
    on = cockpit.measured(site.database, learned, "toy")
    app = open_rounds()
    app.selectbox(key=f"class-{learned}").set_value(on.labels[0]).run()
    assert not app.exception
    n = on.labels.count(on.labels[0])
    assert f"test split, {n} image" in words(app)
    assert "Not defined on images of one class." in words(app)


def test_a_class_without_test_images_is_said(open_rounds, site, learned):
    on = cockpit.measured(site.database, learned, "toy")
    missing = next(each for each in range(12) if each not in on.labels)
    app = open_rounds()
    app.selectbox(key=f"class-{learned}").set_value(missing).run()
    assert not app.exception
    assert "no test image of this choice" in words(app)


def test_a_cell_and_a_point_show_as_many_images_as_they_count(open_rounds, site, learned):
    last = rows_of(site.database, learned)[-1]
    judged = cockpit.judged(last, cockpit.measured(site.database, learned, "toy"))
    table = confusion(judged, 12)
    cell = int(table.clone().fill_diagonal_(0).argmax())
    memory = f"cell-{last.id}-None-None"
    app = open_rounds(**{memory: cell, f"curve-{learned}": f"curve-{learned}-nlpd", f"curve-{learned}-nlpd": 1})
    assert f"**{table.flatten()[cell]} image" in words(app)
    assert "taken for" in words(app)
    assert "**Model 1: " in words(app)


def test_a_model_is_rolled_back_to_from_its_round(open_rounds, site, learned):
    app = open_rounds()
    assert "Roll back" not in buttons(app)  # the newest is in use
    app.selectbox(key=f"one-{learned}").set_value(1).run()
    next(each for each in app.button if each.label == "Roll back").click().run()
    assert not app.exception
    row = rows_of(site.database, learned)[-1]
    assert (row.number, row.metrics["rolled_back_to"]) == (3, 1)
    assert "Model 3, which is model 1 again, is right on" in words(app)
    assert strong(app) == ["Start round"]  # 8 answers are newer than what it learned
    assert app.dataframe[-1].value["note"].tolist()[0] == "rolled back to model 1"


def test_a_changed_answer_makes_the_model_stale_and_a_round_the_next_step(open_rounds, site, learned):
    assert strong(open_rounds()) == ["Label images"]
    with site.database.read() as s:
        withdrawn = min(repository.answers(s, learned))
    say(site.database, learned, withdrawn, LabelKind.UNDO)
    app = open_rounds()
    assert app.warning[0].value == "1 answer that model 2 learned from has changed: start a round."
    assert strong(app) == ["Start round"]


@pytest.mark.parametrize("reviewer", [False, True])
def test_in_a_blind_project_who_only_labels_sees_no_answer_of_others(open_rounds, site, learned, monkeypatch, reviewer):
    with site.database.write() as s:
        repository.set_team(s, learned, {"blind": True})
        withdrawn = min(repository.answers(s, learned))
    say(site.database, learned, withdrawn, LabelKind.UNDO)
    monkeypatch.setattr(one_round, "may", lambda needed: reviewer)
    app = open_rounds()
    assert not app.exception
    assert any("labelled blind" in each.value for each in app.caption) is not reviewer
    assert ("Which answers" in [each.label for each in app.expander]) is reviewer


def test_the_groups_of_two_models_are_where_they_differ(site, learned):
    on = cockpit.measured(site.database, learned, "toy")
    one, other = (cockpit.judged(row, on) for row in rows_of(site.database, learned)[:2])
    found = two_rounds.groups(one, other)
    pairs = list(zip(one.predicted.tolist(), other.predicted.tolist(), one.labels.tolist(), strict=True))
    assert found[0] == [i for i, (a, b, truth) in enumerate(pairs) if b == truth != a]
    assert found[1] == [i for i, (a, b, truth) in enumerate(pairs) if a == truth != b]
    assert found[2] == [i for i, (a, b, truth) in enumerate(pairs) if len({a, b, truth}) == 3]


def test_a_verdict_names_what_changed_beyond_chance():
    nothing = {metric: (-0.1, 0.1) for metric in cockpit.METRICS}
    change = dict.fromkeys(cockpit.METRICS, 0.0)
    assert "no difference beyond chance" in two_rounds.verdict(cockpit.Step(2, change, nothing), 1, 2)
    moved = cockpit.Step(
        2, change | {"nlpd": -0.2, "accuracy": -0.1}, nothing | {"nlpd": (-0.3, -0.1), "accuracy": (-0.2, -0.05)}
    )
    assert (
        two_rounds.verdict(moved, 1, 2)
        == "Model 2 is better in NLPD and worse in Accuracy than model 1, beyond chance."
    )


def test_settings_are_flat_and_complete(site):
    table = one_round.settings(site.rounds()[-1]).set_index("setting")["value"]
    assert table["encoder"] == "none"
    assert dict(one_round._flat({"a": {"b": 1, "c": {"d": 2}}, "e": 3})) == {"a.b": 1, "a.c.d": 2, "e": 3}


def test_charts_show_what_people_wrote_literally_and_cells_by_row():
    chart = charts.confusion([[3, 1], [0, 4]], ["<b>cat</b> & co", "dog"], chosen=1)
    assert chart.layout.xaxis.ticktext == ("&lt;b&gt;cat&lt;/b&gt; &amp; co", "dog")
    bars = chart.data[0]
    assert list(bars.text) == ["3", "1", "", "4"]
    assert [cell[0] for cell in bars.customdata] == [0, 1, 2, 3]
    assert list(bars.x) == [0, 1, 0, 1]
    assert list(np.add(bars.base, 0.46).round()) == [0, 0, 1, 1]
    assert list(bars.marker.line.width) == [0, 3, 0, 0]


def test_random_lies_beside_the_rounds_marked_as_simulated(open_rounds, site, learned):
    app = open_rounds()
    assert "Compare with random" in buttons(app)
    assert "simulated" not in words(app)
    store(site.database, learned, made_points({"random": 0.1, "epig": 0.2}, range(2)))
    app = open_rounds()
    said = "Grey, dashed: random, **simulated** on the 90 images whose class is known, 2 seeds, batches of 10"
    assert said in words(app)
    assert "Compare with random" not in buttons(app)
    on = cockpit.measured(site.database, learned, "toy")
    app.selectbox(key=f"class-{learned}").set_value(on.labels[0]).run()
    assert "simulated" not in words(app), "it is measured on all classes"


@pytest.mark.parametrize("change", [{"protocol": "batch"}, {"gains": {"epig": 0.1}}, {"classes": ["other"]}])
def test_a_simulation_that_is_no_match_is_not_shown(site, learned, monkeypatch, change):
    config = replace(CONFIG, protocol=change.get("protocol", "rounds"))
    if "classes" in change:
        monkeypatch.setattr("tests.pages.sim_toy.about_of", lambda target, names: about_of(target, change["classes"]))
    store(site.database, learned, made_points(change.get("gains", {"random": 0.1})), config)
    with site.database.read() as s:
        project = repository.project(s, learned)
    names = [each.name for each in project.classes]
    view = SimpleNamespace(project=project, label=None, domain=None, names=names)
    assert baseline(view) is None
    store(site.database, learned, made_points({"random": 0.1}), replace(CONFIG, batch=11))
    found = baseline(view)
    assert (found is None) is ("classes" in change)
    assert found is None or found.of("accuracy").labels == (0, 10, 20, 30), "answers alone, no validation label"


def test_the_simulated_curve_is_named_on_the_plot():
    band = Band((0, 10), (0.5, 0.6), (0.4, 0.5), (0.6, 0.7))
    names = ("round", "labels", *(f"accuracy{each}" for each in ("", "_posterior", "_map", "_low", "_high")))
    frame = pd.DataFrame([dict.fromkeys(names, 0.5)])
    chart = charts.learning_curve(frame, "accuracy", None, band)
    (line,) = [each for each in chart.data if each.name == "random, simulated"]
    assert (list(line.x), list(line.y), line.text[-1]) == ([0, 10], [0.5, 0.6], "random, simulated")
    assert len(charts.learning_curve(frame, "accuracy").data) == len(chart.data) - 1
