"""A team in real browsers: two disagree, a third decides; classes change under the hands; each role sees its own."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import uuid4

import pytest
from sqlalchemy import update

from core import atlas, passwords, rounds
from core.accounts import Role, add_account
from core.class_texts import fill
from core.export import export_answers
from core.features import encode_texts
from core.workspace import text_store
from db import repository
from db.models import Project
from db.repository import NewLabel
from db.session import Database, open_database
from tests.e2e.conftest import Server, choose, press, wait_until
from tests.e2e.desk import Desk
from tests.e2e.test_login import PASSWORD, sign_in
from tests.toy import ToyEncoder, make_project

HOSTILE = '<img src=x onerror=alert(1)> & "q"'
ROLES = {"Ada": Role.OWNER, "Bo": Role.ANNOTATOR, "Cy": Role.REVIEWER, "Di": Role.ANNOTATOR}


@dataclass(frozen=True)
class Team:
    server: Server
    database: Database
    project: int

    def at(self, page: str, **query: str) -> str:
        return f"{self.server.url}/{page}?project={self.project}" + "".join(f"&{k}={v}" for k, v in query.items())

    def history(self, item: int) -> list[repository.LabelRow]:
        with self.database.read() as session:
            return repository.history(session, item)

    def verdict(self, item: int) -> repository.Verdict | None:
        with self.database.read() as session:
            return repository.verdict(session, self.project, item)

    def classes(self) -> list[repository.ClassRow]:
        with self.database.read() as session:
            return list(repository.project(session, self.project).classes)

    def say(self, name: str, item: int, position: int) -> None:
        with self.database.write() as session:
            person = repository.person(session, name)
            event = NewLabel(uuid4().hex, item, "answer", self.classes()[position].id, source="epig")
            assert repository.record(session, self.project, person, [event])[0].accepted


@pytest.fixture(scope="module")
def team(tmp_path_factory) -> Iterator[Team]:
    """A project with its map, and the text of the name to come read already: no model has to be loaded for it."""
    folder = tmp_path_factory.mktemp("team")
    (folder / "home").mkdir()
    database = open_database(f"sqlite:///{folder / 'home' / 'penumbra.sqlite'}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENUMBRA_HOME", str(folder / "home"))
        patch.setattr(passwords, "COST", passwords.Cost(n=2, r=1, p=1))
        project = make_project(database, folder / "images", 60, "tools", patch)
        atlas.build(database, project)
        with database.write() as session:  # a model that the worker cannot load, so that it does not try for long
            session.execute(update(Project).where(Project.id == project).values(model="toy"))
            prompt = repository.project(session, project).prompt
        encode_texts(text_store("toy"), ToyEncoder(), [fill(prompt, HOSTILE)])
        for name, role in ROLES.items():
            add_account(database, name, role, password=PASSWORD)
    rounds.encoder_for.cache_clear()
    server = Server(folder / "home")
    server.start()
    try:
        yield Team(server, database, project)
    finally:
        server.stop()
        database.close()


@pytest.fixture
def enter(team, chromium) -> Iterator[Callable]:
    """Open an address of the project as one of the people, in a browser of their own."""
    contexts = []

    def open_(name: str, url: str):
        context = chromium.new_context(viewport={"width": 1366, "height": 1000})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
        page.goto(url)
        sign_in(page, name)
        page.get_by_role("button", name=name, exact=False).first.wait_for()
        return page

    yield open_
    for context in contexts:
        context.close()


def at_desk(team: Team, page) -> Desk:
    desk = Desk(page, team.at("annotate"))
    desk.load()
    return desk


def test_two_disagree_a_third_decides_and_what_stands_is_everywhere(team, enter, tmp_path):
    owner = enter("Ada", team.at("team", view="settings"))
    thumb = owner.get_by_role("slider").first
    thumb.focus()
    owner.keyboard.press("End")
    owner.get_by_text("images are asked of 2 people").wait_for()
    press(owner, "Save settings")
    owner.get_by_text("Saved.").wait_for()

    bo = at_desk(team, enter("Bo", team.at("annotate")))
    item = bo.press("1")[0]
    bo.saved(item, 40)
    di = at_desk(team, enter("Di", team.at("annotate")))
    assert di.item() == item  # it is wanted of a second person before any other
    di.press("2")
    di.saved(item, 40)
    said = team.history(item)
    assert team.verdict(item).state == "tied"

    reviewer = enter("Cy", team.at("team", view="review"))
    reviewer.get_by_text("A tie: nothing stands before you decide").wait_for()
    for name, given in (("Bo", "apple"), ("Di", "bottle")):
        assert reviewer.get_by_text(f"{name}: {given}").is_visible()
    reviewer.locator(".st-key-decide").get_by_role("button", name="chair").click()
    reviewer.get_by_text(f"Image {item} is chair").wait_for()
    assert team.verdict(item).state == "reviewed"
    assert team.history(item)[:2] == said  # what people said is untouched
    reviewer.get_by_text("No image is in conflict").wait_for()

    reviewer.goto(team.at("explore", image=str(item)))
    reviewer.get_by_text("Known class: chair").wait_for()
    file = tmp_path / "labels.csv"
    export_answers(team.database, team.project, file)
    with file.open() as handle:
        assert [(row["label"], row["annotator"]) for row in csv.DictReader(handle)] == [("chair", "Cy")]


def test_a_class_is_renamed_after_a_preview_and_the_keys_of_the_desk_follow(team, enter):
    desk = at_desk(team, enter("Bo", team.at("annotate")))
    first = team.classes()[0]
    assert first.name == "apple"
    page = enter("Ada", team.at("team", view="classes"))
    outside = []
    page.on("request", lambda request: outside.append(request.url))
    choose(page.get_by_role("combobox", name="Class"), "apple")
    page.get_by_label("New name").fill(HOSTILE)
    page.get_by_label("New name").press("Tab")
    press(page, "Put on the list")
    page.get_by_text("1 change, not made yet").wait_for()
    page.get_by_text(f"Rename apple to {HOSTILE}").wait_for()
    assert (
        page.get_by_text("Your keys afterwards:")
        .inner_text()
        .startswith(f"Your keys afterwards: 1 {HOSTILE} · 2 bottle")
    )
    assert team.classes()[0] == first  # nothing before the press
    press(page, "Make this change")
    wait_until(lambda: team.classes()[0].name == HOSTILE, 20, "the class was not renamed")
    page.get_by_role("heading", name="History").wait_for()

    desk.load()
    wait_until(
        lambda: HOSTILE in desk.page.locator(".classes button").first.inner_text(), 20, "the desk has the old name"
    )
    item = desk.press("1")[0]
    desk.saved(item, 40)
    assert team.history(item)[-1].class_id == first.id
    for view in ("people", "agreement", "review", "gold", "classes", "settings"):
        page.goto(team.at("team", view=view))
        page.locator(f".st-key-team-{view}").wait_for()
        page.wait_for_timeout(500)
        assert page.locator("img[src='x'], img[src$='/x']").count() == 0
    page.goto(team.at("team", view="gold"))
    page.get_by_text(HOSTILE).first.wait_for()
    assert [url for url in outside if not url.startswith((team.server.url, "data:", "blob:"))] == []


def test_each_figure_opens_the_images_behind_it(team, enter):
    with team.database.read() as session:
        pool = [each.id for each in repository.items(session, team.project, "pool")]
    item = next(each for each in pool if not team.history(each))
    team.say("Cy", item, 4)
    page = enter("Cy", team.at("team"))
    page.locator("[class*='st-key-behind-'][class*='answers'] button").click()
    page.locator(f"button[data-item='{item}']").click()
    page.get_by_text("1 event, newest first").wait_for()
    image = page.get_by_role("dialog").locator("img").first
    wait_until(lambda: image.evaluate("each => each.naturalWidth") > 0, 20, "the image did not come")


def test_roles_are_checked_and_the_last_owner_stays(team, enter):
    annotator = enter("Di", team.at("team", view="review"))
    annotator.get_by_text("Reviewers and owners decide here").wait_for()
    assert annotator.locator(".st-key-decide").count() == 0
    annotator.goto(team.at("team"))
    annotator.get_by_text("These are your own figures").wait_for()
    assert annotator.get_by_text("Bo", exact=True).count() == 0

    owner = enter("Ada", team.at("team"))
    give(owner, "annotator")
    owner.get_by_text("is the only owner").wait_for()
    choose(owner.get_by_role("combobox", name="Person"), "Di")
    owner.get_by_text("annotator · may").wait_for()
    give(owner, "reviewer")
    owner.get_by_text("reviewer · may").wait_for()
    annotator.goto(team.at("team", view="review"))
    annotator.get_by_text("To decide (").wait_for()
    with team.database.read() as session:
        roles = {row.name: row.role for row in repository.person_rows(session)}
    assert roles == ROLES | {"Di": Role.REVIEWER}


def give(page, role: str) -> None:
    choose(page.get_by_role("combobox", name="Role"), role)
    button = page.get_by_role("button", name="Change role")
    wait_until(button.is_enabled, 20, "the button stays off")
    press(page, "Change role")
