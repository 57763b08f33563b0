"""The Rounds page in a browser: a cell, a bin and a point open their images, and an earlier model comes back."""

import pytest

from tests.e2e.conftest import choose, press, wait_until
from tests.test_history import learn_twice, rows_of


@pytest.fixture(scope="module")
def project(site) -> int:
    made = site.new_project("cockpit", 150)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENUMBRA_HOME", str(site.server.home))
        learn_twice(site.database, made)
    return made


@pytest.fixture
def page(site, project, chromium):
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.add_cookies([{"name": "penumbra_person", "value": "Ada", "url": site.server.url}])
    page = context.new_page()
    page.goto(f"{site.server.url}/rounds?project={project}")
    page.get_by_role("heading", name="All rounds").wait_for(timeout=60_000)
    yield page
    context.close()


def test_every_kind_of_mark_opens_its_images(page):
    marks = page.locator(".st-key-confusion .barlayer .point path")
    wait_until(lambda: marks.count() == 12 * 12, 20, "a cell for each two classes is missing")
    images = page.locator(".st-key-confusion img")
    assert images.count() == 0
    numbers = page.locator(".st-key-confusion .barlayer .point")
    cell = next(i for i in range(12 * 12) if (numbers.nth(i).text_content() or "").strip().isdecimal())
    marks.nth(cell).click(force=True)
    images.first.wait_for()
    n = int(numbers.nth(cell).text_content())
    page.locator(".st-key-confusion", has_text=f"{n} image").wait_for()
    assert images.count() == min(n, 12)

    page.locator(".st-key-reliability .barlayer .point path >> visible=true").first.click(force=True)
    page.get_by_text("where it says").wait_for()
    page.locator(".st-key-reliability img").first.wait_for()
    page.get_by_text("equal mass").click()
    page.get_by_text("15 bins of equal mass").wait_for()

    points = page.locator(".st-key-curves .js-plotly-plot").nth(2).locator(".points path")
    points.nth(1).click(force=True)
    page.get_by_text("Model 1:").wait_for()
    page.locator(".st-key-curves img").first.wait_for()


def test_an_earlier_model_comes_back(site, project, page):
    before = rows_of(site.database, project)
    choose(page.locator(".st-key-one-round").get_by_role("combobox"), "model 1")
    press(page, "Roll back to model 1")
    press(page, "Roll back", exact=True)
    page.get_by_text("Model 3, which is model 1 again, is right on").wait_for()
    after = rows_of(site.database, project)
    assert after[:-1] == before
    assert after[-1].checkpoint == before[1].checkpoint
    page.get_by_role("link", name="Annotate").click()
    wait_until(lambda: "model 3" in page.locator(".model").inner_text(), 30, "the desk has another model")
