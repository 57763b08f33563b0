"""The labelling queue on drawn images: two people, answers, skips, undo."""

import pytest
from sqlalchemy import delete

from core import rounds, workspace
from core.queue import MEASURE, queue_for
from core.ranking import Batch
from core.team import TeamSettings, change_settings
from db import repository
from db.models import Reference, now
from db.repository import LEASE, LabelKind, NewLabel


@pytest.fixture
def people(database, project):
    with database.write() as s:
        return repository.person(s, "Ada"), repository.person(s, "Grace")


def ids(cards):
    return [card.item_id for card in cards]


def event(card, kind=LabelKind.ANSWER, number=0, guess=0, source="epig"):
    class_id = card.guesses[guess].class_id if kind == LabelKind.ANSWER else None
    return NewLabel(f"{kind}{number}:{card.item_id}", card.item_id, kind, class_id, source=source)


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


def test_where_another_server_was_faster_it_wishes_again(database, project, people, monkeypatch):
    """Between reading the desk and claiming, somebody else takes all that was wished for."""
    queue, claim, taken = queue_for(database, project, "epig"), repository.claim, []

    def beaten(s, project_id, person_id, wishes, n, until):
        if not taken:
            taken.extend(claim(s, project_id, people[1], wishes, len(wishes), until))
        return claim(s, project_id, person_id, wishes, n, until)

    monkeypatch.setattr(repository, "claim", beaten)
    served = ids(queue.serve(people[0], 3))
    assert len(taken) == len(served) == 3
    assert not set(served) & set(taken)


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


@pytest.mark.parametrize("source", ["epig", "bald", "bald-saturating"])
def test_an_answer_of_one_changes_what_another_is_served_next_without_a_round(database, project, people, source):
    """Ada's next image is the best given her own answer and Bo's, of an image that her queue would not have picked."""
    queue = queue_for(database, project, source)
    space = queue.space
    ranker = workspace.ranker_of(space, source)
    scores = ranker.scores()
    best, second = scores.argsort(descending=True)[:2].tolist()
    nearest = space.pool[second].id
    with database.write() as s:  # Bo answers what Ada would be asked second
        answered = repository.class_map(s, project)
        repository.record(s, project, people[1], [NewLabel("bo", nearest, "answer", min(answered), source="epig")])
    ranker.condition([second])
    expected = ranker.pick(2, [second])
    drawn = classes(database, project)
    served = ids(queue.serve(people[0], 2))
    assert nearest not in served
    assert all(drawn[item] != drawn[nearest] for item in served)  # a twin of it would tell what Bo told already
    apart = [i for i in expected if drawn[space.pool[i].id] != drawn[nearest]]
    assert served[: len(apart)] == [space.pool[i].id for i in apart]
    assert ranker.scores_at([best])[0] < scores[best]


def test_a_queue_conditions_on_the_whole_teams_answers_as_if_one_person_gave_them(database, project, people):
    queue = queue_for(database, project, "epig")
    together = []
    for number in range(16):
        card = queue.serve(people[number % 2], 1)[0]
        queue.apply(people[number % 2], [event(card, number=number)])
        together.append(card.item_id)
    ranked = list(workspace.rank(database, project, limit=80))
    assert {item.id for item in ranked} == classes(database, project).keys() - set(together)
    space = queue.space
    ranker = workspace.ranker_of(space, "epig")
    position = {item.id: i for i, item in enumerate(space.pool)}
    ranker.condition([position[item] for item in together])
    assert ranked[0].id == space.pool[ranker.pick(1, [position[item] for item in together])[0]].id


def test_when_all_is_answered_nothing_is_served(database, project, people):
    queue = queue_for(database, project, "random")
    cards = queue.serve(people[0], 1000)
    queue.apply(people[0], [event(card) for card in cards])
    assert queue.serve(people[0], 5) == []


def answer_all(queue, *people):
    """Each in turn answers their first card until nobody has any; what each was served, in order."""
    seen, number, left = {person: [] for person in people}, 0, list(people)
    while left:
        person = left[number % len(left)]
        cards = queue.serve(person, 3)
        if not cards:
            left.remove(person)
            continue
        assert queue.apply(person, [event(cards[0], number=number)])[0].accepted
        seen[person].append(cards[0].item_id)
        number += 1
    return seen


def test_what_a_person_passed_for_now_comes_back_to_them_at_the_end(database, project, people):
    queue = queue_for(database, project, "epig")
    passed = queue.serve(people[0], 2)
    queue.apply(people[0], [event(card, LabelKind.LATER) for card in passed])
    seen = answer_all(queue, people[0])[people[0]]
    assert seen[-2:] == ids(passed)
    assert len(seen) == len(set(seen))


def test_what_a_person_passed_for_now_is_served_to_another_at_once(database, project, people):
    queue = queue_for(database, project, "epig")
    card = queue.serve(people[0], 1)[0]
    queue.apply(people[0], [event(card, LabelKind.LATER)])
    assert queue.serve(people[1], 1)[0].item_id == card.item_id


def test_an_unusable_image_comes_back_to_nobody(database, project, people):
    queue = queue_for(database, project, "epig")
    card = queue.serve(people[0], 1)[0]
    queue.apply(people[0], [event(card, LabelKind.UNUSABLE)])
    for person in people:
        assert card.item_id not in answer_all(queue, person)[person]


@pytest.mark.parametrize("source", ["epig", "random"])
def test_a_shared_image_is_served_to_two_people_once_each(database, project, people, source):
    change_settings(database, project, people[0], TeamSettings(overlap=0.3))
    queue = queue_for(database, project, source)
    with database.write() as s:
        third = repository.person(s, "Mary")
        shared = set(repository.shared(s, project))
        pool = {item.id for item in repository.items(s, project, "pool")}
    seen = answer_all(queue, *people, third)
    served = [item for items in seen.values() for item in items]
    assert all(len(items) == len(set(items)) for items in seen.values())
    assert {item: served.count(item) for item in pool} == {item: 2 if item in shared else 1 for item in pool}


def test_a_second_vote_is_asked_for_before_new_images(database, project, people):
    change_settings(database, project, people[0], TeamSettings(overlap=1.0))
    queue = queue_for(database, project, "epig")
    cards = queue.serve(people[0], 3)
    queue.apply(people[0], [event(card) for card in cards])
    assert ids(queue.serve(people[1], 5))[:3] == ids(cards)
