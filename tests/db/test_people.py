"""People: roles, what each did, and what a role or a shut door refuses."""

import pytest
from sqlalchemy import update

from db.base import Role
from db.models import Person
from db.repository import (
    NewLabel,
    event_times,
    log,
    merge_class,
    person,
    person_counts,
    person_row,
    person_rows,
    record,
    set_preferences,
    votes,
)


def _say(database, small, who, key, item, kind="answer", class_=0, **columns):
    class_id = small.classes[class_] if kind == "answer" else None
    with database.write() as s:
        return record(s, small.id, who, [NewLabel(key, item, kind, class_id, **{"source": "epig"} | columns)])[0]


def _set(database, person_id, **values):
    with database.write() as s:
        s.execute(update(Person).where(Person.id == person_id).values(**values))


def test_the_first_person_owns_and_the_others_answer(database):
    with database.write() as s:
        ada, bo = person(s, "Ada"), person(s, "Bo")
        assert [person_row(s, each).role for each in (ada, bo)] == [Role.OWNER, Role.ANNOTATOR]
        set_preferences(s, bo, {"keys": {"later": "l"}})
        assert [(row.name, row.preferences) for row in person_rows(s)] == [
            ("Ada", {}),
            ("Bo", {"keys": {"later": "l"}}),
        ]
        with pytest.raises(LookupError, match="no person 9"):
            person_row(s, 9)


def test_a_review_takes_a_reviewer_where_people_sign_in(database, small):
    item = small.items[0]
    assert _say(database, small, small.bo, "1", item, source="review").accepted  # nobody signs in: nobody is known
    _set(database, small.ada, password_hash="x")
    refused = _say(database, small, small.bo, "2", item, source="review")
    assert (refused.accepted, refused.reason) == (False, "a review takes a reviewer or an owner")
    _set(database, small.bo, role=Role.REVIEWER)
    assert _say(database, small, small.bo, "3", item, source="review").accepted


def test_nothing_is_stored_of_a_person_who_was_shut_out(database, small):
    _set(database, small.bo, disabled=True)
    refused = _say(database, small, small.bo, "1", small.items[0])
    assert (refused.accepted, refused.reason.split(":")[0]) == (False, "this person was shut out")
    assert _say(database, small, small.ada, "2", small.items[0]).accepted


def test_each_persons_events_are_counted_with_the_models_guess(database, small):
    guess = {"suggested_class_id": small.classes[0], "suggested_probability": 0.5}
    for i, (class_, seen) in enumerate([(0, False), (1, False), (0, True), (2, True)]):
        _say(database, small, small.bo, f"b{i}", small.items[i], class_=class_, suggestion_seen=seen, **guess)
    for i, kind in enumerate(["later", "unusable", "undo", "skip"]):
        _say(database, small, small.bo, f"k{i}", small.items[4], kind)
    _say(database, small, small.ada, "csv", small.items[5], source="csv")
    _say(database, small, small.ada, "r", small.items[0], class_=2, source="review")
    with database.write() as s:
        ada, bo = person_counts(s, small.id)
        assert (ada.name, ada.answers, ada.reviews, ada.blind.of) == ("Ada", 1, 1, 0)
        assert (bo.answers, bo.unusable, bo.later, bo.undone, bo.reviews) == (4, 2, 1, 1, 0)
        assert (bo.blind.hits, bo.blind.of, bo.seen.hits, bo.seen.of) == (1, 2, 1, 2)
        assert (bo.seen.value, bo.gold.value) == (0.5, None)
        merge_class(s, small.id, small.ada, small.classes[1], small.classes[0])
        assert person_counts(s, small.id)[1].blind.hits == 2
        assert len(event_times(s, small.id, small.bo)) == 8
        assert len(event_times(s, small.id, small.ada)) == 1  # imports are no work


def test_votes_are_everybodys_own_last_answers(database, small):
    a, b = small.items[:2]
    for key, who, item, class_ in [("1", small.ada, a, 0), ("2", small.bo, a, 1), ("3", small.bo, a, 2)]:
        _say(database, small, who, key, item, class_=class_)
    _say(database, small, small.bo, "4", b)
    _say(database, small, small.bo, "5", b, "undo")
    _say(database, small, small.ada, "6", a, class_=1, source="review")
    with database.read() as s:
        got = [(vote.item_id, vote.person_id, vote.class_id) for vote in votes(s, small.id)]
        assert got == [(a, small.ada, small.classes[0]), (a, small.bo, small.classes[2])]


def test_a_persons_log_comes_in_pages_newest_first(database, small):
    for i in range(7):
        _say(database, small, small.bo, f"{i}", small.items[i])
    _say(database, small, small.ada, "other", small.items[0])
    with database.read() as s:
        pages = [row.event_key for offset in range(0, 9, 3) for row in log(s, small.id, small.bo, offset, 3)]
    assert pages == [f"{i}" for i in range(6, -1, -1)]
