"""What storing an answer sets off, and that nothing of it can lose the answer."""

import logging

from sqlalchemy import update

from core import jobs, serving
from core.queue import queue_for
from core.team import TeamSettings, change_settings
from db import repository
from db.models import Lease, now
from tests.test_queue import event, ids, people  # noqa: F401 (a fixture)


def test_a_round_starts_once_enough_was_answered_here(database, project, people):  # noqa: F811
    queue = queue_for(database, project, "random")
    cards = queue.serve(people[0], 9)
    queue.apply(people[0], [event(card) for card in cards[:2]])
    assert jobs.active(database, project) == []
    change_settings(database, project, people[0], TeamSettings(retrain_every=4))
    queue.apply(people[0], [event(cards[2])])
    assert jobs.active(database, project) == []
    queue.apply(people[1], [event(cards[3])])
    assert [job.kind for job in jobs.active(database, project)] == ["round"]


def test_a_round_that_cannot_start_loses_no_answer(database, project, people, monkeypatch, caplog):  # noqa: F811
    def fail(*_):
        raise RuntimeError("no room for jobs")

    monkeypatch.setattr(serving, "start_round_if_due", fail)
    queue = queue_for(database, project, "random")
    card = queue.serve(people[0], 1)[0]
    with caplog.at_level(logging.ERROR, "core.serving"):
        (outcome,) = queue.apply(people[0], [event(card)])
    assert outcome.accepted
    assert "no room for jobs" in caplog.text
    with database.read() as s:
        assert repository.answers(s, project).keys() == {card.item_id}


def test_two_who_answer_one_image_are_both_kept_and_it_waits_for_a_review(database, project, people):  # noqa: F811
    """One's lease ends while the image is on the screen, so that another gets it; then both answer."""
    queue = queue_for(database, project, "random")
    card = queue.serve(people[0], 1)[0]
    with database.write() as s:
        s.execute(update(Lease).values(until=now()))
    assert ids(queue.serve(people[1], 1)) == [card.item_id]
    for number, person in enumerate(people):
        assert queue.apply(person, [event(card, number=number, guess=number)])[0].accepted
    with database.read() as s:
        assert [row.person for row in repository.history(s, card.item_id)] == ["Ada", "Grace"]
        (verdict,) = repository.review_queue(s, project)
    assert (verdict.item_id, verdict.state, verdict.options) == (card.item_id, "disputed", 2)
    (shown,) = queue_for(database, project, "disagreements").serve(people[0], 9)
    assert [(vote.person, vote.class_id) for vote in shown.votes] == [
        ("Ada", card.guesses[0].class_id),
        ("Grace", card.guesses[1].class_id),
    ]


def test_an_answer_beyond_the_people_asked_is_kept_and_not_counted(database, project, people):  # noqa: F811
    change_settings(database, project, people[0], TeamSettings(overlap=1.0))
    queue = queue_for(database, project, "random")
    card = queue.serve(people[0], 1)[0]
    with database.write() as s:
        third = repository.person(s, "Mary")
    for number, person in enumerate((*people, third)):
        assert queue.apply(person, [event(card, number=number, guess=number // 2)])[0].accepted
    with database.read() as s:
        found = repository.verdict(s, project, card.item_id)
        assert (found.state, found.votes, found.uncounted) == ("agreed", 2, 1)
        assert len(repository.history(s, card.item_id)) == 3
        said = repository.said(s, project, [card.item_id])[card.item_id]
    assert [(each.person, each.counted) for each in said] == [("Ada", True), ("Grace", True), ("Mary", False)]
