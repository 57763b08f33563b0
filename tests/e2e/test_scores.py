"""The Scores page in a browser: compare, choose two scores, click a mark, see its image."""

import pytest

from tests.e2e.conftest import choose, wait_until


@pytest.fixture
def page(site, chromium):
    project = site.new_project("scores", 60)
    context = chromium.new_context(viewport={"width": 1366, "height": 1400})
    page = context.new_page()
    page.goto(f"{site.server.url}/scores?project={project}")
    yield page
    context.close()


def test_two_scores_are_compared_and_a_mark_shows_its_image(page):
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("text=Noise floor, from two independent halves", timeout=120_000)
    page.get_by_test_id("stDataFrame").wait_for()
    chart = page.locator(".js-plotly-plot").filter(has=page.locator(".scatterlayer")).first
    for label, score in (("Across", "BALD"), ("Up", "Margin")):
        choose(page.get_by_role("combobox", name=label), score)
        chart.get_by_text(score, exact=True).wait_for()
    page.wait_for_selector("text=Nothing chosen")
    marks = chart.locator(".scatterlayer .point")
    wait_until(lambda: marks.count() > 10, 10, "the marks are missing")
    chart.scroll_into_view_if_needed()
    spot = marks.first.bounding_box()
    page.mouse.move(spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2)
    chart.locator(".hoverlayer .hovertext").first.wait_for()
    page.mouse.down()  # where it is: a click elsewhere than on the mark would draw a lasso
    page.mouse.up()
    page.get_by_text("1 image", exact=True).wait_for()
    page.wait_for_selector("img[src^='/img/']")
