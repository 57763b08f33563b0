"""The real server on a free port, and a real Chromium in front of it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from db import repository
from db.repository import LabelRow
from db.session import Database, open_database
from tests.conftest import ROOT
from tests.e2e.desk import Desk
from tests.toy import CLASSES, make_project

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright to drive a browser")

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass
class Server:
    """`streamlit run app.py` on a data folder of its own."""

    home: Path
    options: tuple[str, ...] = ()
    port: int = field(default_factory=lambda: _free_port())
    process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(self.port), *self.options]
        environment = os.environ | {"PENUMBRA_HOME": str(self.home), "PENUMBRA_TIED": "1"}
        environment.pop("PENUMBRA_DATABASE_URL", None)
        log = (self.home / "server.log").open("ab")
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        wait_until(self._answers, 60, lambda: f"the server did not start: {(self.home / 'server.log').read_text()}")

    def _answers(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError((self.home / "server.log").read_text())
        try:
            return urlopen(f"{self.url}/_stcore/health", timeout=1).status == 200
        except (URLError, OSError):
            return False

    def kill(self) -> None:
        """As a crash: no chance to tidy up."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(20)


@dataclass(frozen=True)
class Site:
    """A running server and what its database holds."""

    server: Server
    database: Database
    new_project: Callable[..., int]

    def labels(self, project: int) -> list[LabelRow]:
        """The project's log in the order it was written."""
        with self.database.read() as session:
            items = [row.id for row in repository.items(session, project)]
            rows = [label for item in items for label in repository.history(session, item)]
        return sorted(rows, key=lambda row: row.id)

    def class_names(self, project: int) -> dict[int, str]:
        with self.database.read() as session:
            return {each.id: each.name for each in repository.project(session, project).classes}


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("e2e")
    (folder / "home").mkdir()
    database = open_database(f"sqlite:///{folder / 'home' / 'penumbra.sqlite'}")
    server = Server(folder / "home")

    def new_project(name: str, images: int = 90, classes: tuple[str, ...] = CLASSES) -> int:
        with pytest.MonkeyPatch.context() as patch:  # for the making alone: other tests need the real encoders
            patch.setenv("PENUMBRA_HOME", str(folder / "home"))
            return make_project(database, folder / name, images, name, patch, classes)

    server.start()
    try:
        yield Site(server, database, new_project)
    finally:
        server.stop()
        database.close()


@pytest.fixture(scope="package")
def chromium() -> Iterator:
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        except sync_api.Error as error:
            pytest.skip(f"needs a Chromium (apt-get install chromium): {str(error).splitlines()[0]}")
        yield browser
        browser.close()


@pytest.fixture
def open_desk(site, chromium) -> Iterator[Callable[..., Desk]]:
    """Open the Annotate page of a project as a person, in a browser profile of its own."""
    contexts = []

    def open_(project: int, person: str = "Ada") -> Desk:
        context = chromium.new_context(viewport={"width": 1366, "height": 860})
        contexts.append(context)
        context.add_cookies([{"name": "penumbra_person", "value": person, "url": site.server.url}])
        desk = Desk(context.new_page(), f"{site.server.url}/annotate?project={project}")
        desk.load()
        return desk

    yield open_
    for context in contexts:
        context.close()


def wait_until(condition: Callable[[], bool], seconds: float, complaint: Callable[[], str] | str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(complaint() if callable(complaint) else complaint)
        time.sleep(0.05)


def press(page, name: str, **how) -> None:
    """Press a button of a page that is at rest: one that is drawn anew meanwhile loses the press."""
    page.locator(".stApp[data-test-script-state=notRunning]").wait_for()
    page.get_by_role("button", name=name, **how).click()


def choose(box, option: str) -> None:
    """Take an option of a select box, a locator. A list that is drawn anew or scrolled away closes: then once more."""
    wanted = box.page.get_by_role("option", name=option, exact=True)

    def taken() -> bool:
        box.click()
        try:
            wanted.click(timeout=3000)
        except sync_api.TimeoutError:
            box.page.keyboard.press("Escape")
            return False
        return True

    wait_until(taken, 30, f"{option!r} is not offered")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
