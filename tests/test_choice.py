"""Axes: N labelled images · Z candidates · C = 3 classes."""

import pytest
import torch

from core.choice import ENOUGH, MAP, POSTERIOR, Choice, Judged, choose, folds, rest
from tests.small import generator


@pytest.mark.parametrize("n", [4, 5, 9, 10, 11, 43])
def test_folds_hold_every_answer_out_once_two_or_more_at_a_time_with_each_class_spread(n):
    labels = torch.randint(3, (n,), generator=generator(n)).sort().values
    labels[:2], labels[-2:] = 0, 2
    parts = folds(labels, 3, generator())
    assert torch.cat(parts).sort().values.tolist() == list(range(n))
    assert len(parts) == min(5, n // 2)
    assert min(len(part) for part in parts) >= 2
    for c in range(3):
        counts = [int((labels[part] == c).sum()) for part in parts]
        assert max(counts) - min(counts) <= 1
    for part in parts:
        assert rest(part, n).tolist() == [i for i in range(n) if i not in part.tolist()]


@pytest.mark.parametrize(("n", "parts"), [(200, 5), (250, 4), (400, 3), (1000, 1), (9999, 1)])
def test_folds_stop_where_enough_answers_are_held_out(n, parts):
    found = folds(torch.randint(3, (n,), generator=generator()), 3, generator())
    assert len(found) == parts
    assert sum(len(part) for part in found) >= ENOUGH
    assert sum(len(part) for part in found[1:]) < ENOUGH


@pytest.mark.parametrize("labels", [[], [0, 1, 1], [0] * 12, [0] * 11 + [1]])
def test_too_few_answers_or_a_class_that_one_fold_would_take_whole_are_no_folds(labels):
    assert folds(torch.tensor(labels), 2, generator()) == []


@pytest.mark.parametrize(("n", "answered", "classes"), [(30, 4, 7), (60, 6, 9), (40, 20, 100), (12, 3, 30)])
def test_where_classes_have_no_answer_others_are_held_out_whole_in_that_proportion(n, answered, classes):
    labels = torch.arange(n) % answered
    parts = folds(labels, classes, generator())
    assert torch.cat(parts).sort().values.tolist() == list(range(n))
    unmet = sum(int((~torch.isin(labels[part], labels[rest(part, n)])).sum()) for part in parts)
    wanted = min(1 - answered / classes, 1 - 2 / answered)  # two classes are left to learn from
    assert abs(unmet / n - wanted) <= 0.5 / answered + 1e-9
    assert all(len(labels[rest(part, n)].unique()) > 1 for part in parts)


def test_of_many_answers_some_are_held_out_by_class_and_some_not():
    labels = torch.arange(2000) % 40
    parts = folds(labels, 80, generator())
    unmet = [bool((~torch.isin(labels[part], labels[rest(part, 2000)])).all()) for part in parts]
    assert unmet == [True, False]


def test_folds_are_of_the_seed_alone():
    labels = torch.randint(3, (30,), generator=generator())
    first, second, other = (torch.cat(folds(labels, 3, generator(seed))) for seed in (1, 1, 2))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def judged(*confidence):
    """Z candidates that give the right class of 4 images these probabilities, the others sharing the rest."""
    probs = torch.tensor([[[p, (1 - p) / 2, (1 - p) / 2]] * 4 for p in confidence])
    return Judged(probs, torch.zeros(4, dtype=torch.int64))


def test_the_lowest_loss_over_all_that_was_judged_is_chosen():
    taus = (1.0, 10.0)
    alone = choose(taus, judged(0.8, 0.6, 0.7), None)
    assert (alone.tau, alone.served, alone.validation, alone.answers) == (1.0, POSTERIOR, 4, 0)
    both = choose(taus, judged(0.8, 0.6, 0.7), judged(0.1, 0.5, 0.9))
    assert (both.tau, both.served, both.validation, both.answers) == (10.0, MAP, 4, 4)


def test_how_it_was_chosen_is_said():
    assert Choice(10.0, POSTERIOR).by == "default"
    assert Choice(10.0, POSTERIOR, validation=60).by == "validation, 60 images"
    assert Choice(10.0, POSTERIOR, answers=40).by == "cross-validation over 40 answers"
    assert choose((3.0,), judged(0.8, 0.7), judged(0.8, 0.7)).by == (
        "fixed τ and validation, 4 images and cross-validation over 4 answers"
    )
