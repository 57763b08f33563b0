"""Fast keys, held keys, and keys that are meant for something else."""

from itertools import pairwise

import pytest

from tests.e2e.conftest import wait_until
from tests.e2e.test_desk import answers, stored
from tests.toy import CLASSES


@pytest.fixture(scope="module")
def project(site) -> int:
    return site.new_project("speed", 150)


def test_ten_keys_within_a_third_of_a_second_answer_the_ten_images_in_their_order(site, project, open_desk):
    desk, before = open_desk(project), len(site.labels(project))
    desk.ready(13)
    shown = desk.page.evaluate(PRESS_TEN)
    assert shown["ms"] < 300
    assert len(set(shown["items"])) == 10
    desk.saved(int(shown["items"][-1]))
    labels = stored(site, project, before + 10)[before:]
    assert answers(site, project, labels) == [(int(item), CLASSES[n]) for n, item in enumerate(shown["items"])]
    assert all(one.id < other.id for one, other in pairwise(labels))


PRESS_TEN = """async () => {
  const frame = [...document.querySelectorAll('[data-testid=stBidiComponentIsolated]')]
    .map(host => host.shadowRoot?.querySelector('.frame')).find(Boolean);
  const items = [], from = performance.now();
  for (const key of '1234567890') {
    items.push(frame.querySelector('img') ? frame.dataset.item : null);
    const press = { key, code: `Digit${key}`, bubbles: true, cancelable: true, composed: true };
    document.body.dispatchEvent(new KeyboardEvent('keydown', press));
    document.body.dispatchEvent(new KeyboardEvent('keyup', press));
    await new Promise(resume => setTimeout(resume, 15));
  }
  return { items, ms: performance.now() - from };
}"""


def test_undo_inside_a_field_undoes_text_and_no_answer(site, project, open_desk):
    desk = open_desk(project)
    item = desk.item()
    desk.press("1")
    desk.saved(item)
    before, shown = len(site.labels(project)), desk.item()
    desk.press("f")
    desk.type("z12su")
    field = desk.page.locator(".flagging input")
    assert field.input_value() == "z12su"
    desk.press("Control+z")
    assert field.input_value() != "z12su"
    desk.press("Escape")
    desk.press("Control+z")
    desk.page.wait_for_timeout(400)
    assert desk.item() == shown
    assert len(site.labels(project)) == before


def test_keys_do_nothing_in_dialogs(site, project, open_desk):
    desk, before = open_desk(project), len(site.labels(project))
    item = desk.item()
    for opens in (lambda: desk.press("h"), lambda: desk.page.locator(".help .change").click()):
        opens()
        for key in "12sufw":
            desk.press(key)
        assert desk.item() == item
    desk.press("Escape")
    assert not desk.sees(".overlay.settings")
    desk.page.get_by_role("button", name="Ada").click()  # a dialog of the page around the desk
    desk.page.get_by_text("Somebody else?").wait_for()
    desk.page.get_by_text("Somebody else?").click()
    for key in "12su":
        desk.press(key)
    desk.page.wait_for_timeout(400)
    assert desk.item() == item
    assert len(site.labels(project)) == before


def test_keys_do_nothing_on_other_pages_and_work_after_coming_back(site, project, open_desk):
    desk, before = open_desk(project), len(site.labels(project))
    desk.page.get_by_role("link", name="Rounds").click()
    desk.page.wait_for_url("**/rounds*")
    desk.page.wait_for_selector(".frame", state="detached")
    for key in "123suz":
        desk.press(key)
    desk.page.wait_for_timeout(800)
    assert len(site.labels(project)) == before
    desk.page.get_by_role("link", name="Annotate").click()
    desk.page.wait_for_selector(".frame img")
    item = desk.item()
    desk.press("1")
    desk.saved(item)
    assert answers(site, project, stored(site, project, before + 1)[before:]) == [(item, "apple")]


def test_caps_lock_changes_no_key(site, project, open_desk):
    desk, before = open_desk(project), len(site.labels(project))
    item = desk.item()
    desk.page.evaluate(
        "() => document.body.dispatchEvent(new KeyboardEvent('keydown', "
        "{ key: 'A', code: 'KeyA', shiftKey: false, bubbles: true, composed: true }))"
    )
    wait_until(lambda: len(site.labels(project)) == before + 1, 10, "the key was not read")
    assert answers(site, project, site.labels(project)[before:]) == [(item, CLASSES[10])]
