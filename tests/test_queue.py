"""The labelling queue on drawn images: two people, answers, skips, undo."""

import pytest
from sqlalchemy import delete

from core import rounds, workspace
from core.queue import MEASURE, queue_for
from core.ranking import Batch
from db import repository
from db.models import Reference, now
from db.repository import LEASE, LabelKind, NewLabel


@pytest.fixture
def people(database, project):
    with database.write() as s:
        return repository.person(s, "Ada"), repository.person(s, "Grace")


def ids(cards):
    return [card.item_id for card in cards]


def event(card, kind=LabelKind.ANSWER, number=0):
    class_id = card.guesses[0].class_id if kind == LabelKind.ANSWER else None
    return NewLabel(f"{kind}{number}:{card.item_id}", card.item_id, kind, class_id, source="epig")


def test_the_first_cards_are_the_ranking_without_duplicates(database, project, people):
    cards = queue_for(database, project, "epig").serve(people[0], 10)
    ranked = list(workspace.rank(database, project, limit=10, batch=Batch.GREEDY))
    assert ids(cards) == [item.id for item in ranked]
    assert [card.score for card in cards] == pytest.approx([item.score for item in ranked], rel=1e-3)


def test_serving_again_gives_the_same_cards_in_the_same_order(database, project, people):
    queue = queue_for(database, project, "epig")
    assert ids(queue.serve(people[0], 12)) == ids(queue.serve(people[0], 12))


@pytest.mark.parametrize("source", ["epig", "bald", "entropy", "random"])
def test_two_people_get_every_image_once_between_them(database, project, people, source):
    queue = queue_for(database, project, source)
    seen = []
    for number in range(200):
        person = people[number % 2]
        cards = queue.serve(person, 3)
        if not cards:
            break
        assert queue.apply(person, [event(cards[0], number=number)])[0].accepted
        seen.append(cards[0].item_id)
    with database.read() as s:
        pool = {item.id for item in repository.items(s, project, "pool")}
    assert len(seen) == len(set(seen))
    assert set(seen) == pool


def classes(database, project):
    """item → its drawn class: to the toy encoder all images of one class are near duplicates."""
    with database.read() as s:
        return {item.id: item.path.split("/")[0] for item in repository.items(s, project, "pool")}


@pytest.mark.parametrize("source", ["epig", "entropy", "random"])
def test_duplicates_of_what_is_answered_or_on_a_screen_come_last_and_all_come(database, project, people, source):
    queue, drawn = queue_for(database, project, source), classes(database, project)
    seen = []
    for number in range(len(drawn)):
        person = people[number % 2]
        cards = queue.serve(person, 2)
        seen += [card.item_id for card in cards if card.item_id not in seen]
        queue.apply(person, [event(cards[0], number=number)])
    first = len(set(drawn.values()))
    assert {drawn[item] for item in seen[:first]} == set(drawn.values())
    assert sorted(seen) == sorted(drawn)


def test_the_duplicate_of_an_image_given_back_comes_in_its_turn(database, project, people):
    """A lease that ends without an answer leaves the image and its duplicates as they were."""
    queue, drawn = queue_for(database, project, "epig"), classes(database, project)
    before = ids(queue.serve(people[0], 3))
    with database.write() as s:
        repository.release(s, project, people[0])
    with database.write() as s:  # somebody has a duplicate of the first on the screen
        twin = next(item for item, name in drawn.items() if name == drawn[before[0]] and item != before[0])
        repository.claim(s, project, people[1], [twin], 1, now() + LEASE)
    assert drawn[twin] not in {drawn[item] for item in ids(queue.serve(people[0], 3))}
    with database.write() as s:
        repository.release(s, project, people[0])
        repository.release(s, project, people[1])
    assert ids(queue.serve(people[0], 3)) == before


def test_images_to_measure_with_are_a_random_sample_duplicates_and_all(database, project, people):
    with database.write() as s:
        s.execute(delete(Reference))
    queue = queue_for(database, project, MEASURE)
    names = [card.path.split("/")[0] for card in queue.serve(people[0], 1000)]
    first = len(set(names))
    assert len(set(names[:first])) < first


def test_the_order_with_one_card_ahead_is_the_one_with_twelve(database, project, people):
    """Conditioning reads no label, so looking ahead changes nothing."""
    far = ids(queue_for(database, project, "epig").serve(people[0], 12))
    with database.write() as s:
        repository.release(s, project, people[0])
    queue, near = queue_for(database, project, "epig"), []
    for number in range(12):
        card = queue.serve(people[0], 1)[0]
        queue.apply(people[0], [event(card, number=number)])
        near.append(card.item_id)
    assert near == far


def test_a_skipped_image_does_not_come_back_and_conditions_nothing(database, project, people):
    queue = queue_for(database, project, "epig")
    card = queue.serve(people[0], 1)[0]
    queue.apply(people[0], [event(card, LabelKind.SKIP)])
    rest = [item.id for item in workspace.rank(database, project, limit=5)]
    assert card.item_id not in rest
    assert ids(queue.serve(people[0], 5)) == rest


def test_an_undone_answer_comes_back_to_the_same_person(database, project, people):
    queue = queue_for(database, project, "epig")
    cards = queue.serve(people[0], 4)
    queue.apply(people[0], [event(cards[0])])
    queue.apply(people[0], [event(cards[0], LabelKind.UNDO)])
    assert cards[0].item_id in ids(queue.serve(people[0], 4))
    assert cards[0].item_id not in ids(queue.serve(people[1], 50))


def test_a_card_says_what_the_model_thinks_with_its_interval(database, project, people):
    card = queue_for(database, project, "epig").serve(people[0], 1)[0]
    assert len(card.guesses) == 5
    assert [g.probability for g in card.guesses] == sorted((g.probability for g in card.guesses), reverse=True)
    for guess in card.guesses:
        assert 0 <= guess.low <= guess.high <= 1
    assert 0 <= card.epistemic_share <= 1


def test_a_new_round_makes_a_new_queue(database, project, people):
    queue = queue_for(database, project, "epig")
    for card in queue.serve(people[0], 10):
        queue.apply(people[0], [event(card)])
    rounds.run_round(database, project)
    assert queue_for(database, project, "epig").round_number == 1


def test_when_all_is_answered_nothing_is_served(database, project, people):
    queue = queue_for(database, project, "random")
    cards = queue.serve(people[0], 1000)
    queue.apply(people[0], [event(card) for card in cards])
    assert queue.serve(people[0], 5) == []
