"""The grid's pages: whose images they are, in which order, and what becomes of a batch."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import pytest
import torch

from core import grid as grids
from core import jobs, sorting
from core.choice import predict
from core.errors import UnknownName
from core.grid import PAGE, Wish, grid_for
from core.queue import SELECTION, Narrow, queue_for
from core.team import TeamSettings
from core.workspace import workspace
from db import repository
from db.repository import LabelKind, NewLabel


@pytest.fixture
def people(database, project) -> tuple[int, int]:
    with database.write() as s:
        return repository.person(s, "Ada"), repository.person(s, "Bo")


@pytest.fixture
def grid(database, project):
    return grid_for(database, project, "epig")


def classes(database, project) -> dict[str, int]:
    with database.read() as s:
        return {each.name: each.id for each in repository.project(s, project).classes}


def leases(database, project, person) -> set[int]:
    with database.read() as s:
        return {item for item, who in repository.leases(s, project) if who == person}


def answers(items, class_id, start=1, kind=LabelKind.ANSWER, batch="b"):
    given = class_id if kind == LabelKind.ANSWER else None
    return [NewLabel(f"{batch}:{i}", item, kind, given, source="x") for i, item in enumerate(items, start)]


def ids(page) -> list[int]:
    return [tile.item.id for tile in page.tiles]


def slow(database, project) -> dict[int, tuple[int, float]]:
    """(class id, probability) by pool item, one image at a time."""
    space = workspace(database, project)
    found = {}
    for i, item in enumerate(space.pool):
        probs = predict(space.posterior, space.features[i : i + 1], space.texts, space.round.metrics["served"])[0]
        found[item.id] = (space.project.classes[int(probs.argmax())].id, float(probs.max()))
    return found


def test_piles_hold_what_the_model_takes_for_each_class_and_the_likeliest_come_first(database, project, grid, people):
    said = slow(database, project)
    page = grid.page(people[0], Wish())
    of_classes = [pile for pile in page.piles if pile.cluster is None]
    assert {pile.class_id: pile.open for pile in of_classes} == Counter(each for each, _ in said.values())
    assert [pile.open for pile in of_classes] == sorted((pile.open for pile in of_classes), reverse=True)
    for pile in of_classes:
        shown = grid.page(people[0], Wish(pile.key)).tiles
        mine = sorted((p for each, p in said.values() if each == pile.class_id), reverse=True)
        torch.testing.assert_close([tile.probability for tile in shown], mine[:PAGE])
        assert pile.best == pytest.approx(mine[0])
        assert {tile.guess for tile in shown} == {pile.class_id}
    clusters = [pile for pile in page.piles if pile.cluster is not None]
    assert sum(pile.open for pile in clusters) == len(said), "every image is in one cluster"
    assert page.pile == of_classes[0].key


def test_a_cluster_says_what_most_of_it_looks_like(database, project, grid, people):
    said = slow(database, project)
    for pile in grid.page(people[0], Wish()).piles:
        if pile.cluster is not None and pile.open <= PAGE:
            looks = Counter(said[item][0] for item in ids(grid.page(people[0], Wish(pile.key))))
            assert pile.best == pytest.approx(looks[pile.class_id] / pile.open)
            assert looks[pile.class_id] == max(looks.values())


def test_what_is_answered_gold_shared_or_with_others_is_not_open(database, project, grid, people):
    ada, bo = people
    before = grid.page(ada, Wish())
    answered, gold, shared = ids(before)[:3]
    with database.write() as s:
        repository.record(s, project, bo, answers([answered], classes(database, project)["mug"]))
        repository.mark_gold(s, project, bo, [(gold, classes(database, project)["fan"])])
        repository.want(s, project, [shared], 2)
    page = grid.page(ada, Wish(before.pile))
    assert ids(page) == ids(before)[3:]
    assert next(pile.open for pile in page.piles if pile.key == before.pile) == before.piles[0].open - 3
    seen_by_bo = grid.page(bo, Wish(before.pile))
    assert not set(ids(seen_by_bo)) & leases(database, project, ada)


def test_people_at_once_never_share_an_image(database, project, grid, people, monkeypatch):
    monkeypatch.setattr(grids, "PAGE", 4)
    pile = grid.page(people[0], Wish()).piles[0]
    with database.write() as s:
        crowd = [repository.person(s, f"P{i}") for i in range(5)]
    with ThreadPoolExecutor(5) as threads:
        list(threads.map(lambda who: grid.page(who, Wish(pile.key)), crowd * 3))
    held = [leases(database, project, who) for who in (*crowd, people[0])]
    assert sum(len(each) for each in held) == len(set().union(*held)) == min(pile.open, 4 * 6)


def test_only_the_page_is_held_and_another_pile_gives_it_back(database, project, grid, people):
    ada = people[0]
    queue_for(database, project, "epig").serve(ada, 13, Narrow())
    page = grid.page(ada, Wish())
    assert leases(database, project, ada) == set(ids(page))
    other = next(pile.key for pile in page.piles if pile.cluster is None and pile.key != page.pile)
    second = grid.page(ada, Wish(other))
    assert leases(database, project, ada) == set(ids(second))
    grids.leave(database, project, ada)
    assert leases(database, project, ada) == set()


def test_a_screen_is_held_as_it_is_but_for_what_others_answered(database, project, grid, people):
    ada, bo = people
    screen = ids(grid.page(ada, Wish()))[::-1]
    with database.write() as s:
        repository.record(s, project, bo, answers(screen[1:2], classes(database, project)["mug"]))
    held = grid.page(ada, Wish(screen=tuple(screen)))
    assert ids(held) == [screen[0], *screen[2:]]
    assert held.ahead == ()


def test_what_was_left_out_does_not_come_again_and_is_not_held(database, project, grid, people):
    ada = people[0]
    page = grid.page(ada, Wish())
    left = frozenset(ids(page)[:2])
    again = grid.page(ada, Wish(page.pile, passed=left))
    assert not left & set(ids(again))
    assert not left & leases(database, project, ada)
    assert again.piles[0].open == page.piles[0].open, "it is still open"


def test_a_batch_is_stored_as_seen_and_undone_as_a_whole(database, project, grid, people):
    ada = people[0]
    items, mug = ids(grid.page(ada, Wish())), classes(database, project)["mug"]
    outcome = grid.apply(ada, answers(items, mug))
    assert all(each.accepted for each in outcome)
    with database.read() as s:
        rows = [row for item in items for row in repository.history(s, item)]
    assert {(row.source, row.suggestion_seen, row.class_id) for row in rows} == {("grid", True, mug)}
    assert leases(database, project, ada) == set()
    assert [each.reason for each in grid.apply(ada, answers(items, mug))] == ["stored before"] * len(items)
    grid.apply(ada, answers(items, None, kind=LabelKind.UNDO, batch="u"))
    with database.read() as s:
        assert repository.standing(s, project) == []
    assert ids(grid.page(ada, Wish(screen=tuple(items)))) == items


def test_enough_answers_start_the_round_that_is_due(database, project, grid, people):
    with database.write() as s:
        repository.set_team(s, project, asdict(TeamSettings(retrain_every=3)))
    items, mug = ids(grid.page(people[0], Wish())), classes(database, project)["mug"]
    grid.apply(people[0], answers(items[:2], mug))
    assert jobs.active(database, project) == []
    grid.apply(people[0], answers(items[2:3], mug, start=3))
    assert [job.kind for job in jobs.active(database, project)] == ["round"]


def test_a_round_that_cannot_start_costs_no_answer(database, project, grid, people, monkeypatch, caplog):
    def fails(*_):
        raise RuntimeError("no disk")

    monkeypatch.setattr(grids, "start_round_if_due", fails)
    items = ids(grid.page(people[0], Wish()))
    assert grid.apply(people[0], answers(items[:1], classes(database, project)["mug"]))[0].accepted
    assert "no round was started" in caplog.text


def test_a_selection_and_a_domain_narrow_the_grid(database, project, people):
    with database.write() as s:
        some = [item.id for item in repository.items(s, project)][:30]
        key = repository.add_selection(s, project, some)
        pool = {item.id for item in repository.items(s, project, "pool")}
    page = grid_for(database, project, SELECTION + key).page(people[0], Wish())
    assert sum(pile.open for pile in page.piles if pile.cluster is None) == len(pool & set(some))
    nowhere = grid_for(database, project, "epig", "sketch").page(people[0], Wish())
    assert (nowhere.pile, nowhere.piles, nowhere.tiles) == (None, (), ())
    with pytest.raises(UnknownName, match="choose the images again"):
        grid_for(database, project, SELECTION + "gone")


def test_the_pool_is_sorted_once_for_each_model(database, project, monkeypatch):
    grid_for(database, project, "epig")
    monkeypatch.setattr(sorting, "sort_pool", lambda space: pytest.fail("sorted again"))
    grid_for(database, project, "bald")
    with database.write() as s:
        row = repository.rounds(s, project)[-1]
        columns = {name: getattr(row, name) for name in row.__slots__ if name not in ("id", "project_id", "number")}
        columns.pop("created_at")
        repository.add_round(s, project, **columns)
    with pytest.raises(BaseException, match="sorted again"):
        grid_for(database, project, "epig")


def test_a_pile_that_does_not_exist_is_as_none(grid, people):
    usual = grid.page(people[0], Wish()).pile
    for odd in ("class-999", "cluster-99", "class-", "../x", ""):
        assert grid.page(people[0], Wish(odd)).pile == usual
