"""Labelling in a real browser: what is pressed is what is stored, on the image that was on the screen."""

from collections import Counter

import pytest

from tests.e2e.conftest import wait_until
from tests.toy import CLASSES


@pytest.fixture(scope="module")
def project(site) -> int:
    return site.new_project("desk", 260)


def stored(site, project, n: int):
    wait_until(
        lambda: len(site.labels(project)) >= n,
        15,
        lambda: f"{len(site.labels(project))} of {n} labels were stored",
    )
    labels = site.labels(project)
    assert len(labels) == n
    return labels


def answers(site, project, labels) -> list[tuple[int, str]]:
    names = site.class_names(project)
    return [(label.item_id, names.get(label.class_id)) for label in labels]


def test_thirty_by_keyboard_are_stored_as_pressed(site, project, open_desk):
    desk, before = open_desk(project), len(site.labels(project))
    pressed = []
    for number in range(30):
        item = desk.item()
        desk.press("1234567890"[number % 10])
        pressed.append((item, CLASSES[number % 10]))
        desk.moved_on(item)
    desk.saved(pressed[-1][0])
    labels = stored(site, project, before + 30)[before:]
    assert answers(site, project, labels) == pressed
    assert all(0 < label.lead_ms < 60_000 and label.source == "epig" and label.round_number == 0 for label in labels)
    assert not any(label.suggestion_seen for label in labels)
    assert all(label.suggested_class_id and 0 < label.suggested_probability <= 1 for label in labels)
    answered = Counter(label.kind for label in site.labels(project))["answer"]
    wait_until(lambda: desk.text(".count").startswith(f"{answered} of "), 5, "the count on the page is another one")


def test_fifty_keys_at_ten_a_second_are_all_stored_on_the_image_on_the_screen(site, project, open_desk):
    desk, before = open_desk(project), len(site.labels(project))
    desk.ready(13)
    seen = desk.press("3", times=50, pause=0.1)
    desk.saved(seen[-1])
    labels = stored(site, project, before + 50)[before:]
    assert [label.item_id for label in labels] == seen
    assert len(set(seen)) == 50


def test_a_held_key_is_one_answer(site, project, open_desk):
    desk, before = open_desk(project), len(site.labels(project))
    item = desk.item()
    for _ in range(25):
        desk.page.keyboard.down("2")  # after the first, the browser marks them as repeats
    desk.page.keyboard.up("2")
    desk.saved(item)
    assert answers(site, project, stored(site, project, before + 1)[before:]) == [(item, "bottle")]


def test_keys_in_the_search_field_label_nothing_and_enter_takes_the_first_match(site, project, open_desk):
    desk, before = open_desk(project), len(site.labels(project))
    item = desk.item()
    desk.page.keyboard.press("/")
    desk.page.keyboard.type("12szw")
    assert desk.item() == item
    desk.page.keyboard.press("Escape")
    desk.page.keyboard.press("/")
    desk.page.keyboard.type("mu")
    desk.page.keyboard.press("Enter")
    desk.saved(item)
    assert answers(site, project, stored(site, project, before + 1)[before:]) == [(item, "mug")]


def test_combinations_and_other_fields_label_nothing(site, project, open_desk):
    desk, before = open_desk(project), len(site.labels(project))
    item = desk.item()
    for key in ("Control+1", "Alt+1", "Meta+z", "Control+z", "Escape", "x"):
        desk.press(key)
    desk.page.get_by_role("combobox").first.click()  # the order of the queue
    desk.page.keyboard.type("1")
    desk.page.keyboard.press("Escape")
    desk.page.wait_for_timeout(500)
    assert desk.item() == item
    assert len(site.labels(project)) == before


def test_undo_brings_the_last_image_back_and_the_new_answer_counts(site, project, open_desk):
    desk, before = open_desk(project), len(site.labels(project))
    first = desk.item()
    desk.press("1")
    desk.moved_on(first)
    second = desk.item()
    desk.press("z")
    assert desk.item() == first
    desk.press("2")
    assert desk.item() == second
    desk.saved(first)
    labels = stored(site, project, before + 3)[before:]
    assert [str(label.kind) for label in labels] == ["answer", "undo", "answer"]
    assert answers(site, project, labels)[-1] == (first, "bottle")


def test_undo_reaches_back_over_a_reload(site, project, open_desk):
    desk = open_desk(project)
    item = desk.item()
    desk.press("1")
    desk.saved(item)
    desk.load()
    desk.press("z")
    assert desk.item() == item
    wait_until(lambda: site.labels(project)[-1].kind == "undo", 10, "the undo was not stored")


def test_later_sets_aside_and_the_next_image_comes(site, project, open_desk):
    desk = open_desk(project)
    item = desk.item()
    desk.press("s")
    desk.saved(item)
    assert desk.item() != item
    assert site.labels(project)[-1].kind == "later"
    desk.press("z")
    assert desk.item() == item


def test_what_the_model_thinks_is_closed_until_asked_and_that_it_was_seen_is_stored(site, project, open_desk):
    desk = open_desk(project)
    assert not desk.page.locator(".why").is_visible()
    desk.press("w")
    assert desk.page.locator(".guess").count() == 5
    assert "EPIG" in desk.text(".meaning")
    item = desk.item()
    desk.press("1")
    desk.saved(item)
    assert site.labels(project)[-1].suggestion_seen


def test_asked_why_the_desk_shows_what_an_answer_would_sharpen_and_what_is_like_it(site, project, open_desk):
    desk = open_desk(project)
    asked = []
    desk.page.on("request", lambda request: asked.append(request.url) if "/why/" in request.url else None)
    for _ in range(3):  # at least three are answered
        desk.moved_on(desk.press("4")[0])
    desk.page.wait_for_timeout(300)
    assert asked == []  # closed, it asks nothing
    desk.press("w")
    for row, most in (("sharpens", 5), ("nearest", 3)):
        wait_until(lambda r=row, n=most: loaded(desk, r) == n, 20, f"not all {row} are there")
    classes = {label.item_id: label.class_id for label in site.labels(project) if label.kind == "answer"}
    known = {site.class_names(project)[each] for each in classes.values()}
    named = desk.page.locator(".nearest figcaption").all_inner_texts()
    assert len(named) == 3
    assert set(named) <= known
    assert desk.page.locator(".sharpens figure").all_inner_texts() == [""] * 5
    item = desk.item()
    desk.press("1")
    desk.saved(item)
    assert site.labels(project)[-1].suggestion_seen
    # The page first: requests are heard only while it is asked something.
    wait_until(lambda: loaded(desk, "sharpens") == 5 and len(asked) == 2, 20, "the next image's reasons are missing")
    assert asked[-1].endswith(f"/epig/{desk.item()}")
    desk.press("w")
    assert desk.page.locator(".reasons img").count() == 0


def loaded(desk, row: str) -> int:
    """How many thumbnails of a row have arrived."""
    return desk.page.locator(f".{row} img").evaluate_all("all => all.filter(each => each.naturalWidth > 0).length")


def test_keys_faster_than_reasons_ask_for_none_of_those_passed(site, project, open_desk):
    desk, before = open_desk(project), len(site.labels(project))
    desk.press("w")
    asked = []
    desk.page.on("request", lambda request: asked.append(request.url) if "/why/" in request.url else None)
    seen = desk.press("2", times=8, pause=0.05)
    desk.saved(seen[-1])
    assert [label.item_id for label in stored(site, project, before + 8)[before:]] == seen
    wait_until(lambda: loaded(desk, "sharpens") == 5, 20, "the reasons of the image that stayed are missing")
    assert asked[-1].endswith(f"/{desk.item()}")
    assert len(asked) < 8


def test_a_click_on_a_class_answers_with_it(site, project, open_desk):
    desk = open_desk(project)
    item = desk.item()
    desk.page.locator(".classes button", has_text="kettle").click()
    desk.saved(item)
    assert answers(site, project, site.labels(project)[-1:]) == [(item, "kettle")]
