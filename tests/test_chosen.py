"""A queue of images that a person chose: these, in their order, and no others."""

import pytest

from core.errors import UnknownName
from core.queue import SELECTION, queue_for
from db import repository
from tests.test_queue import event, ids, people  # noqa: F401 (a fixture)

pytestmark = pytest.mark.one_database


@pytest.fixture
def chosen(database, project):
    with database.write() as s:
        items = [item.id for item in repository.items(s, project, "pool")]
        wanted = [items[9], items[2], items[30], items[4]]
        return wanted, SELECTION + repository.add_selection(s, project, wanted)


def test_it_serves_them_in_their_order(database, project, chosen, people):  # noqa: F811
    wanted, source = chosen
    queue = queue_for(database, project, source)
    assert ids(queue.serve(people[0], 12)) == wanted


def test_what_is_answered_or_with_others_is_not_served(database, project, chosen, people):  # noqa: F811
    wanted, source = chosen
    queue = queue_for(database, project, source)
    first = queue.serve(people[0], 1)
    assert ids(queue.serve(people[1], 12)) == wanted[1:]
    assert queue.apply(people[0], [event(first[0])])[0].accepted
    assert queue.serve(people[0], 12) == []


def test_a_selection_that_does_not_exist_is_refused(database, project):
    with pytest.raises(UnknownName, match="choose the images again"):
        queue_for(database, project, SELECTION + "0123456789abcdef")
