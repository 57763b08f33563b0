"""A team with accounts in a real browser: each person signs in, and nobody gets past the door without."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from core import passwords
from core.accounts import Role, add_account, set_disabled
from core.logins import COOKIE
from core.signing import signed
from db import repository
from db.session import Database, open_database
from tests.conftest import ROOT
from tests.e2e.conftest import Server, sync_api
from tests.e2e.desk import Desk
from tests.toy import make_project

PASSWORD = "correct horse"
ALL_ADDRESSES = ("--server.address", "0.0.0.0", "--browser.serverAddress", "localhost")  # else it looks for its address
ROLES = {"Ada": Role.OWNER, "Bo": Role.ANNOTATOR, "Cy": Role.REVIEWER, "Di": Role.ANNOTATOR}


@dataclass(frozen=True)
class Team:
    """A server that listens on all addresses, as it may: it has accounts."""

    server: Server
    database: Database
    project: int
    image: str

    @property
    def desk(self) -> str:
        return f"{self.server.url}/annotate?project={self.project}"


@pytest.fixture(scope="module")
def team(tmp_path_factory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("team")
    (folder / "home").mkdir()
    database = open_database(f"sqlite:///{folder / 'home' / 'penumbra.sqlite'}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENUMBRA_HOME", str(folder / "home"))
        patch.setattr(passwords, "COST", passwords.Cost(n=2, r=1, p=1))
        project = make_project(database, folder / "images", 60, "birds", patch)
        for name, role in ROLES.items():
            add_account(database, name, role, password=PASSWORD)
    with database.read() as session:
        image = repository.items(session, project)[0].sha256
    server = Server(folder / "home", ALL_ADDRESSES)
    server.start()
    try:
        yield Team(server, database, project, f"{server.url}/img/{image}/256")
    finally:
        server.stop()
        database.close()


@pytest.fixture
def browser(chromium) -> Iterator[Callable]:
    contexts = []

    def new(**options):
        contexts.append(chromium.new_context(viewport={"width": 1366, "height": 860}, **options))
        return contexts[-1].new_page()

    yield new
    for context in contexts:
        context.close()


def sign_in(page, name: str, password: str = PASSWORD) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def signed_in(team: Team, page, name: str, url: str | None = None):
    page.goto(url or team.server.url)
    sign_in(page, name)
    page.get_by_role("button", name=name).wait_for()
    return page


def at_desk(team: Team, page) -> Desk:
    desk = Desk(page, team.desk)
    desk.load()
    return desk


def test_two_people_label_each_as_who_signed_in(team, browser):
    desks = {}
    for name in ("Ada", "Bo"):
        page = browser()
        page.goto(team.desk)
        assert "/login?next=" in page.url
        sign_in(page, name)
        page.wait_for_url(f"**/annotate?project={team.project}")
        desks[name] = at_desk(team, page)
    items = {name: desk.press("1")[0] for name, desk in desks.items()}
    for name, desk in desks.items():
        desk.saved(items[name])
    assert items["Ada"] != items["Bo"]
    with team.database.read() as session:
        people = repository.people(session)
        for name, item in items.items():
            assert [people[each.person_id] for each in repository.history(session, item)] == [name]


def test_a_wrong_password_says_no_more_than_that_and_after_five_the_door_is_shut(team, browser):
    page = browser()
    page.goto(team.server.url)
    for name in ("Nobody", "Cy"):
        sign_in(page, name, "battery staple")
        page.get_by_text("Name or password is wrong.").wait_for()
        assert page.get_by_label("Name").input_value() == name
    for _ in range(4):
        sign_in(page, "Cy", "battery staple")
    sign_in(page, "Cy")
    page.get_by_text("Try again in 15 minutes.").wait_for()
    team.server.stop()
    team.server.start()
    page.goto(team.server.url)
    sign_in(page, "Cy")
    page.get_by_text("Try again in 15 minutes.").wait_for()


def test_signing_out_ends_every_tab(team, browser):
    page = signed_in(team, browser(), "Ada")
    other = page.context.new_page()
    other.goto(f"{team.server.url}/rounds?project={team.project}")
    other.get_by_role("button", name="Ada").wait_for()
    page.get_by_role("button", name="Ada").click()
    page.get_by_role("link", name="Account and signing out").click()
    page.get_by_role("heading", name="Ada").wait_for()
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.get_by_role("heading", name="Sign in").wait_for()
    assert page.request.get(team.image).status == 401
    with suppress(sync_api.Error):  # cut at the next message, which the page itself may send
        other.get_by_role("link", name="Annotate").click(timeout=5000)
    other.get_by_role("heading", name="Sign in").wait_for()
    sign_in(other, "Ada")
    other.wait_for_url(f"**project={team.project}")


def test_a_disabled_account_is_cut_off_at_its_next_key(team, browser):
    desk = at_desk(team, signed_in(team, browser(), "Di"))
    first = desk.press("1")[0]
    desk.saved(first)
    set_disabled(team.database, "Di", True)
    last = desk.press("2")[0]
    desk.page.get_by_role("heading", name="Sign in").wait_for()
    with team.database.read() as session:
        assert repository.history(session, last) == []
    sign_in(desk.page, "Di")
    desk.page.get_by_text("This account is disabled.").wait_for()
    set_disabled(team.database, "Di", False)
    sign_in(desk.page, "Di")
    desk.load()
    desk.saved(last)  # what was pressed meanwhile was kept in the browser


def test_an_image_needs_a_login_that_no_one_forged(team, browser):
    page = browser()
    assert page.request.get(team.image).status == 401
    for forged in ("x", signed("invented", COOKIE), "Ada"):
        page.context.add_cookies([{"name": COOKIE, "value": forged, "url": team.server.url}])
        page.context.add_cookies([{"name": "penumbra_person", "value": "Ada", "url": team.server.url}])
        assert page.request.get(team.image).status == 401
        page.goto(team.desk)
        page.get_by_role("heading", name="Sign in").wait_for()
    page.context.clear_cookies()
    signed_in(team, page, "Ada")
    assert page.request.get(team.image).status == 200
    cookie = next(each for each in page.context.cookies() if each["name"] == COOKIE)
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")


def said_on_a_socket(team: Team, session: str | None = None) -> str:
    """All text that a page sends to a socket that came without a cookie."""
    offered = ["streamlit", "none", *([session] if session else [])]
    url = team.server.url.replace("http", "ws") + "/_stcore/stream"
    ask = BackMsg()
    ask.rerun_script.query_string = f"project={team.project}"
    words = []
    with connect(url, subprotocols=offered, origin=team.server.url, open_timeout=20) as socket:
        socket.send(ask.SerializeToString())
        while True:
            message = ForwardMsg.FromString(socket.recv(timeout=30))
            words.append(str(message))
            if message.WhichOneof("type") == "script_finished":
                return "\n".join(words)


def test_a_socket_without_a_cookie_shows_the_way_in_alone(team):
    said = said_on_a_socket(team)
    assert "Signed out" in said
    assert "birds" not in said
    assert "New project" not in said


def test_each_role_sees_what_it_may(team, browser):
    owner = signed_in(team, browser(), "Ada")
    owner.get_by_role("button", name="New project").wait_for()
    annotator = signed_in(team, browser(), "Bo")
    annotator.get_by_role("button", name="Label").wait_for()
    assert not annotator.get_by_role("button", name="New project").is_visible()
    assert not annotator.get_by_role("button", name="More").is_visible()


def test_a_new_password_signs_the_other_devices_out(team, browser):
    page, other = signed_in(team, browser(), "Bo"), signed_in(team, browser(), "Bo")
    page.goto(f"{team.server.url}/account")
    page.get_by_label("Present password").fill(PASSWORD)
    for label in ("New password", "New password again"):
        page.get_by_label(label, exact=True).fill("another password")
    page.get_by_role("button", name="Change it").click()
    page.get_by_text("The password was changed.").wait_for()
    assert page.request.get(team.image).status == 200
    assert other.request.get(team.image).status == 401


def test_without_accounts_nothing_listens_on_other_addresses(tmp_path):
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", "0", *ALL_ADDRESSES]
    environment = os.environ | {"PENUMBRA_HOME": str(tmp_path), "PENUMBRA_TIED": "1"}
    environment.pop("PENUMBRA_DATABASE_URL", None)
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "python -m core user add NAME --role owner" in ended.stderr
