"""What is no answer: later, unusable, a flag with a note; and a look from near."""

import pytest
from PIL import Image

from db import repository
from tests.e2e.conftest import wait_until


@pytest.fixture(scope="module")
def project(site) -> int:
    return site.new_project("aside", 60)


def flags(site, item: int):
    with site.database.read() as s:
        return repository.flags_of(s, item)


def test_later_comes_back_at_the_end_and_others_may_have_it(site, open_desk):
    project = site.new_project("later", 12)
    desk = open_desk(project)
    passed = desk.item()
    desk.press("s")
    desk.saved(passed)
    while desk.item() not in (None, passed):
        item = desk.item()
        desk.press("1")
        desk.saved(item)
        desk.page.wait_for_timeout(200)
    assert desk.item() == passed
    wait_until(lambda: "only what you set aside" in desk.text("figcaption"), 10, "it is not said")
    desk.press("2")
    desk.saved(passed)
    wait_until(lambda: desk.sees(".end") and desk.text(".end h3") == "All done", 10, "the end was not said")
    with site.database.read() as s:
        assert sorted(str(label.kind) for label in repository.history(s, passed)) == ["answer", "later"]
        assert repository.answers(s, project)[passed] == 1


def test_unusable_is_asked_of_nobody_again_and_can_be_undone(site, project, open_desk):
    desk = open_desk(project)
    item = desk.item()
    desk.press("u")
    desk.saved(item)
    assert desk.text(".saved .name") == "unusable"
    assert site.labels(project)[-1].kind == "unusable"
    other = open_desk(project, "Bo")
    assert other.item() != item
    desk.page.locator(".saved button").click()
    assert desk.item() == item
    wait_until(lambda: site.labels(project)[-1].kind == "undo", 10, "the undo was not stored")


def test_a_flag_has_a_note_and_leaves_the_image_to_be_answered(site, project, open_desk):
    desk, before = open_desk(project), len(site.labels(project))
    item = desk.item()
    desk.press("f")
    desk.type("1 not a dog? zsu")
    desk.press("Enter")
    desk.page.wait_for_selector('.flagged[data-state="saved"]', state="attached")
    assert [(flag.note, flag.person) for flag in flags(site, item)] == [("1 not a dog? zsu", "Ada")]
    assert desk.item() == item
    assert len(site.labels(project)) == before
    desk.press("1")
    desk.saved(item)
    assert len(flags(site, item)) == 1


def test_escape_leaves_and_an_empty_note_is_none(site, project, open_desk):
    desk = open_desk(project)
    item = desk.item()
    desk.press("f")
    desk.type("never mind")
    desk.press("Escape")
    desk.press("f")
    desk.press("Enter")
    assert not desk.sees(".flagging")
    desk.press("1")
    desk.saved(item)
    assert flags(site, item) == []


def test_a_flag_pressed_while_the_server_is_dead_arrives_once(site, open_desk):
    project = site.new_project("flag offline", 40)
    desk = open_desk(project)
    desk.page.wait_for_timeout(1000)
    item = desk.item()
    site.server.kill()
    desk.press("f")
    desk.type("broken")
    desk.press("Enter")
    desk.page.wait_for_timeout(2500)
    site.server.start()
    wait_until(lambda: flags(site, item), 60, "the note was lost")
    desk.page.wait_for_selector('.flagged[data-state="saved"]', state="attached")
    assert [flag.note for flag in flags(site, item)] == ["broken"]


def test_from_near_the_original_is_shown_and_the_next_image_is_whole_again(site, project, open_desk):
    desk = open_desk(project)
    asked = []
    desk.page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/full") else None)
    desk.page.wait_for_timeout(300)
    assert asked == []
    item = desk.item()
    desk.page.locator(".frame").hover()
    desk.page.mouse.wheel(0, -700)
    desk.page.wait_for_selector(f'.frame[data-full="{item}"]')
    with site.database.read() as s:
        row = repository.item(s, item)
    assert asked == [f"{site.server.url}/img/{row.sha256}/full"]
    assert "full resolution" in desk.text(".zoomed")
    size = desk.page.locator(".frame img").evaluate("img => [img.naturalWidth, img.naturalHeight]")
    assert size == [row.width, row.height]
    before = zoom(desk)
    box = desk.page.locator(".frame").bounding_box()
    desk.page.mouse.down()
    desk.page.mouse.move(box["x"] + box["width"] / 2 + 60, box["y"] + box["height"] / 2 + 20)
    desk.page.mouse.up()
    assert zoom(desk) != before
    desk.page.mouse.dblclick(box["x"] + 300, box["y"] + 100)
    assert zoom(desk) == "translate(0px, 0px) scale(1)"
    desk.page.mouse.wheel(0, -300)
    desk.press("1")
    desk.moved_on(item)
    assert zoom(desk) == "translate(0px, 0px) scale(1)"
    assert desk.text(".zoomed") == ""


def zoom(desk) -> str:
    return desk.page.locator(".frame").evaluate("frame => frame.style.getPropertyValue('--zoom')")


def test_a_double_click_shows_a_large_image_pixel_for_pixel(site, open_desk):
    folder = site.server.home.parent / "large" / "apple"
    folder.mkdir(parents=True)
    for number in range(6):
        Image.new("RGB", (3200, 2000), (40 * number, 90, 120)).save(folder / f"wide {number}.jpg")
    project = site.new_project("large", 6)
    with site.database.read() as s:
        large = {row.id for row in repository.items(s, project) if "wide" in row.path}
    desk = open_desk(project)
    while (item := desk.item()) not in large:
        desk.press("1")
        desk.moved_on(item)
    width = "img => img.naturalWidth"
    assert desk.page.locator(".frame img").evaluate(width) == 1600
    desk.page.locator(".frame").dblclick()
    desk.page.wait_for_selector(f'.frame[data-full="{item}"]')
    assert desk.page.locator(".frame img").evaluate(width) == 3200
    drawn = desk.page.locator(".frame img").evaluate(DRAWN)
    assert drawn == pytest.approx(3200, rel=0.01)


DRAWN = """img => {
  const box = img.getBoundingClientRect();
  return img.naturalWidth * Math.min(box.width / img.naturalWidth, box.height / img.naturalHeight);
}"""
