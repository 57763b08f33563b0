"""The Simulation page in a browser: start, watch curves come, cancel, go on, and open a point's images."""

from contextlib import suppress

import pytest
from playwright.sync_api import TimeoutError

from db import repository
from tests.e2e.conftest import press, wait_until

SEEDS, ROUNDS = 100, 8  # minutes on the fastest machine: the test cancels long before
SLOW = 300_000  # ms: on a busy machine the worker's processes take minutes to start, else seconds


@pytest.fixture(scope="module")
def project(site) -> int:
    return site.new_project("simulated", 90)


@pytest.fixture
def page(site, project, chromium):
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.add_cookies([{"name": "penumbra_person", "value": "Ada", "url": site.server.url}])
    page = context.new_page()
    page.goto(f"{site.server.url}/simulation?project={project}")
    page.get_by_role("button", name="Start simulation").wait_for(timeout=60_000)
    yield page
    context.close()


def fill(page, label: str, value: int) -> None:
    box = page.get_by_role("spinbutton", name=label)
    box.fill(str(value))
    box.press("Enter")
    page.locator(".stApp[data-test-script-state=notRunning]").wait_for()


def test_a_simulation_is_started_watched_cancelled_and_goes_on(site, project, page):
    def whole() -> int:
        with site.database.read() as s:
            return sum(repository.count_simulated(s, row.id) for row in repository.simulations(s, project))

    for label, value in (("Seeds", SEEDS), ("Answers in a batch", 4), ("Rounds", ROUNDS)):
        fill(page, label, value)
    page.get_by_text(f"{3 * SEEDS} curves of {4 * ROUNDS} answers").wait_for()
    press(page, "Start simulation")
    page.get_by_text("Simulating rounds").wait_for()
    page.locator(".st-key-sim-curves .js-plotly-plot").first.wait_for(timeout=SLOW)  # while it runs
    cancel(page)
    kept = whole()
    assert 0 < kept < 3 * SEEDS
    page.get_by_text(f"{kept} whole curve").wait_for()

    press(page, "Go on")
    wait_until(lambda: whole() > kept + 2, SLOW / 1000, "it did not go on")
    cancel(page)
    rows = (ROUNDS + 1) * whole()
    assert rows < (ROUNDS + 1) * 3 * SEEDS
    page.get_by_text(f"{rows:,} rows").wait_for()

    images = page.locator(".st-key-sim-curves img")
    assert images.count() == 0
    page.locator(".stApp[data-test-script-state=notRunning]").wait_for()
    marks = page.locator(".st-key-sim-curves .js-plotly-plot").first.locator(".points path")
    marks.last.click(force=True)  # of the curve that is drawn above all others
    page.get_by_text(f", round {ROUNDS}").first.wait_for()
    images.first.wait_for()
    page.locator(".st-key-sim-picks .grid button").first.click()
    page.get_by_role("dialog").locator("img").wait_for()


def cancel(page) -> None:
    """Press it again where it was pressed while the page was drawn anew."""
    said = page.get_by_text("The simulation was stopped")

    def stopped() -> bool:
        with suppress(TimeoutError):
            page.get_by_role("button", name="Cancel").click(timeout=2000)
        page.wait_for_timeout(500)
        return said.is_visible()

    wait_until(stopped, SLOW / 1000, "it is not stopped")
