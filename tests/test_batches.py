"""What a batch may hold: duplicates once, groups within their quota, and draws that favour high scores."""

import pytest
import torch
from torch.testing import assert_close

from core.batches import SWEEP, Held, Limits, NearDuplicates, Pick, Quota, fill, in_order, power_order
from core.values import Features
from tests.small import generator


def in_position_order(n: int, size: int, limits: Limits, exclude=()) -> list[int]:
    scores = torch.arange(size, 0, -1)
    return [pick.position for pick in fill(n, size, exclude, limits, in_order(range(size), scores))]


def test_without_limits_the_order_is_kept():
    assert in_position_order(3, 6, Limits(), exclude=[1]) == [0, 2, 3]
    assert fill(1, 4, [], Limits(), in_order([2, 0], torch.tensor([5.0, 0, 7.0]))) == [Pick(2, 7.0)]


def test_exact_duplicates_come_once():
    limits = Limits((Quota.of(["a", "b", "a", "c", "b", "d"], limit=1),))
    assert in_position_order(6, 6, limits) == [0, 1, 3, 5]


def test_a_quota_holds_for_every_group():
    quota = Quota(torch.tensor([0, 0, 0, 1, 0, 1, 1, 2]), limit=2)
    assert in_position_order(8, 8, Limits((quota,))) == [0, 1, 3, 5, 7]


def test_near_duplicates_come_once():
    rng = generator()
    rows = torch.randn(6, 40, generator=rng)
    rows[2] = 3 * rows[0] + 0.1 * rows[4]  # brighter, and a little different
    rows[5] = -rows[1]
    near = NearDuplicates(Features(rows), threshold=0.95)
    assert near.among(2, [4, 0])
    assert not near.among(5, [1, 0])
    assert not near.among(2, [])
    assert in_position_order(6, 6, Limits(near=near)) == [0, 1, 3, 4, 5]


def test_the_broken_are_near_nothing():
    rows = torch.ones(3, 4)
    rows[1] = torch.nan
    near = NearDuplicates(Features(rows))
    assert not near.among(1, [0])
    assert near.among(2, [1, 0])


@pytest.mark.parametrize("sweep", [1, 2, 100])
def test_copies_of_what_is_held_wait_whether_exact_or_near(monkeypatch, sweep):
    """However soon the whole pool is searched for copies."""
    monkeypatch.setattr("core.batches.SWEEP", sweep)
    monkeypatch.setattr("core.batches.ROWS", 3)
    rng = generator()
    rows = torch.randn(9, 40, generator=rng)
    rows[2] = 3 * rows[0] + 0.1 * rows[4]
    rows[6] = rows[5]
    rows[8] = torch.nan
    held = Held(Features(rows), files=["a", "b", "c", "b", "e", "f", "g", "h", "i"], threshold=0.95)
    assert not held.among(2, [])
    held.hold([0, 0])
    held.hold([1])
    assert held.among(2, [])  # near the first
    assert held.among(3, [])  # the same file as the second
    assert not held.among(4, [5])
    assert not held.among(8, [])
    assert held.among(6, [])  # near one that was among the others
    assert held.deferred[[2, 3, 6]].all()
    assert not held.deferred[[4, 7, 8]].any()
    assert in_position_order(9, 9, Limits(near=held), exclude=[0, 1, 5]) == [4, 7, 8]


def test_a_pool_full_of_copies_is_searched_once_and_not_proposed_one_by_one():
    rows = torch.eye(5).repeat(200, 1)
    held, proposed = Held(Features(rows), files=range(1000)), []
    best = in_order(range(1000), torch.ones(1000))

    def watched(taken):
        pick = best(taken)
        proposed.append(pick)
        return pick

    assert [pick.position for pick in fill(9, 1000, [], Limits(near=held), watched)] == [0, 1, 2, 3, 4]
    assert len(proposed) < 5 + SWEEP + 2
    assert held.deferred.all()


def test_the_broken_wait_for_the_same_file_only():
    rows = torch.full((3, 4), torch.nan)
    held = Held(Features(rows), files=["a", "b", "a"])
    held.hold([0])
    assert [held.among(each, []) for each in (1, 2)] == [False, True]


def test_what_a_limit_refuses_conditions_nothing():
    heard = []
    limits = Limits((Quota.of("aab", limit=1),))
    fill(3, 3, [], limits, in_order(range(3), torch.ones(3)), heard.append)
    assert heard == [0, 2]


def test_a_power_order_holds_all_that_can_be_drawn_and_follows_the_weights():
    scores = torch.tensor([1.0, torch.nan, 3.0, 0.0])
    firsts = torch.tensor([power_order(scores, 2.0, generator(seed))[0] for seed in range(600)])
    assert sorted(power_order(scores, 2.0, generator())) == [0, 2]
    assert_close((firsts == 2).double().mean(), torch.tensor(0.9).double(), atol=0.04, rtol=0)
