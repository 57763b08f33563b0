"""The grid in a real browser: what is confirmed is what is stored, by the page, with its exceptions and its undo."""

from collections import Counter

import pytest

from tests.e2e.conftest import wait_until
from tests.e2e.sheet import leases, sheets, standing


@pytest.fixture
def open_sheet(site, chromium):
    yield from sheets(site, chromium)


@pytest.fixture(autouse=True)
def running(site):
    yield
    if site.server.process.poll() is not None:
        site.server.start()


def test_all_are_confirmed_but_those_left_out_and_those_of_another_class(site, open_sheet):
    project = site.new_project("confirmed", 300)
    sheet = open_sheet(project)
    items, name = sheet.items(), sheet.pile().split(" · ")[0]
    assert len(items) == 60
    assert sheet.button() == f"Confirm 60 as {name}"
    assert leases(site, project)["Ada"] == set(items)
    sheet.click(items[3])
    sheet.press("ArrowRight")
    sheet.press("Space")
    sheet.press("ArrowRight")
    other = "eraser" if name != "eraser" else "fan"
    sheet.press("5" if other == "eraser" else "6")
    sheet.press("ArrowRight")
    sheet.press("/")
    sheet.page.keyboard.type("ket")
    sheet.press("Enter")
    assert sheet.out() == items[3:7]
    assert sheet.button() == f"Confirm 56 as {name}, 1 as {other}, 1 as kettle · 2 left out"
    assert standing(site, project) == {}
    sheet.press("Enter")
    assert sheet.saved() == f"56 as {name}, 1 as {other}, 1 as kettle"
    stored = standing(site, project)
    left = set(items[3:5])
    assert stored == {each: name for each in items if each not in left} | {items[5]: other, items[6]: "kettle"}
    sheet.turned(items)
    assert not set(sheet.items()) & set(items), "what was left out does not come again at once"
    assert leases(site, project)["Ada"] == set(sheet.items())
    labels = site.labels(project)
    assert all(label.source == "grid" and label.suggestion_seen and label.round_number == 0 for label in labels)
    assert len({label.event_key.split(":")[0] for label in labels}) == 1, "a batch shares the beginning of its keys"
    assert {site.class_names(project)[label.suggested_class_id] for label in labels} == {name}
    assert all(0 < label.lead_ms < 60_000 for label in labels)


def test_one_undo_takes_the_whole_page_back_as_it_was(site, open_sheet):
    project = site.new_project("undone", 300)
    sheet = open_sheet(project)
    items = sheet.items()
    for item in (items[0], items[9]):
        sheet.click(item)
    said = sheet.button()
    sheet.press("Enter")
    sheet.saved()
    sheet.turned(items)
    other = sheet.items()
    sheet.press("z")
    wait_until(lambda: standing(site, project) == {}, 10, "the batch was not undone")
    sheet.ready()
    assert sheet.items() == items
    assert sheet.out() == [items[0], items[9]]
    assert sheet.button() == said
    assert Counter(str(label.kind) for label in site.labels(project)) == {"answer": 58, "undo": 58}
    wait_until(lambda: leases(site, project)["Ada"] == set(items), 10, "the undone page is not held again")
    assert not leases(site, project)["Ada"] & set(other)
    sheet.press("Enter")
    sheet.saved()
    assert len(standing(site, project)) == 58


def test_undo_reaches_over_a_reload_and_into_another_class(site, open_sheet):
    project = site.new_project("reloaded", 300)
    sheet = open_sheet(project)
    items, pile = sheet.items(), sheet.pile().split(" · ")[0]
    sheet.click(items[4])
    sheet.press("Enter")
    sheet.saved()
    sheet.turned(items)
    second = sheet.page.locator(".sheet select option").nth(2).get_attribute("value")
    sheet.show(second)
    assert f"pile={second}" in sheet.page.url
    shown = sheet.items()
    sheet.click(shown[1])
    sheet.page.reload()
    sheet.page.wait_for_selector(".sheet .tile[data-item]", timeout=30_000)
    sheet.ready()
    assert sheet.items() == shown, "a reload brings the same page"
    assert sheet.out() == [shown[1]], "with its marks"
    sheet.press("z")
    wait_until(lambda: standing(site, project) == {}, 10, "the batch was not undone after the reload")
    sheet.ready()
    assert sheet.items() == items
    assert sheet.pile().split(" · ")[0] == pile


def test_two_people_on_one_class_never_have_an_image_in_common(site, open_sheet):
    project = site.new_project("both", 400)
    ada = open_sheet(project, "Ada")
    pile = ada.page.locator(".sheet select").input_value()
    bo = open_sheet(project, "Bo", f"&pile={pile}")
    assert bo.pile().split(" · ")[0] == ada.pile().split(" · ")[0]
    first = {name: sheet.items() for name, sheet in (("Ada", ada), ("Bo", bo))}
    assert not set(first["Ada"]) & set(first["Bo"])
    for name, sheet in (("Ada", ada), ("Bo", bo)):
        sheet.press("Enter")
        sheet.saved()
        stored = {label.item_id for label in site.labels(project) if label.person == name}
        assert stored == set(first[name])
    held = leases(site, project)
    assert not held["Ada"] & held["Bo"]
    ada.press("g")
    ada.page.wait_for_selector(".frame img", timeout=20_000)
    assert "view=grid" not in ada.page.url
    assert len(leases(site, project)["Ada"]) < 20, "who goes back to one image at a time gives the page back"


def test_another_class_gives_the_page_back(site, open_sheet):
    project = site.new_project("changed", 300)
    sheet = open_sheet(project)
    first = sheet.items()
    sheet.show(sheet.page.locator(".sheet select option").nth(1).get_attribute("value"))
    assert not set(first) & set(sheet.items())
    assert leases(site, project)["Ada"] == set(sheet.items())


def test_a_page_that_was_said_to_be_saved_outlives_a_killed_server(site, open_sheet):
    project = site.new_project("grid killed", 300)
    sheet = open_sheet(project)
    items = sheet.items()
    sheet.press("Enter")
    sheet.saved()
    site.server.kill()
    site.server.start()
    assert set(standing(site, project)) == set(items)
    sheet.load()
    assert not set(sheet.items()) & set(items)


def test_a_page_confirmed_while_the_server_is_dead_arrives_once_also_after_a_reload(site, open_sheet):
    project = site.new_project("grid offline", 300)
    sheet = open_sheet(project)
    items = sheet.items()
    sheet.click(items[7])
    site.server.kill()
    sheet.press("Enter")
    sheet.page.wait_for_selector(".sheet .trouble:not([hidden])", timeout=15_000)
    assert "59 answers kept here" in sheet.page.locator(".sheet .trouble").inner_text()
    assert sheet.page.locator('.sheet .saved[data-state="waits"]').count() == 1
    assert standing(site, project) == {}
    sheet.page.goto("about:blank")
    site.server.start()
    sheet.load()
    wait_until(lambda: len(standing(site, project)) == 59, 20, "what was confirmed was lost with the page")
    sheet.page.wait_for_timeout(1500)
    assert len(site.labels(project)) == 59
    assert items[7] not in standing(site, project)


def test_a_page_confirmed_while_the_server_is_dead_arrives_when_it_is_back(site, open_sheet):
    project = site.new_project("grid back", 300)
    sheet = open_sheet(project)
    items = sheet.items()
    site.server.kill()
    sheet.press("Enter")
    sheet.page.wait_for_timeout(500)
    site.server.start()
    sheet.saved(60)
    assert set(standing(site, project)) == set(items)
    assert len(site.labels(project)) == 60
    sheet.turned(items)
    assert not sheet.page.locator(".sheet .trouble").is_visible()


def test_keys_in_fields_and_held_keys_confirm_nothing(site, open_sheet):
    project = site.new_project("grid fields", 300)
    sheet = open_sheet(project)
    items = sheet.items()
    sheet.press("/")
    sheet.page.keyboard.type("12z g")
    assert sheet.out() == []
    sheet.press("Enter")  # matches nothing
    sheet.press("Escape")
    sheet.page.get_by_role("combobox").last.click()
    sheet.page.keyboard.type("1")
    sheet.press("Escape")
    for key in ("Control+Enter", "Alt+1", "Control+z", "Meta+z"):
        sheet.press(key)
    sheet.page.wait_for_timeout(400)
    assert sheet.items() == items
    assert sheet.out() == []
    assert site.labels(project) == []
    sheet.page.locator(".sheet .tiles").focus()
    for _ in range(12):
        sheet.page.keyboard.down("Enter")  # after the first, the browser marks them as repeats
    sheet.page.keyboard.up("Enter")
    sheet.saved()
    sheet.turned(items)
    assert len(site.labels(project)) == 60


def test_a_second_enter_confirms_no_page_that_nobody_saw(site, open_sheet):
    project = site.new_project("grid twice", 300)
    sheet = open_sheet(project)
    items = sheet.items()
    while not sheet.items() or sheet.items() == items:
        sheet.press("Enter")
        sheet.page.wait_for_timeout(20)
    for _ in range(4):
        sheet.press("Enter")
        sheet.page.wait_for_timeout(20)
    sheet.saved()
    sheet.page.wait_for_timeout(600)
    assert len(site.labels(project)) == 60


def test_a_cluster_is_confirmed_as_the_class_that_the_person_names(site, open_sheet):
    project = site.new_project("clustered", 300)
    sheet = open_sheet(project)
    sheet.show("cluster-0")
    items = sheet.items()
    assert sheet.button() == f"Which class are these {len(items)}?", "nothing is chosen beforehand"
    sheet.press("Enter")  # asks for the class
    sheet.page.keyboard.type("ham")
    sheet.press("Enter")
    sheet.click(items[0])
    assert sheet.button() == f"Confirm {len(items) - 1} as hammer · 1 left out"
    assert site.labels(project) == []
    sheet.press("Enter")
    sheet.saved()
    assert standing(site, project) == dict.fromkeys(items[1:], "hammer")


def test_what_is_left_out_can_be_looked_at_again_and_the_end_says_so(site, open_sheet):
    project = site.new_project("leftover", 60)
    sheet = open_sheet(project)
    left = []
    for _ in range(12):
        items = sheet.items()
        if not items:
            break
        if not left:
            left = items[:2]
            for item in left:
                sheet.click(item)
        sheet.press("Enter")
        sheet.page.wait_for_timeout(400)
        sheet.page.wait_for_selector(".sheet .confirm:not([disabled]), .sheet .end:not([hidden])", timeout=15_000)
        if sheet.page.locator(".sheet .end").is_visible():
            break
    assert "only what you left out" in sheet.page.locator(".sheet .end h3").inner_text()
    sheet.page.get_by_role("button", name="Look at them again").click()
    sheet.ready()
    assert sorted(sheet.items()) == sorted(left)
    assert not set(left) & set(standing(site, project))
