"""The Simulation page as Streamlit runs it: the next step, the answer first, and what a click shows."""

import pytest

from core import jobs
from core.queue import MEASURE
from core.simulation.curve import SimulationConfig
from db import repository
from db.repository import NewItem
from pages.parts import one_round, sim_form
from pages.parts.sim_study import mark_of, study_of
from tests.pages.sim_toy import CONFIG, made_points, store
from tests.pages.test_pages import buttons, open_page, strong, words  # noqa: F401 (a fixture)

PAYLOAD = {
    "strategies": ["random", "epig"],
    "seeds": 2,
    "target": None,
    "config": {"protocol": "rounds", "validation": "spent", "batch": 10, "rounds": 3},
}
POOL = [f"{number}.png" for number in range(12) if number % 4 != 3]


@pytest.fixture
def simulation(site) -> int:
    points = made_points({"random": 0.05, "epig": 0.18}, range(2), paths=POOL)
    return store(site.database, site.project, points)


def of(site, simulation):
    with site.database.read() as s:
        return study_of(repository.project(s, site.project), repository.simulation_row(s, simulation))


def test_without_one_the_choices_are_open_with_what_they_cost_and_the_strong_button_starts(open_page, site):  # noqa: F811
    app = open_page("simulation")
    assert strong(app) == ["Start simulation"]
    said = words(app)
    assert "15 curves of 70 answers" in said
    assert "the pool has only 9 known images: the curves end there" in said
    assert "measured on 3 test images" in said
    assert "EPIG**: the highest score" in said
    app.number_input[0].set_value(2).run()
    next(each for each in app.button if each.label == "Start simulation").click().run()
    assert not app.exception
    job = jobs.latest(site.database, site.project, "simulate")
    asked = {"protocol": "rounds", "validation": "unused", "batch": 10, "rounds": 7}  # no validation image is there
    assert job.payload == {
        "strategies": ["random", "epig", "entropy-wasserstein"],
        "seeds": 2,
        "target": None,
        "config": asked,
    }
    assert "Start simulation" not in buttons(app), "it runs: a second one has to wait"
    assert "rounds of this project wait until it ends" in words(app)


def test_where_no_class_is_known_it_says_what_to_do(open_page, site):  # noqa: F811
    with site.database.write() as s:
        other = repository.create_project(
            s, name="flat", root=str(site.root), model="mini", prompt="{class}", classes=["a", "b"]
        )
        rows = [NewItem(f"{n}.png", each, None, 9, 9, "test" if n else "pool") for n, each in enumerate(site.hashes)]
        repository.add_items(s, other, rows)
        from tests.pages.conftest import round_columns

        repository.add_round(s, other, **round_columns(0))
    app = open_page("simulation", project=other)
    assert "Known are 0 images of the pool and 0 of the test split" in words(app)
    assert strong(app) == ["Label images to measure with"]
    next(each for each in app.button if each.label == "Label images to measure with").click().run()
    assert app.query_params["order"] in (MEASURE, [MEASURE])


def test_without_a_model_it_leads_to_the_projects(open_page, site):  # noqa: F811
    with site.database.write() as s:
        other = repository.create_project(
            s, name="new", root=str(site.root), model="mini", prompt="{class}", classes=["a", "b"]
        )
    assert strong(open_page("simulation", project=other)) == ["See the projects"]


def test_the_answer_comes_first_then_of_what_it_is(open_page, site, simulation):  # noqa: F811
    app = open_page("simulation")
    assert app.markdown[0].value.startswith("##### **EPIG learns faster than random here:**")
    said = words(app)
    assert "test split, 30 images · pool of 60 · 2 seeds, from 0 · batches of 10" in said
    table = next(each.value for each in app.dataframe if "area" in each.value)
    assert list(table["strategy"]) == ["EPIG", "Random"]
    assert "every point of every seed: 16 rows" in said
    app.segmented_control[0].set_value("nlpd").run()
    assert not app.exception
    assert "NLPD: nats, lower is better" in words(app)
    table = next(each.value for each in app.dataframe if "area" in each.value)
    assert list(table["strategy"]) == ["Random", "EPIG"], "lower is better"


@pytest.mark.parametrize("blind", [False, True])
def test_a_point_shows_what_was_asked_before_it(open_page, site, simulation, monkeypatch, blind):  # noqa: F811
    monkeypatch.setattr("pages.parts.sim_sections.blind_to_answers", lambda project: blind)
    mark = mark_of(of(site, simulation), "epig", 1)
    app = open_page("simulation", **{f"sim-mark-{simulation}": mark})
    said = words(app)
    assert "**EPIG, round 1** · Accuracy 0." in said
    assert "18 images" in said  # 9 of each seed
    shown = [each.value for each in app.caption if "seed 0" in each.value]
    assert len(shown) == 9
    assert any("cat" in each for each in shown) is not blind
    start = mark_of(of(site, simulation), "random", 0)
    assert "nothing was asked yet" in words(open_page("simulation", **{f"sim-mark-{simulation}": start}))


def test_names_that_people_wrote_are_shown_letter_by_letter(open_page, site, simulation):  # noqa: F811
    app = open_page("simulation", **{f"sim-mark-{simulation}": mark_of(of(site, simulation), "epig", 1)})
    assert r"dog \*bold\*" in words(app)
    assert "dog *bold*" not in words(app)


def test_a_stopped_one_says_what_is_kept_and_goes_on(open_page, site, simulation):  # noqa: F811
    jobs.ask_cancel(site.database, jobs.enqueue(site.database, site.project, "simulate", PAYLOAD))
    app = open_page("simulation")
    assert app.info[0].value == "The simulation was stopped: 4 whole curves of 4 are kept."
    assert strong(app) == ["Go on"]
    next(each for each in app.button if each.label == "Go on").click().run()
    assert not app.exception
    job = jobs.latest(site.database, site.project, "simulate")
    assert (job.state, job.payload) == ("queued", PAYLOAD)


def test_while_it_runs_its_own_curves_are_shown(open_page, site, simulation):  # noqa: F811
    store(site.database, site.project, made_points({"badge": 0.1}), SimulationConfig(batch=5, rounds=3))
    assert "Nothing to compare with yet" in words(open_page("simulation"))  # the newest
    jobs.enqueue(site.database, site.project, "simulate", PAYLOAD)
    app = open_page("simulation")
    assert "EPIG learns faster" in words(app)
    assert not any(each.label == "Simulation" for each in app.selectbox)


def test_of_several_one_is_chosen_and_kept_in_the_address(open_page, site, simulation):  # noqa: F811
    newer = store(site.database, site.project, made_points({"badge": 0.1}), SimulationConfig(batch=5, rounds=3))
    app = open_page("simulation")
    (box,) = [each for each in app.selectbox if each.label == "Simulation"]
    assert [each.rsplit(" ", 1)[-1] for each in box.options] == [str(newer), str(simulation)]
    box.set_value(box.options[1]).run()
    assert not app.exception
    assert app.query_params["simulation"] in (str(simulation), [str(simulation)])
    assert "EPIG learns faster" in words(app)


def test_who_only_labels_sees_it_and_starts_none(open_page, site, simulation, monkeypatch):  # noqa: F811
    monkeypatch.setattr(sim_form, "may", lambda needed: False)
    app = open_page("simulation")
    assert "Start simulation" not in buttons(app)
    assert "Reviewers and owners start simulations" in words(app)


def test_the_settings_of_a_job_find_its_simulation(site, simulation):
    with site.database.read() as s:
        project = repository.project(s, site.project)
    assert sim_form.simulated(project, PAYLOAD).id == simulation
    other = PAYLOAD | {"config": PAYLOAD["config"] | {"batch": 11}}
    assert sim_form.simulated(project, other) is None
    assert sim_form.simulated(project, PAYLOAD | {"target": "mars"}) is None
    assert SimulationConfig(**PAYLOAD["config"]) == CONFIG
    assert one_round.blind_to_answers(project) is False
