"""Explore in a browser: the map is drawn by the worker, an outline becomes a choice, the choice becomes a queue."""

import re

import pytest

from core import atlas
from core.queue import SELECTION
from db import repository
from tests.e2e.conftest import wait_until
from tests.e2e.desk import Desk
from tests.toy import CLASSES, make_project


@pytest.fixture(scope="module")
def project(site) -> int:
    return site.new_project("explore", 120)


@pytest.fixture
def page(site, project, chromium):
    context = chromium.new_context(viewport={"width": 1366, "height": 1000})
    context.add_cookies([{"name": "penumbra_person", "value": "Ada", "url": site.server.url}])
    opened = context.new_page()
    opened.goto(f"{site.server.url}/explore?project={project}")
    opened.wait_for_selector(".legend b", timeout=90_000)
    yield opened
    context.close()


def chosen(page) -> int:
    """How many images the page says are chosen."""
    said = page.locator("p", has_text="can be asked").first.inner_text()
    return int(re.match(r"([\d,]+) image", said)[1].replace(",", ""))


def outline(page, tool: str, *corners: tuple[float, float]) -> None:
    """Draw on the map, corners in shares of its width and height."""
    page.get_by_role("button", name=tool, exact=True).click()
    box = page.locator(".field canvas").bounding_box()
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for x, y in places[1:]:
        page.mouse.move(x, y, steps=5)
    page.mouse.up()


def test_an_outline_becomes_a_queue_that_a_reload_keeps(site, project, page):
    assert chosen(page) == 120
    outline(page, "Box", (0.01, 0.02), (0.6, 0.98))
    wait_until(lambda: 0 < chosen(page) < 120, 20, "the outline chose nothing")
    page.get_by_role("button", name="Clear choice").click()
    wait_until(lambda: chosen(page) == 120, 20, "the choice was not cleared")
    outline(page, "Lasso", (0.02, 0.02), (0.5, 0.02), (0.5, 0.98), (0.02, 0.98))
    wait_until(lambda: 0 < chosen(page) < 120, 20, "the lasso chose nothing")
    page.get_by_role("button", name="Label these").click()
    page.wait_for_url("**/annotate?*order=selection*", timeout=20_000)
    desk = Desk(page, page.url)
    page.wait_for_selector(".frame img", timeout=30_000)
    key = re.search(f"{SELECTION}([0-9a-f]+)", page.url.replace("%3A", ":"))[1]
    with site.database.read() as session:
        wanted = repository.selection(session, project, key)
    served = desk.item()
    assert served in wanted
    desk.load()
    assert desk.item() == served
    for _ in range(3):
        item = desk.press("1")[0]
        desk.moved_on(item)
    desk.saved(item)
    labels = site.labels(project)[-3:]
    assert [label.item_id for label in labels] == wanted[:3]
    assert {label.source for label in labels} == {SELECTION + key}


def test_a_click_opens_an_image_and_closing_it_leaves_the_address(page):
    tile = page.locator(".grid button").first
    item = tile.get_attribute("data-item")
    tile.click()
    page.wait_for_selector("text=Most like it", timeout=20_000)
    assert f"image={item}" in page.url
    page.wait_for_selector("[role=dialog] img[alt='The image']")
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "image=" not in url, timeout=10_000)


def test_a_mark_shows_its_image_when_pointed_at(page):
    canvas = page.locator(".field canvas")
    box = canvas.bounding_box()
    shown = page.locator(".hover img")

    def found() -> bool:
        for row in range(1, 40):
            for column in range(1, 50):
                page.mouse.move(box["x"] + column * box["width"] / 50, box["y"] + row * box["height"] / 40)
                if shown.is_visible():
                    return True
        return False

    assert found()
    assert re.fullmatch(r"/img/item/\d+", shown.get_attribute("src"))
    wait_until(lambda: shown.evaluate("each => each.naturalWidth") > 0, 10, "the image did not come")


HOSTILE = ('<img src=x onerror=alert(1)> & "q"', "**bold**", "![](http://127.0.0.1:9/x.png)")


def test_hostile_class_names_are_literal_and_nothing_is_fetched(site, chromium, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENUMBRA_HOME", str(site.server.home))
        classes = (*HOSTILE, *CLASSES[3:])
        project = make_project(site.database, tmp_path / "images", 90, "hostile", patch, classes)
        atlas.build(site.database, project)
    with site.database.read() as session:
        item = repository.items(session, project, "pool")[0].id
    context = chromium.new_context(viewport={"width": 1366, "height": 1000})
    page = context.new_page()
    asked, alerts = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: alerts.append(dialog.message))
    page.goto(f"{site.server.url}/explore?project={project}&image={item}")
    page.wait_for_selector("text=Most like it", timeout=30_000)
    page.wait_for_selector(".legend b")
    legend = page.locator(".legend b").all_inner_texts()
    assert set(legend) & set(HOSTILE), "of twelve classes some hostile one is predicted"
    assert set(legend) <= set(classes)
    page.keyboard.press("Escape")
    page.get_by_label("Predicted class").last.click()
    page.wait_for_selector(f"text={HOSTILE[2]}")
    context.close()
    assert not alerts
    assert all(url.startswith((site.server.url, "data:", "blob:")) for url in asked)
