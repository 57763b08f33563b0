"""Crashes and company: what was said to be saved is there, what was pressed arrives, nobody gets another's image."""

import pytest

from tests.e2e.conftest import wait_until


@pytest.fixture(autouse=True)
def running(site):
    yield
    if site.server.process.poll() is not None:
        site.server.start()


def test_a_label_that_was_said_to_be_saved_outlives_a_killed_server(site, open_desk):
    project = site.new_project("killed", 60)
    desk = open_desk(project)
    item = desk.item()
    desk.press("4")
    desk.saved(item)
    site.server.kill()
    site.server.start()
    assert [(label.item_id, str(label.kind)) for label in site.labels(project)] == [(item, "answer")]
    desk.load()
    assert desk.item() != item
    assert desk.text(".count").startswith("1 of ")


def test_keys_pressed_while_the_server_is_dead_arrive_when_it_is_back(site, open_desk):
    project = site.new_project("offline", 60)
    desk = open_desk(project)
    desk.page.wait_for_timeout(1500)  # the next images are here
    site.server.kill()
    seen = desk.press("5", times=4, pause=0.15)
    assert len(set(seen)) == 4
    assert site.labels(project) == []
    desk.page.wait_for_selector(".trouble:not([hidden])", timeout=15_000)
    assert "4 answers kept here" in desk.text(".trouble")
    site.server.start()
    wait_until(lambda: len(site.labels(project)) >= 4, 60, "what was pressed did not arrive")
    assert [label.item_id for label in site.labels(project)] == seen
    desk.saved(seen[-1])
    assert not desk.page.locator(".trouble").is_visible()


def test_a_key_pressed_while_the_server_is_dead_outlives_a_reload_too(site, open_desk):
    project = site.new_project("reload", 60)
    desk = open_desk(project)
    item = desk.item()
    site.server.kill()
    desk.press("6")
    site.server.start()
    desk.page.goto("about:blank")
    desk.load()
    wait_until(lambda: len(site.labels(project)) == 1, 20, "the key was lost with the page")
    assert site.labels(project)[0].item_id == item


def test_two_people_at_once_never_get_the_same_image(site, open_desk):
    project = site.new_project("two", 240)  # a pool with room for both and what each has ahead
    desks = [open_desk(project, "Ada"), open_desk(project, "Bo")]
    shown = [[], []]
    for _ in range(40):
        for desk, items in zip(desks, shown, strict=True):
            items.extend(desk.press("1"))
        for desk, items in zip(desks, shown, strict=True):
            desk.moved_on(items[-1])
    for desk, items in zip(desks, shown, strict=True):
        desk.saved(items[-1])
    assert not set(shown[0]) & set(shown[1])
    labels = site.labels(project)
    by_person = {name: [label.item_id for label in labels if label.person == name] for name in ("Ada", "Bo")}
    assert by_person == {"Ada": shown[0], "Bo": shown[1]}


def test_when_nothing_is_left_the_desk_says_why(site, open_desk):
    project = site.new_project("last", 14)
    ada, bo = open_desk(project, "Ada"), open_desk(project, "Bo")
    assert bo.text(".end h3") == "The rest is with others"
    while ada.item() is not None:
        ada.press("1")
        ada.page.wait_for_timeout(150)
    for desk in (ada, bo):
        wait_until(lambda desk=desk: desk.text(".end h3") == "All done", 15, "the end was not said")
    assert "Retrain" in ada.text(".end p")
