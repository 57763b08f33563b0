"""The ProLIP page's tree and masks in a browser, with the official tiny weights from a folder as the model."""

import json

import pytest

from tests.e2e.conftest import Server, wait_until
from tests.e2e.tiny import tiny_project

CANVAS = "canvas[role=application]"


@pytest.fixture(scope="module")
def page_of(tmp_path_factory, chromium):
    """Open a tab of the ProLIP page on a project of 60 drawn images that were read as Gaussians."""
    folder = tmp_path_factory.mktemp("prolip")
    database, project = tiny_project(folder)
    server = Server(folder / "home")
    server.start()
    contexts = []

    def open_(tab: str):
        context = chromium.new_context(viewport={"width": 1366, "height": 900}, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.goto(f"{server.url}/prolip?project={project}&tab={tab}")
        return page

    yield open_
    for context in contexts:
        context.close()
    server.stop()
    database.close()


def shown(page) -> int:
    return int(page.locator(CANVAS).get_attribute("data-shown"))


def test_the_tree_opens_closes_and_shows_an_image_at_the_side(page_of):
    page = page_of("Hierarchy")
    tree = page.locator(CANVAS)
    tree.wait_for()
    wait_until(lambda: int(tree.get_attribute("data-thumbs") or 0) > 0, 20, "no thumbnail was fetched")
    page.get_by_role("button", name="Collapse").click()
    tops = shown(page)
    page.get_by_role("button", name="Expand all").click()
    everything = shown(page)
    assert tops < everything
    page.get_by_text(f"{everything} of {everything} shown").wait_for()

    page.get_by_role("button", name="Collapse").click()
    page.get_by_role("button", name="Fit").click()
    tree.press("ArrowDown")
    tree.press("Enter")
    assert tops < shown(page) <= everything

    page.get_by_role("button", name="Collapse").click()
    box = tree.bounding_box()
    side = page.locator(".side")
    assert not side.is_visible()
    for x, y in ((x, y) for y in range(30, int(box["height"]), 12) for x in range(20, int(box["width"]), 24)):
        tree.hover(position={"x": x, "y": y})
        if page.locator(".tip").is_visible():
            break
    assert "Σσ²" in page.locator(".tip .figures").inner_text()
    name = page.locator(".tip .name").inner_text()
    tree.click(position={"x": x, "y": y})
    side.wait_for()
    assert side.locator("h4").inner_text() == name
    assert "it stands at the top" in side.inner_text()
    large = side.locator("> img")
    wait_until(lambda: large.evaluate("each => each.naturalWidth") > 0, 10, "the image at the side did not arrive")
    page.keyboard.press("Escape")
    side.wait_for(state="hidden")


def test_the_tree_is_taken_away_as_png_json_and_csv(page_of):
    page = page_of("Hierarchy")
    page.locator(CANVAS).wait_for()
    found = {}
    for name in ("PNG", "JSON", "CSV"):
        with page.expect_download() as download:
            page.get_by_role("button", name=name, exact=name == "PNG").last.click()
        found[name] = download.value.path().read_bytes()
    assert found["PNG"].startswith(b"\x89PNG")
    whole = json.loads(found["JSON"])
    assert len(whole["nodes"]) == len(found["CSV"].decode().splitlines()) - 1
    assert whole["edges"]


def test_the_mask_chart_has_ten_marks_and_follows_the_image_and_the_seed(page_of):
    page = page_of("Images")
    page.get_by_text("What if it saw less?").wait_for()
    chart = page.locator(
        ".st-key-mask-uncertainty .js-plotly-plot"
    ).last  # while it runs again the old one is there too
    values = "each => each.data ? JSON.stringify([...each.data[0].y]) : null"
    chart.wait_for()
    wait_until(lambda: chart.locator(".points path").count() == 10, 20, "the curve lacks a mark for each share")
    first = chart.evaluate(values)
    page.locator("[class*=st-key-unsure-] button").first.click()
    wait_until(lambda: chart.evaluate(values) not in (None, first), 20, "another image gave the same curve")
    second = chart.evaluate(values)
    page.locator(".st-key-mask-seed input").fill("7")
    page.locator(".st-key-mask-seed input").press("Enter")
    page.get_by_text("Seed 7:").wait_for()
    wait_until(lambda: chart.evaluate(values) not in (None, second), 20, "another seed gave the same curve")


def test_a_bar_of_the_histogram_opens_its_images(page_of):
    page = page_of("Images")
    page.get_by_text("Nothing chosen: click a bar").wait_for()
    bars = page.locator("[class*=st-key-image-histogram] .js-plotly-plot .points path")
    bars.first.wait_for()
    box = bars.last.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 2)
    page.get_by_text("in 1 bar").wait_for()
    assert page.locator("[class*=st-key-bar-] button").count() > 0
