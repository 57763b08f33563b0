"""What comes from a browser is checked field by field; why there is nothing to show is said."""

from datetime import datetime

import pytest

from core.queue import MEASURE
from db.repository import Counts, LabelKind, Recorded
from pages.parts import labelling

SOUND = {"key": "abc:1", "item": 3, "kind": "answer", "class": 2, "lead_ms": 250, "seen": True, "source": "epig"}


def test_a_sound_event_becomes_a_label():
    ((label,), _) = labelling.events({"events": [SOUND | {"round": 4, "guess": 2, "guess_probability": 0.6}]})
    assert (label.event_key, label.item_id, label.kind, label.class_id) == ("abc:1", 3, LabelKind.ANSWER, 2)
    assert (label.lead_ms, label.round_number, label.suggested_class_id, label.suggestion_seen) == (250, 4, 2, True)


@pytest.mark.parametrize(
    "change",
    [{"key": "x" * 90 + ":1"}, {"key": None}, {"key": "a'; --:1"}, {"item": "3"}, {"item": True}, {"kind": "delete"}],
)
def test_a_malformed_event_is_refused_and_stops_no_other(change):
    sound, refused = labelling.events({"events": [SOUND | change, SOUND]})
    assert sound == labelling.events({"events": [SOUND]})[0]
    assert [each.event_key for each in refused] == [str((SOUND | change)["key"])]


@pytest.mark.parametrize("report", [None, [], "x", {}, {"events": None}, {"events": [None, 3]}, {"events": 3}])
def test_no_report_is_no_event(report):
    assert labelling.events(report) == ([], [])


def test_odd_side_notes_do_not_cost_the_answer():
    ((label,), _) = labelling.events({"events": [SOUND | {"lead_ms": -5, "seen": "yes", "guess_probability": 7}]})
    assert (label.lead_ms, label.suggestion_seen, label.suggested_probability) == (None, False, None)


def test_refusals_are_told_apart_from_what_is_stored():
    outcome = [Recorded("a:1", True), Recorded("a:2", False, "not in this project"), Recorded("a:1", True, "before")]
    told = labelling.acknowledged(outcome)
    assert told == {"saved": ["a:1", "a:1"], "refused": [{"key": "a:2", "reason": "not in this project"}]}


@pytest.mark.parametrize(
    ("answered", "skipped", "leased", "title"),
    [(8, 0, 0, "All done"), (7, 1, 0, "All done"), (6, 0, 2, "The rest is with others")],
)
def test_an_empty_desk_says_why(answered, skipped, leased, title):
    counts = Counts(8, answered, skipped, leased, 0, 0, 0, {})
    end = labelling.end(counts, datetime(2024, 5, 1, 14, 30))
    assert end["title"] == title
    assert ("14:35" in end["text"]) == (leased > 0)


@pytest.mark.parametrize(("left", "said"), [(0, "The next round measures with them."), (2, "2 images set aside")])
def test_the_end_of_the_images_to_measure_with(left, said):
    end = labelling.end(Counts(8, 0, 0, 0, 0, 0, 0, {}), datetime(2024, 5, 1), left)
    assert said in end["text"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("epig", "EPIG 0.0123 nats: how much"),
        ("entropy", "Entropy 0.0123 nats: how undecided"),
        ("margin", "Margin 0.0123: how close"),
        ("random", "Random: no preference"),
        (MEASURE, "Images to measure with: test and validation"),
    ],
)
def test_the_reason_has_the_score_with_its_unit(source, said):
    assert labelling.meaning(source, 0.01234).startswith(said)
    assert "second order" not in labelling.meaning(source, 0.01234)
