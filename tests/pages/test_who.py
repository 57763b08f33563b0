"""With accounts every page asks who it is: nobody sees only the way in, and each role what it may."""

import pytest
from streamlit.testing.v1 import AppTest

from core import jobs
from core.accounts import Role, add_account, set_disabled, set_role
from core.logins import login, sign_in
from db import repository
from pages.parts import state, who
from tests.pages.fakes import FakeQueue
from tests.pages.test_pages import MAIN, buttons, words

PASSWORD = "correct horse"


@pytest.fixture
def team(site):
    roles = {"Ada": Role.OWNER, "Bo": Role.REVIEWER, "Cy": Role.ANNOTATOR}
    return {name: add_account(site.database, name, role, password=PASSWORD) for name, role in roles.items()}


@pytest.fixture
def open_as(site, team, monkeypatch):
    monkeypatch.setattr("core.queue.queue_for", FakeQueue)

    def run(name: str | None, page: str | None = None, **session):
        cookie = sign_in(site.database, name, PASSWORD, "here") if name else None
        for module in (state, who):
            monkeypatch.setattr(module, "login", lambda: login(site.database, cookie))
        app = AppTest.from_file(MAIN, default_timeout=20)
        app.query_params["project"] = str(site.project)
        for key, value in session.items():
            app.session_state[key] = value
        app = app.run()
        if page:
            app = app.switch_page(f"{page}.py").run()
        assert not app.exception
        return app

    return run


def test_who_is_not_signed_in_sees_the_way_in_alone(open_as, team):
    app = open_as(None, person=(team["Ada"].id, "Ada"))
    assert [each.value for each in app.title] == ["Signed out"]
    assert "Tiny" not in words(app)
    assert not buttons(app)


@pytest.mark.parametrize("page", ["annotate", "rounds", "scores"])
def test_no_page_says_more(open_as, team, page):
    app = open_as("Ada")
    state.login, who.login = (lambda: None), (lambda: None)  # signed out meanwhile
    app = app.switch_page(f"{page}.py").run()
    assert [each.value for each in app.title] == ["Signed out"]


def test_the_person_is_who_signed_in_whatever_the_browser_says(open_as, team):
    app = open_as("Bo", "annotate", person=(team["Ada"].id, "Ada"))
    assert "Signed in, with the role reviewer." in words(app)
    assert "no login" not in words(app)


def test_owners_alone_make_and_delete_projects(open_as):
    assert "New project" in buttons(open_as("Ada"))
    assert "Delete project" in buttons(open_as("Ada"))
    for name in ("Bo", "Cy"):
        shown = buttons(open_as(name))
        assert "Label" in shown
        assert not {"New project", "Delete project", "Read new images"} & set(shown)


def test_a_page_that_was_opened_by_hand_is_refused(open_as):
    app = open_as("Bo", **{"new-project": True})
    assert "takes the role owner, yours is reviewer" in app.error[0].value
    assert "Look" not in buttons(app)


def test_a_role_that_was_taken_counts_at_the_next_step(open_as, site):
    add_account(site.database, "Di", Role.OWNER, password=PASSWORD)
    app = open_as("Ada")
    set_role(site.database, "Ada", Role.ANNOTATOR)
    app.text_input(f"delete-name-{site.project}").set_value("Tiny <b>")
    app.button[buttons(app).index("Delete project")].click().run()
    with site.database.read() as s:
        assert [each.name for each in repository.projects(s)] == ["Tiny <b>"]


def test_annotators_start_rounds_and_no_imports(open_as, site):
    app = open_as("Cy", "annotate")
    with site.database.read() as s:
        person = next(each for each, name in repository.people(s).items() if name == "Cy")
    report = {"turn": 1, "events": [], "asks": [{"id": "abc:a1", "do": "round"}]}
    app.session_state[f"desk-{site.project}-{person}"] = {"report": report}
    app.run()
    assert [each.kind for each in jobs.active(site.database, site.project)] == ["round"]


def test_an_import_is_an_owners(open_as, site):
    script = "from pages.parts import working\nimport streamlit as st\n"
    script += f"working.start({site.project}, 'prepare')\nst.write('started')"
    open_as("Cy")
    app = AppTest.from_string(script).run()
    assert "takes the role owner" in app.error[0].value
    assert not app.markdown
    assert jobs.active(site.database, site.project) == []
    open_as("Ada")
    assert AppTest.from_string(script).run().markdown[0].value == "started"


def test_a_disabled_account_is_out_at_the_next_step(open_as, site):
    app = open_as("Cy", "annotate")
    set_disabled(site.database, "Cy", True)
    assert [each.value for each in app.run().title] == ["Signed out"]


def test_without_accounts_everybody_is_an_owner(site):
    assert who.role() is Role.OWNER
    assert who.may(Role.OWNER)


@pytest.mark.parametrize(("name", "hidden"), [("Cy", True), ("Bo", False), ("Ada", False)])
def test_in_a_blind_project_who_only_labels_sees_no_guess_and_no_answer_in_explore(open_as, site, name, hidden):
    with site.database.write() as s:
        repository.set_team(s, site.project, {"blind": True})
    app = open_as(name, "explore")
    assert ["labelled blind" in each.value for each in app.info] == [True] * hidden
    assert ("View" in [each.label for each in app.button_group]) is not hidden
