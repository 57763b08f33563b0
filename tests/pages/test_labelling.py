"""What comes from a browser is checked field by field; what goes to it says no more than the team's settings let it."""

from dataclasses import replace

import pytest

from core.queue import Narrow, Vote, queue_for
from db import repository
from db.repository import LabelKind, Recorded
from pages.parts import labelling
from pages.parts.labelling import Desk, NewFlag

FLAG = {"key": "abc:9", "item": 3, "kind": "flag", "note": "two animals"}
SOUND = {"key": "abc:1", "item": 3, "kind": "answer", "class": 2, "lead_ms": 250, "seen": True, "source": "epig"}


def test_a_sound_event_becomes_a_label():
    ((label,), _, _) = labelling.events({"events": [SOUND | {"round": 4, "guess": 2, "guess_probability": 0.6}]})
    assert (label.event_key, label.item_id, label.kind, label.class_id) == ("abc:1", 3, LabelKind.ANSWER, 2)
    assert (label.lead_ms, label.round_number, label.suggested_class_id, label.suggestion_seen) == (250, 4, 2, True)


@pytest.mark.parametrize(
    "change",
    [{"key": "x" * 90 + ":1"}, {"key": None}, {"key": "a'; --:1"}, {"item": "3"}, {"item": True}, {"kind": "delete"}],
)
def test_a_malformed_event_is_refused_and_stops_no_other(change):
    sound, _, refused = labelling.events({"events": [SOUND | change, SOUND]})
    assert sound == labelling.events({"events": [SOUND]})[0]
    assert [each.event_key for each in refused] == [str((SOUND | change)["key"])]


@pytest.mark.parametrize("report", [None, [], "x", {}, {"events": None}, {"events": [None, 3]}, {"events": 3}])
def test_no_report_is_no_event(report):
    assert labelling.events(report) == ([], [], [])


def test_a_flag_is_no_answer():
    labels, (flag,), refused = labelling.events({"events": [FLAG, SOUND]})
    assert flag == NewFlag("abc:9", 3, "two animals")
    assert len(labels) == 1
    assert refused == []


@pytest.mark.parametrize("note", ["", None, 3, "x" * 501])
def test_a_flag_without_a_sound_note_is_refused(note):
    _, flags, refused = labelling.events({"events": [FLAG | {"note": note}]})
    assert flags == []
    assert [each.event_key for each in refused] == ["abc:9"]


@pytest.mark.parametrize("asks", [None, 3, ["x"], [{"do": "round"}], [{"id": 3}], [{"id": "abc:1"}]])
def test_what_is_asked_without_an_id_is_not_heard(asks):
    assert labelling.asks({"asks": asks}) == []
    assert labelling.asks({"asks": [{"id": "abc:a1", "do": "round"}]}) == [{"id": "abc:a1", "do": "round"}]


def test_odd_side_notes_do_not_cost_the_answer():
    ((label,), _, _) = labelling.events({"events": [SOUND | {"lead_ms": -5, "seen": "yes", "guess_probability": 7}]})
    assert (label.lead_ms, label.suggestion_seen, label.suggested_probability) == (None, False, None)


def test_refusals_are_told_apart_from_what_is_stored():
    outcome = [Recorded("a:1", True), Recorded("a:2", False, "not in this project"), Recorded("a:1", True, "before")]
    told = labelling.acknowledged(outcome)
    assert told == {"saved": ["a:1", "a:1"], "refused": [{"key": "a:2", "reason": "not in this project"}]}


@pytest.fixture
def desk(database, project):
    with database.write() as s:
        return Desk(repository.project(s, project), repository.person(s, "Ada"), blind=False, narrow=Narrow())


def turn(database, desk, events, source="epig"):
    queue = queue_for(database, desk.project.id, source)
    return labelling.turn(database, queue, desk, {"turn": 5, "events": events})


def test_a_turn_stores_answers_and_flags_and_serves_the_next(database, desk):
    first = turn(database, desk, [])["cards"][0]
    answer = SOUND | {"item": first["item"], "class": desk.project.classes[0].id}
    data = turn(database, desk, [answer, FLAG | {"item": first["item"]}, FLAG | {"key": "abc:8", "item": 10**9}])
    assert sorted(data["saved"]) == ["abc:1", "abc:9"]
    assert [each["key"] for each in data["refused"]] == ["abc:8"]
    assert first["item"] not in [card["item"] for card in data["cards"]]
    with database.read() as s:
        assert [each.note for each in repository.flags_of(s, first["item"])] == ["two animals"]
        assert [label.suggestion_seen for label in repository.history(s, first["item"])] == [True]


def test_a_flag_that_comes_twice_is_one(database, desk):
    item = turn(database, desk, [])["cards"][0]["item"]
    for _ in range(2):
        assert turn(database, desk, [FLAG | {"item": item}])["saved"] == ["abc:9"]
    with database.read() as s:
        assert len(repository.flags_of(s, item)) == 1


def test_a_blind_desk_is_told_nothing_of_what_the_model_and_others_say(database, desk):
    blind = Desk(desk.project, desk.person_id, blind=True, narrow=Narrow())
    open_, closed = (turn(database, each, [])["cards"][0] for each in (desk, blind))
    assert open_["guesses"]
    assert open_["why"]
    assert (closed["guesses"], closed["votes"], closed["unknown"], closed["why"]) == ([], [], None, "")
    assert labelling.setting(blind)["without"] == ["why"]
    answer = SOUND | {"item": closed["item"], "class": desk.project.classes[0].id, "seen": True}
    turn(database, blind, [answer])
    with database.read() as s:
        assert [label.suggestion_seen for label in repository.history(s, closed["item"])] == [False]


def test_votes_are_beside_the_image_where_answers_are_reviews(database, desk):
    queue = queue_for(database, desk.project.id, "epig")
    (card,) = queue.serve(desk.person_id, 1)
    votes = (Vote(1, 2, "Bo", 3, "cat", None, True, False), Vote(1, None, None, None, None, None, False, False))
    told = labelling.shown(replace(card, votes=votes), queue, desk)["votes"]
    assert told == [{"person": "Bo", "name": "cat"}, {"person": "the folder", "name": "unusable (not counted)"}]
    blind = Desk(desk.project, desk.person_id, blind=True, narrow=Narrow())
    assert labelling.shown(replace(card, votes=votes), queue, blind)["votes"] == []


def test_a_filter_holds_for_all_that_is_served(database, desk):
    every = turn(database, desk, [])["cards"]
    guess = every[0]["guesses"][0]["class"]
    narrow = Desk(desk.project, desk.person_id, blind=False, narrow=Narrow(guess=guess))
    cards = turn(database, narrow, [])["cards"]
    assert len(cards) > 0
    assert {card["guesses"][0]["class"] for card in cards} == {guess}
