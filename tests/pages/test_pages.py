"""Every page as Streamlit runs it, without a browser: it says the next step and escapes what people wrote."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import jobs
from core.queue import MEASURE
from db import repository
from db.repository import NewItem
from pages.parts import import_source, uploading
from tests.pages.conftest import round_columns
from tests.pages.fakes import FakeQueue

MAIN = str(Path(__file__).parents[2] / "pages" / "main.py")


@pytest.fixture
def open_page(site, monkeypatch):
    monkeypatch.setattr("core.queue.queue_for", FakeQueue)

    def run(page: str | None = None, project: int | None = site.project, person: str | None = "Ada", **state):
        app = AppTest.from_file(MAIN, default_timeout=20)
        for name, value in state.items():
            app.session_state[name] = value
        if project is not None:
            app.query_params["project"] = str(project)
        if person is not None:
            with site.database.write() as session:
                app.session_state["person"] = (repository.person(session, person), person)
        app = app.run()
        if page:
            app = app.switch_page(f"{page}.py").run()
        assert not app.exception
        return app

    return run


def words(app) -> str:
    return "\n".join(each.value for kind in (app.title, app.subheader, app.markdown, app.caption) for each in kind)


def buttons(app) -> list[str]:
    return [each.label for each in app.button]


def strong(app) -> list[str]:
    return [each.label for each in app.button if each.proto.type == "primary"]


def test_projects_show_cards_with_the_next_step(open_page):
    app = open_page()
    assert strong(app) == ["Label"]
    assert "**60 %** right on the test split (20 images)" in words(app)
    assert r"Tiny \<b\>" in words(app)


def test_without_projects_there_is_one_strong_button(open_page, site):
    with site.database.write() as session:
        repository.delete_project(session, site.project)
    assert strong(open_page(project=None)) == ["New project"]


def test_annotate_asks_for_a_name_once_and_says_that_it_is_no_login(open_page):
    app = open_page("annotate", person=None)
    assert "no login" in words(app)
    assert "Who is labelling?" in words(app)


def test_annotate_stores_what_the_desk_reports_and_says_so(open_page, site):
    with site.database.read() as session:
        item = repository.items(session, site.project, "pool")[0].id
        chosen = repository.project(session, site.project).classes[1].id
    with site.database.write() as session:
        person = repository.person(session, "Ada")
    event = {"key": "abc:1", "seq": 1, "item": item, "kind": "answer", "class": chosen, "lead_ms": 320, "seen": True}
    event |= {"round": 1, "source": "epig", "guess": chosen, "guess_probability": 0.6}
    report = {"turn": 17, "events": [event]}
    app = open_page("annotate")
    app.session_state[f"desk-{site.project}-{person}"] = {"report": report}
    app.run().run()
    with site.database.read() as session:
        (label,) = repository.history(session, item)
    assert (label.class_id, label.lead_ms, label.suggestion_seen, label.person) == (chosen, 320, True, "Ada")


def test_annotate_before_the_images_are_read_says_what_to_press(open_page, site):
    with site.database.write() as session:
        other = repository.create_project(
            session, name="new", root=str(site.root), model="mini", prompt="{class}", classes=["a", "b"]
        )
    assert strong(open_page("annotate", project=other)) == ["Read the images"]


def test_rounds_say_it_in_plain_words_with_three_figures(open_page):
    app = open_page("rounds")
    assert "Model 1 is right on 60 % of the test images" in words(app)
    assert [(each.label, each.value, each.delta) for each in app.metric] == [
        ("Accuracy", "0.600", "+0.100"),
        ("NLPD", "1.000", "-0.200"),
        ("ECE", "0.150", "-0.050"),
    ]
    assert "test split, 20 images" in words(app)


@pytest.mark.parametrize("page", ["annotate", "rounds"])
def test_without_a_project_each_page_leads_to_the_projects(open_page, site, page):
    with site.database.write() as session:
        repository.create_project(session, name="second", root="/", model="mini", prompt="{class}", classes=["a", "b"])
    assert strong(open_page(page, project=None)) == ["See the projects"]


def test_nothing_is_written_before_the_last_step(open_page, site):
    app = open_page(**{"new-project": True, import_source.KEY: uploading.on_server(str(site.root))})
    assert "**12 images · 0 classes**" in words(app)
    with site.database.read() as session:
        assert len(repository.projects(session)) == 1


@pytest.fixture
def flat(site) -> int:
    """A project whose images came without a class: nothing to measure with, and one round."""
    with site.database.write() as session:
        project = repository.create_project(
            session, name="flat", root=str(site.root), model="mini", prompt="{class}", classes=["a", "b"]
        )
        rows = [NewItem(f"{n}.png", each, None, 9, 9, "test" if n else "pool") for n, each in enumerate(site.hashes)]
        repository.add_items(session, project, rows)
        nothing = {"split": "test", "n": 0, "served": "posterior", "posterior": None, "map": None, "reliability": []}
        columns = round_columns(0) | {"labels": 3, "settings": {"steps": 0}, "metrics": nothing}
        repository.add_round(session, project, **columns | {"number": 0})
    return project


def test_rounds_without_anything_to_measure_with_lead_to_labelling_some(open_page, flat):
    app = open_page("rounds", project=flat)
    assert "cannot be said" in words(app)
    assert "the pre-trained head stays" in words(app)
    assert "With every answer" not in words(app)
    (lead,) = [each for each in app.button if each.label == "Label 11 images to measure with"]
    lead.click().run()
    assert not app.exception
    assert app.query_params["order"] in (MEASURE, [MEASURE])
    assert app.selectbox(key=f"source-{flat}").value == MEASURE


def test_the_order_is_kept_over_a_reload(open_page, site):
    app = open_page("annotate")
    assert not any("to measure" in each for each in app.selectbox(key=f"source-{site.project}").options)
    app.selectbox(key=f"source-{site.project}").set_value("bald").run()
    assert app.query_params["order"] in ("bald", ["bald"])
    app.switch_page("rounds.py").run()
    app.switch_page("annotate.py").run()
    assert app.selectbox(key=f"source-{site.project}").value == "bald"


def test_a_model_whose_file_is_gone_keeps_its_stored_figures_and_says_so(open_page, site):
    with site.database.write() as session:
        other = repository.create_project(
            session, name="one", root=str(site.root), model="mini", prompt="{class}", classes=["a", "b"]
        )
        repository.add_round(session, other, **round_columns(0))
    app = open_page("rounds", project=other)
    assert len(app.metric) == 3
    assert "the model's file is gone" in words(app)


def test_a_stopped_import_goes_on_from_the_card(open_page, site):
    with site.database.write() as session:
        other = repository.create_project(
            session, name="new", root=str(site.root), model="mini", prompt="{class}", classes=["a", "b"]
        )
    jobs.ask_cancel(site.database, jobs.enqueue(site.database, other, "prepare", {}))
    app = open_page()
    (on,) = [each for each in app.button if each.label == "Go on reading"]
    on.click().run()
    assert jobs.latest(site.database, other, "prepare").state == "queued"


def test_new_images_are_read_from_the_card(open_page, site):
    (read,) = [each for each in open_page().button if each.label == "Read new images"]
    read.click().run()
    assert jobs.latest(site.database, site.project, "prepare").state == "queued"


@pytest.mark.parametrize(("typed", "left"), [("Tiny", 1), ("Tiny <b>", 0)])
def test_a_project_is_deleted_by_its_name_alone(open_page, site, typed, left):
    app = open_page()
    app.text_input(key=f"delete-name-{site.project}").set_value(typed)
    next(each for each in app.button if each.label == "Delete project").click().run()
    assert not app.exception
    with site.database.read() as session:
        assert len(repository.projects(session)) == left


@pytest.mark.parametrize("page", [None, "annotate"])
def test_a_missing_folder_is_said(open_page, site, page):
    site.root.rename(site.root.with_name("elsewhere"))
    app = open_page(page)
    assert "is not there: put it back" in app.warning[0].value


def test_annotate_keeps_the_person_while_images_are_read(open_page, site, monkeypatch):
    kept = []
    monkeypatch.setattr("pages.parts.who.keep_person", kept.append)
    with site.database.write() as session:
        other = repository.create_project(
            session, name="new", root=str(site.root), model="mini", prompt="{class}", classes=["a", "b"]
        )
    open_page("annotate", project=other)
    assert "Ada" in kept
