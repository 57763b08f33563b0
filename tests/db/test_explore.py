"""Images by id, files that are the same, and selections."""

import pytest

from db import repository
from db.repository import NewItem
from tests.db.conftest import make_small


def test_the_extent_is_number_and_last_id(database, small):
    with database.read() as s:
        assert repository.extent(s, small.id) == (12, max(small.items))
        assert repository.extent(s, 999) == (0, 0)


def test_images_come_in_the_order_asked_for_and_only_the_projects(database, small):
    other = make_small(database, "other")
    wanted = [small.items[5], other.items[0], small.items[1], 10**6, small.items[5]]
    with database.read() as s:
        assert [row.id for row in repository.items_by_id(s, small.id, wanted)] == [small.items[5], small.items[1]]


def test_files_that_are_the_same_are_grouped_the_largest_group_first(database, small):
    twice, thrice = f"{0:064x}", f"{1:064x}"
    more = [NewItem(f"copy{i}.png", sha, None, 9, 9, "pool") for i, sha in enumerate([twice, thrice, thrice])]
    make_small(database, "other")  # the same files in another project are nobody's duplicates
    with database.write() as s:
        repository.add_items(s, small.id, more)
    with database.read() as s:
        groups = repository.same_files(s, small.id)
        assert [len(group) for group in groups] == [3, 2]
        assert groups[1][0] == small.items[0]
        assert repository.count_same_files(s, small.id) == 2
        assert repository.same_files(s, small.id, offset=1, limit=5) == groups[1:]
        assert repository.same_files(s, small.id, offset=2) == []


def test_problem_files_come_in_pages_by_path(database, small):
    before = make_small(database, "other")
    paths = [f"{number:03d}.jpg" for number in range(25)]
    with database.write() as s:
        repository.add_problems(s, small.id, [(path, "the file ends early") for path in reversed(paths)])
        repository.add_problems(s, before.id, [("a.jpg", "empty")])
    with database.read() as s:
        known = [row.path for row in repository.problems(s, small.id)]
        assert repository.count_problems(s, small.id) == len(known) >= 25
        pages = [repository.problems_page(s, small.id, start, 10) for start in range(0, len(known), 10)]
        assert [row.path for page in pages for row in page] == known
        assert repository.problems_page(s, small.id, len(known), 10) == []


def test_a_selection_keeps_its_order_and_has_one_key(database, small):
    wanted = [small.items[3], small.items[0]]
    with database.write() as s:
        key = repository.add_selection(s, small.id, wanted)
        assert repository.add_selection(s, small.id, wanted) == key
        assert repository.add_selection(s, small.id, wanted[::-1]) != key
    with database.read() as s:
        assert repository.selection(s, small.id, key) == wanted


def test_a_selection_holds_the_projects_images_alone(database, small):
    other = make_small(database, "other")
    with database.write() as s:
        key = repository.add_selection(s, small.id, [other.items[0], small.items[0]])
        assert repository.selection(s, small.id, key) == [small.items[0]]
        with pytest.raises(ValueError, match="choose some"):
            repository.add_selection(s, small.id, [other.items[0]])
        with pytest.raises(LookupError, match="no selection"):
            repository.selection(s, other.id, key)
