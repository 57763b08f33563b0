"""A small real project whose people say what a test wants, and the Team page on it as Streamlit runs it."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from streamlit.testing.v1 import AppTest

from core import team
from core.accounts import Role, add_account
from core.logins import login, sign_in
from core.team import TeamSettings
from db import repository
from db.repository import LabelKind, NewLabel
from pages.parts import state, who
from tests.conftest import ROOT
from tests.toy import CLASSES, make_project

MAIN = str(ROOT / "pages" / "main.py")

HOSTILE = '<img src=x onerror=alert(1)> & "q"'
PASSWORD = "correct horse"
ROLES = {"Ada": Role.OWNER, "Bo": Role.ANNOTATOR, "Cy": Role.REVIEWER}


class Toy:
    def __init__(self, database, project: int):
        self.database, self.id = database, project
        with database.write() as s:
            self.people = {name: repository.person(s, name) for name in ROLES}
            self.items = [item.id for item in repository.items(s, project, "pool")]

    @property
    def row(self) -> repository.ProjectRow:
        with self.database.read() as s:
            return repository.project(s, self.id)

    @property
    def classes(self) -> list[int]:
        return [each.id for each in self.row.classes]

    def say(self, name: str, item: int, class_: int = 0, kind=LabelKind.ANSWER, **more) -> None:
        class_id = self.classes[class_] if kind == LabelKind.ANSWER else None
        event = NewLabel(uuid4().hex, item, kind, class_id, source=more.pop("source", "epig"), **more)
        with self.database.write() as s:
            (stored,) = repository.record(s, self.id, self.people[name], [event])
        assert stored.accepted, stored.reason

    def share(self, **settings) -> None:
        """All images are asked of two people."""
        team.change_settings(self.database, self.id, self.people["Ada"], TeamSettings(overlap=1.0, **settings))

    def tie(self, item: int, one: int = 0, other: int = 1) -> None:
        self.say("Bo", item, one)
        self.say("Cy", item, other)

    def settings(self) -> TeamSettings:
        return TeamSettings.of(self.row.team)

    def verdict(self, item: int) -> repository.Verdict:
        with self.database.read() as s:
            return repository.verdict(s, self.id, item)

    def accounts(self) -> None:
        for name, role in ROLES.items():
            add_account(self.database, name, role, password=PASSWORD)

    def sign_in(self, name: str, monkeypatch) -> None:
        """As the gate's cookie would."""
        cookie = sign_in(self.database, name, PASSWORD, "here")
        for module in (state, who):
            monkeypatch.setattr(module, "login", lambda: login(self.database, cookie))


@pytest.fixture
def toy(database, tmp_path, monkeypatch) -> Toy:
    """60 drawn images, a hostile class and three people, served to the pages."""
    monkeypatch.setattr("pages.parts.working.ensure_worker", lambda **_: None)
    monkeypatch.setenv("PENUMBRA_DATABASE_URL", database.url)
    names = (HOSTILE, *CLASSES[1:])
    return Toy(database, make_project(database, tmp_path / "images", 60, "Toy <b>", monkeypatch, names))


@pytest.fixture
def open_team(toy):
    """A view of the Team page as a person."""
    return lambda view="people", person="Ada", **state: opened(toy, view, person, **state)


def opened(toy: Toy, view: str, person: str, **state_) -> AppTest:
    app = AppTest.from_file(MAIN, default_timeout=30)
    app.query_params["project"] = str(toy.id)
    app.query_params["view"] = view
    app.session_state["person"] = (toy.people[person], person)
    for name, value in state_.items():
        app.session_state[name] = value
    app = app.run().switch_page("team.py")
    app.query_params["view"] = view
    app.run()
    assert not app.exception
    return app


def press(app: AppTest, label: str) -> AppTest:
    """Press the one button whose label begins so."""
    (found,) = [each for each in app.button if each.label.startswith(label)]
    found.click().run()
    assert not app.exception
    return app


def tiles(app: AppTest) -> list[dict]:
    """The thumbnails of every grid on the page."""
    grids = [json.loads(each.proto.json or "null") for each in app.get("bidi_component")]
    return [tile for data in grids if isinstance(data, dict) for tile in data.get("tiles", ())]


def errors(app: AppTest) -> str:
    return "\n".join(each.value for each in app.error)
