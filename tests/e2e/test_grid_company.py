"""The grid among other people, other tabs, other rules of the project, many classes and odd names."""

from dataclasses import asdict

import pytest

from core.team import TeamSettings
from db import repository
from db.repository import NewLabel
from tests.e2e.conftest import wait_until
from tests.e2e.sheet import leases, sheets, standing
from tests.toy import CLASSES, make_project

HOSTILE = ('<img src=x onerror=alert(1)> & "q"', "**bold**", "![](http://127.0.0.1:9/x.png)")


@pytest.fixture
def open_sheet(site, chromium):
    yield from sheets(site, chromium)


@pytest.fixture
def named(site, tmp_path):
    """Make a project with these classes."""

    def make(name: str, classes: tuple[str, ...]) -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PENUMBRA_HOME", str(site.server.home))
            return make_project(site.database, tmp_path / "images", 300, name, patch, classes)

    return make


def test_a_blind_project_has_no_grid_and_says_why(site, chromium):
    project = site.new_project("grid blind", 90)
    with site.database.write() as s:
        repository.set_team(s, project, asdict(TeamSettings(blind=True)))
    context = chromium.new_context(viewport={"width": 1366, "height": 860})
    context.add_cookies([{"name": "penumbra_person", "value": "Ada", "url": site.server.url}])
    page = context.new_page()
    page.goto(f"{site.server.url}/annotate?project={project}&view=grid")
    page.wait_for_selector("text=answered blind", timeout=20_000)
    assert page.locator(".sheet").count() == 0
    page.get_by_role("button", name="One image at a time").click()
    page.wait_for_selector(".frame img", timeout=20_000)
    assert "view=grid" not in page.url
    context.close()


def test_hostile_names_are_literal_and_nothing_is_fetched(site, named, open_sheet):
    project = named("grid hostile", (*HOSTILE, *CLASSES[3:]))
    sheet = open_sheet(project)
    asked, alerts = [], []
    sheet.page.on("request", lambda request: asked.append(request.url))
    sheet.page.on("dialog", lambda dialog: alerts.append(dialog.message))
    sheet.load()
    for number, name in enumerate(HOSTILE):
        sheet.press("Home")
        for _ in range(number):
            sheet.press("ArrowRight")
        sheet.press(str(number + 1))
        tile = sheet.page.locator(".tile[data-item]").nth(number)
        if name != sheet.pile().split(" · ")[0]:
            assert tile.locator(".said").inner_text() == name
    sheet.press("Enter")
    sheet.saved()
    assert set(standing(site, project).values()) >= set(HOSTILE)
    listed = sheet.page.locator(".sheet .keyed span").all_inner_texts()
    assert listed[:3] == list(HOSTILE)
    assert alerts == []
    assert all(url.startswith((site.server.url, "data:", "blob:")) for url in asked)


def test_with_65_classes_two_letters_and_enter_name_the_tile(site, named, open_sheet):
    words = [f"{first}{second}ble" for first in "bcdfghjkl" for second in "aeiou" if (first, second) != ("g", "o")]
    project = named("grid many", (*CLASSES, *words, *(f"zz {i}" for i in range(9))))
    sheet = open_sheet(project)
    items, name = sheet.items(), sheet.pile().split(" · ")[0]
    sheet.page.keyboard.type("ke")
    sheet.press("Enter")
    assert sheet.out() == items[:1]
    assert sheet.button().startswith(f"Confirm {len(items) - 1} as {name}, 1 as ke")
    assert site.labels(project) == []
    sheet.press("Shift+G")  # in a project with so many classes, what is done takes Shift
    sheet.page.wait_for_selector(".frame img", timeout=20_000)


def test_another_tab_of_the_same_person_confirms_no_image_twice(site, open_sheet):
    project = site.new_project("grid tabs", 300)
    first = open_sheet(project)
    second = open_sheet(project, beside=first)
    items = first.items()
    assert second.items() == items, "the same person has the same page"
    assert leases(site, project)["Ada"] == set(items)
    first.press("Enter")
    first.saved()
    second.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # as when it is looked at again
    second.turned(items)
    assert not set(second.items()) & set(items)
    second.press("Enter")
    second.saved()
    labels = site.labels(project)
    assert len({label.item_id for label in labels}) == len(labels)


def test_what_another_person_answers_meanwhile_leaves_the_page(site, open_sheet):
    project = site.new_project("grid meanwhile", 300)
    sheet = open_sheet(project)
    items = sheet.items()
    with site.database.write() as s:
        bo = repository.person(s, "Bo")
        class_id = repository.project(s, project).classes[0].id
        repository.record(s, project, bo, [NewLabel("bo:1", items[5], "answer", class_id, source="epig")])
    sheet.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    wait_until(lambda: sheet.items() == [*items[:5], *items[6:]], 10, "the answered image stayed")
    assert "1 image of this page answered elsewhere" in sheet.page.locator(".sheet .trouble").inner_text()
    sheet.ready()
    sheet.press("Enter")
    sheet.saved()
    assert [label.person for label in site.labels(project) if label.item_id == items[5]] == ["Bo"]


def test_a_tile_in_full_size_is_closed_by_enter_which_confirms_nothing(site, open_sheet):
    project = site.new_project("grid closer", 300)
    sheet = open_sheet(project)
    sheet.press("ArrowRight")
    sheet.press("Shift+Space")
    closer = sheet.page.locator(".sheet .closer")
    closer.locator("img").wait_for(state="visible")
    assert closer.locator("img").get_attribute("src").endswith("/1600")
    sheet.press("Space")
    assert closer.locator("p").inner_text().startswith("left out")
    sheet.press("Enter")
    assert not closer.is_visible()
    assert sheet.out() == sheet.items()[1:2]
    sheet.press("h")
    sheet.press("Enter")
    assert not sheet.page.locator(".sheet .help").is_visible()
    sheet.page.wait_for_timeout(300)
    assert site.labels(project) == []


def test_who_leaves_takes_the_page_along_to_nobody(site, open_sheet):
    project = site.new_project("grid left", 300)
    sheet = open_sheet(project)
    items = set(sheet.items())
    sheet.page.locator(".sheet [data-act=grid]").click()
    sheet.page.wait_for_selector(".frame img", timeout=20_000)
    assert len(leases(site, project)["Ada"] & items) < len(items)
    bo = open_sheet(project, "Bo")
    assert len(bo.items()) == 60
    assert not set(bo.items()) & leases(site, project)["Ada"]
