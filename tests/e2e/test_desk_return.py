"""F5, a second tab, sleep: same person, project and place; never more on one's screens than the batch."""

from datetime import UTC, datetime, timedelta

import pytest

from db import repository
from pages.parts.labelling import AHEAD
from tests.e2e.conftest import wait_until
from tests.e2e.desk import Desk


@pytest.fixture(scope="module")
def project(site) -> int:
    return site.new_project("return", 200)


def leases(site, project) -> list[tuple[int, int]]:
    with site.database.read() as s:
        return repository.leases(s, project)


def test_a_reload_comes_back_to_the_same_image_with_no_more_leases(site, project, open_desk):
    desk = open_desk(project)
    for _ in range(3):
        desk.saved(desk.press("1")[0])
        item = desk.item()
        desk.load()
        assert desk.item() == item
        assert len(leases(site, project)) <= AHEAD
    assert desk.page.get_by_role("button", name="Ada").count() == 1


def test_a_second_tab_has_the_same_place_and_neither_loses_nor_doubles_an_answer(site, project, open_desk):
    one = open_desk(project)
    two = Desk(one.page.context.new_page(), one.url)
    two.load()
    before = len(site.labels(project))
    assert two.item() == one.item()
    assert len(leases(site, project)) <= AHEAD
    given: list[int] = []

    def is_fresh(desk) -> bool:
        return desk.item() not in (None, *given)

    for turn in range(6):
        desk, other = (one, two) if turn % 2 else (two, one)
        desk.page.bring_to_front()
        given += desk.press(str(turn + 1))
        desk.saved(given[-1])
        wait_until(lambda both=(desk, other): all(map(is_fresh, both)), 10, "an answered image is still shown")
    assert [label.item_id for label in site.labels(project)[before:]] == given
    assert len(set(given)) == 6
    assert len(leases(site, project)) <= AHEAD
    two.page.close()


def test_after_sleep_an_image_that_another_has_by_now_is_replaced(site, open_desk):
    project = site.new_project("sleep", 60)
    desk = open_desk(project)
    item, before = desk.item(), len(site.labels(project))
    away(desk, True)
    with site.database.write() as s:  # the leases end; somebody else answers the image meanwhile
        person, other = (repository.person(s, name) for name in ("Ada", "Bo"))
        repository.release(s, project, person)
        repository.claim(s, project, other, [item], 1, datetime.now(UTC) + timedelta(minutes=5))
    away(desk, False)
    wait_until(lambda: desk.item() not in (None, item), 15, "the image of another person is still on the screen")
    shown = desk.item()
    desk.press("1")
    desk.saved(shown)
    assert [label.item_id for label in site.labels(project)[before:]] == [shown]


def test_after_sleep_an_image_that_is_still_ones_own_stays(site, project, open_desk):
    desk = open_desk(project)
    item = desk.item()
    away(desk, True)
    desk.page.wait_for_timeout(500)
    away(desk, False)
    desk.page.wait_for_timeout(1500)
    assert desk.item() == item
    assert len(leases(site, project)) <= AHEAD


def away(desk, hidden: bool) -> None:
    """As the browser tells a page that it is out of sight, or back."""
    desk.page.evaluate(
        """hidden => {
          Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
          document.dispatchEvent(new Event('visibilitychange'));
        }""",
        hidden,
    )
