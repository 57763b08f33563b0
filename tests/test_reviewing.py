"""The orders in which answers decide: disagreements and doubted classes, for reviewers."""

import pytest
from sqlalchemy import update

from core import audit, jobs
from core.classes import ClassChange, change_classes
from core.errors import NotAllowed, NotReady
from core.queue import DISAGREEMENTS, ERRORS, End, ending, orders, queue_for
from core.team import TeamSettings, change_settings
from db import repository
from db.base import ClassChangeKind, JobState, Role, VerdictState
from db.models import Job, Person
from db.repository import REVIEW, LabelKind, NewLabel
from tests.test_audit import reference
from tests.test_queue import event, ids


@pytest.fixture
def people(database, project):
    """Ada owns, Bo reviews, Cy and Di answer."""
    with database.write() as s:
        found = [repository.person(s, name) for name in ("Ada", "Bo", "Cy", "Di")]
        for who, role in zip(found, (Role.OWNER, Role.REVIEWER, Role.ANNOTATOR, Role.ANNOTATOR), strict=True):
            s.execute(update(Person).where(Person.id == who).values(password_hash="x", role=role))
    return found


@pytest.fixture
def differing(database, project, people):
    """Four cards that Cy and Di answered: a tie, two that two people were not asked for and corrected, one agreed."""
    change_settings(database, project, people[0], TeamSettings(overlap=0.5))
    queue = queue_for(database, project, "random")
    cards = queue.serve(people[2], 1000)
    with database.read() as s:
        shared = repository.shared(s, project)
    single = [card for card in cards if card.item_id not in shared][:2]
    tie, agreed = [card for card in cards if card.item_id in shared][:2]
    for card in (*single, tie, agreed):
        queue.apply(people[2], [event(card)])
        queue.apply(people[3], [event(card, number=1, guess=int(card is not agreed))])
    with database.write() as s:
        repository.release(s, project, people[2])
    return [tie, *sorted(single, key=lambda card: card.item_id)]


def review(queue, person, *events):
    assert [(each.accepted, each.reason) for each in queue.apply(person, events)] == [(True, "")] * len(events)


def reviewed(card, kind=LabelKind.ANSWER, source=DISAGREEMENTS, guess=0):
    return event(card, kind, number=5, guess=guess, source=source)


def states(database, project, cards):
    with database.read() as s:
        return [repository.verdict(s, project, card.item_id).state for card in cards]


def test_reviews_are_offered_to_those_who_may_review(database, project, people):
    usual = orders(database, project)
    assert orders(database, project, people[2]) == usual
    for who in people[:2]:
        assert orders(database, project, who) == [*usual, DISAGREEMENTS, ERRORS]


def test_without_accounts_everybody_may_review(database, project):
    with database.write() as s:
        person = repository.person(s, "Ada")
    assert orders(database, project, person)[-2:] == [DISAGREEMENTS, ERRORS]


def test_disagreements_come_ties_first_with_who_said_what(database, project, people, differing):
    cards = queue_for(database, project, DISAGREEMENTS).serve(people[1], 9)
    assert ids(cards) == ids(differing)
    assert [card.verdict for card in cards] == [VerdictState.TIED, VerdictState.DISPUTED, VerdictState.DISPUTED]
    assert [card.score for card in cards] == [2, 2, 2]
    for card, answered in zip(cards, differing, strict=True):
        said = [(vote.person, vote.class_name, vote.counted, vote.review) for vote in card.votes]
        first, second = answered.guesses[:2]
        assert said == [("Cy", first.name, True, False), ("Di", second.name, True, False)]


def test_other_orders_show_nobodys_votes(database, project, people, differing):
    for card in queue_for(database, project, "random").serve(people[0], 9):
        assert (card.votes, card.verdict) == ((), None)


def test_in_a_blind_project_votes_show_only_to_those_who_answered(database, project, people, differing):
    change_settings(database, project, people[0], TeamSettings(overlap=0.5, blind=True))
    queue = queue_for(database, project, DISAGREEMENTS)
    assert [(card.votes, card.verdict) for card in queue.serve(people[1], 9)] == [((), None)] * 3
    with database.write() as s:
        repository.release(s, project, people[1])
        mine = NewLabel("mine", differing[1].item_id, "answer", differing[1].guesses[0].class_id, source="epig")
        repository.record(s, project, people[1], [mine])
    shown = {card.item_id: len(card.votes) for card in queue.serve(people[1], 9)}
    assert shown == {card.item_id: 3 if card is differing[1] else 0 for card in differing}


def test_what_is_answered_here_is_a_review(database, project, people, differing):
    queue = queue_for(database, project, DISAGREEMENTS)
    tie, one, other = queue.serve(people[1], 9)
    review(queue, people[1], reviewed(tie, guess=2), reviewed(one, LabelKind.UNUSABLE))
    assert states(database, project, [tie, one]) == [VerdictState.REVIEWED] * 2
    with database.read() as s:
        votes = {vote.person_id for vote in repository.votes(s, project) if vote.item_id == tie.item_id}
        assert votes == {people[2], people[3]}  # everybody's own vote is as it was
        assert repository.answers(s, project)[tie.item_id] == tie_position(database, project, tie, 2)
        assert [row.source for row in repository.history(s, tie.item_id)][-1] == REVIEW
        assert [item for item, who in repository.leases(s, project) if who == people[1]] == [other.item_id]
    assert ids(queue.serve(people[1], 9)) == [other.item_id]


def tie_position(database, project, card, guess):
    with database.read() as s:
        return repository.class_map(s, project)[card.guesses[guess].class_id].position


def test_a_review_can_be_taken_back(database, project, people, differing):
    queue = queue_for(database, project, DISAGREEMENTS)
    tie = queue.serve(people[1], 1)[0]
    done, undone = reviewed(tie), reviewed(tie, LabelKind.UNDO)
    review(queue, people[1], done)
    assert states(database, project, [tie]) == [VerdictState.REVIEWED]
    review(queue, people[1], undone)
    assert states(database, project, [tie]) == [VerdictState.TIED]
    with database.read() as s:
        assert (tie.item_id, people[1]) in repository.leases(s, project)
    queue.apply(people[1], [done])  # sent again, late: it was stored before
    assert states(database, project, [tie]) == [VerdictState.TIED]
    assert ids(queue.serve(people[1], 1)) == [tie.item_id]


def test_an_event_is_a_review_by_the_order_that_it_was_answered_in(database, project, people, differing):
    """Answers that waited for the server may be sent when another order is open by now."""
    ranked, reviewing = queue_for(database, project, "random"), queue_for(database, project, DISAGREEMENTS)
    tie, free = reviewing.serve(people[1], 1)[0], ranked.serve(people[1], 1)[0]
    review(ranked, people[1], reviewed(tie))
    review(reviewing, people[1], event(free, number=5, source="random"))
    assert states(database, project, [tie]) == [VerdictState.REVIEWED]
    with database.read() as s:
        assert [row.source for row in repository.history(s, free.item_id)] == ["random"]


def test_an_annotator_is_refused_here_and_in_the_database(database, project, people, differing):
    queue = queue_for(database, project, DISAGREEMENTS)
    with pytest.raises(NotAllowed, match="reviewer"):
        queue.serve(people[2], 1)
    (outcome,) = queue.apply(people[2], [event(differing[0], number=7, source=DISAGREEMENTS)])
    assert (outcome.accepted, outcome.reason) == (False, "a review takes a reviewer or an owner")
    assert states(database, project, differing[:1]) == [VerdictState.TIED]


def test_two_reviewers_never_have_one_image(database, project, people, differing):
    queue = queue_for(database, project, DISAGREEMENTS)
    first = ids(queue.serve(people[0], 2))
    second = ids(queue.serve(people[1], 9))
    assert (first, second) == (ids(differing)[:2], ids(differing)[2:])
    assert ids(queue.serve(people[0], 9)) == first


def test_a_review_that_is_passed_for_now_comes_last_and_counts_as_nobodys_later(database, project, people, differing):
    queue = queue_for(database, project, DISAGREEMENTS)
    card = queue.serve(people[1], 1)[0]
    review(queue, people[1], reviewed(card, LabelKind.LATER))
    assert ids(queue.serve(people[1], 9))[-1] == card.item_id
    assert states(database, project, differing) == [VerdictState.TIED, *[VerdictState.DISPUTED] * 2]
    with database.read() as s:
        assert repository.counts(s, project).later == 0
        assert repository.desk(s, project, people[1]).later == []


def test_the_end_of_a_review_says_why(database, project, people, differing):
    queue = queue_for(database, project, DISAGREEMENTS)
    cards = queue.serve(people[0], 9)
    held = ending(queue, people[1])
    with database.read() as s:
        assert held.until == repository.held_until(s, project, people[1], ids(cards))
    assert (held.kind, held.total, held.held) == (End.HELD, 3, 3)
    review(queue, people[0], *(reviewed(card) for card in cards))
    assert queue.serve(people[0], 9) == []
    assert (ending(queue, people[1]).kind, ending(queue, people[0]).total) == (End.DONE, 0)


@pytest.fixture
def doubted(database, project, people):
    """Fifty answers of the folder's classes but for two, and the items that are wrong."""
    pool = reference(database, project, "pool")[:50]
    wrong = {pool[3][0]: (pool[3][1] + 6) % 12, pool[17][0]: (pool[17][1] + 6) % 12}
    with database.write() as s:
        classes = [each.id for each in repository.project(s, project).classes]
        events = [
            NewLabel(f"a{item}", item, "answer", classes[wrong.get(item, position)], source="epig")
            for item, position in pool
        ]
        repository.record(s, project, people[2], events)
    return wrong


def test_the_known_classes_are_judged_when_first_asked_for(database, project, people, doubted):
    queue = queue_for(database, project, ERRORS)
    with pytest.raises(NotReady, match="choose this order again"):
        queue.serve(people[0], 1)
    (job,) = jobs.active(database, project)
    assert job.kind == "audit"
    audit.build(database, project)
    assert queue.serve(people[0], 1)


def test_a_judgement_that_failed_is_said_and_not_started_again(database, project, people, doubted):
    with database.write() as s:
        s.add(Job(project_id=project, kind="audit", payload={}, state=JobState.FAILED, error="no memory"))
    with pytest.raises(NotReady, match=r"failed \(no memory\): start it again in Explore"):
        queue_for(database, project, ERRORS).serve(people[0], 1)
    assert jobs.active(database, project) == []


def test_errors_come_the_least_likely_first_until_they_are_decided(database, project, people, doubted):
    found = audit.load(audit.build(database, project))
    expected = [each.item_id for each in found.doubts if each.known != each.predicted]
    queue = queue_for(database, project, ERRORS)
    cards = queue.serve(people[1], 1000)
    assert ids(cards) == expected
    assert doubted.keys() <= set(expected)
    assert [card.score for card in cards] == sorted(card.score for card in cards)
    mine = next(card for card in cards if card.item_id in doubted)
    assert [vote.person for vote in mine.votes] == ["Cy"]
    review(queue, people[1], reviewed(mine, source=ERRORS))
    other = next(card for card in cards if card.item_id in doubted and card is not mine)
    with database.write() as s:  # Cy saw it too
        right = dict(reference(database, project))[other.item_id]
        row = repository.project(s, project).classes[right]
        repository.record(s, project, people[2], [NewLabel("right", other.item_id, "answer", row.id, source="epig")])
    left = ids(queue.serve(people[1], 1000))
    assert left == [item for item in expected if item not in (mine.item_id, other.item_id)]


def test_a_class_that_was_merged_into_the_predicted_one_is_no_error(database, project, people, doubted):
    found = audit.load(audit.build(database, project))
    first = next(each for each in found.doubts if each.known != each.predicted)
    assert ids(queue_for(database, project, ERRORS).serve(people[0], 1)) == [first.item_id]
    known, predicted = found.classes[first.known], found.classes[first.predicted]
    change_classes(database, project, people[0], [ClassChange(ClassChangeKind.MERGE, known, heir_id=predicted)])
    assert first.item_id not in ids(queue_for(database, project, ERRORS).serve(people[0], 1000))


def test_a_doubted_class_of_the_folder_is_shown_as_the_folders(database, project, people, doubted):
    path = audit.build(database, project)
    queue = queue_for(database, project, ERRORS)
    split = {item.id: item.split for item in queue.space.pool}
    tested = [card for card in queue.serve(people[0], 1000) if split[card.item_id] != "pool"]
    stated = dict(reference(database, project))
    found = audit.load(path)
    assert [card.item_id for card in tested] == [
        *(each.item_id for each in found.doubts if split[each.item_id] != "pool" and each.known != each.predicted)
    ]
    for card in tested:
        (vote,) = card.votes
        assert (vote.person, vote.at) == (None, None)
        assert vote.class_id == queue.space.project.classes[stated[card.item_id]].id
