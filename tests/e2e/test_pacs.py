"""The main job on real images: PACS towards sketches, labelled by keyboard in a browser, three rounds."""

import json
import os
import subprocess
import sys

import pytest

from db import repository
from db.session import Database
from tests.conftest import ROOT
from tests.e2e.conftest import Server, Site, wait_until
from tests.e2e.desk import Desk


@pytest.fixture(scope="module")
def pacs(pacs_home):
    database = Database(f"sqlite:///{pacs_home / 'penumbra.sqlite'}")
    server = Server(pacs_home)
    server.start()
    yield Site(server, database, None)
    server.stop()
    database.close()


def on_the_command_line(home, *arguments) -> dict:
    command = [sys.executable, "-m", "core", *arguments, "--project", "pacs", "--json"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"PENUMBRA_HOME": str(home)}, check=True, capture_output=True
    )
    return json.loads(done.stdout)


def test_thirty_answers_by_keyboard_and_three_rounds(pacs, pacs_home, chromium):
    status = on_the_command_line(pacs_home, "status")
    assert status["pool"] + status["validation"] + status["test"] == 3021
    first = on_the_command_line(pacs_home, "rank", "--limit", "12")["items"]
    assert sum("sketch/" in item["path"] for item in first) >= 6

    context = chromium.new_context(viewport={"width": 1366, "height": 860})
    context.add_cookies([{"name": "penumbra_person", "value": "Ada", "url": pacs.server.url}])
    desk = Desk(context.new_page(), f"{pacs.server.url}/annotate?project=1")
    desk.load()
    assert desk.item() == first[0]["id"]
    for number in range(1, 4):
        for _ in range(10):
            answer(pacs, desk, status["classes"])
        desk.page.get_by_role("button", name="Retrain").click()
        wait_until(lambda n=number: len(rounds(pacs)) == n + 1, 120, "the round did not end")
        wait_until(lambda n=number: f"model {n}" in desk.text(".model"), 30, "the desk stays with the old model")

    made = rounds(pacs)
    for row in made:
        served = row.metrics[row.metrics["served"]]
        print(f"\nround {row.number}: {row.labels} answers, ", end="")
        print(", ".join(f"{name} {served[name]:.3f}" for name in ("accuracy", "nlpd", "ece")), end="")
    assert [row.labels for row in made] == [0, 10, 20, 30]
    assert served["accuracy"] > made[0].metrics["posterior"]["accuracy"] + 0.15
    page = desk.page
    page.get_by_role("link", name="Rounds").click()
    page.wait_for_selector("text=Model 3 is right on")
    for curve in range(3):
        points = page.locator(".js-plotly-plot").nth(curve).locator(".points path")
        wait_until(lambda p=points: p.count() == 4, 10, "a curve lacks a point for each round and the start")
    context.close()


def answer(site, desk, classes) -> None:
    """Press the key of the class that the folder names, and wait until the screen says saved."""
    item = desk.item()
    with site.database.read() as session:
        path = repository.item(session, item).path
    desk.press(str(classes.index(path.split("/")[1]) + 1))
    desk.saved(item)
    desk.moved_on(item)


def rounds(site):
    with site.database.read() as session:
        return repository.rounds(session, 1)
