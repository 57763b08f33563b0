"""What the desk says of an order, and why there is nothing to show."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from core.jobs import JobRow
from core.queue import DISAGREEMENTS, ERRORS, MEASURE, End, Ending
from pages.parts import desk_words

UNTIL = datetime(2024, 5, 1, 14, 35, tzinfo=UTC)
ENDING = Ending(
    kind=End.DONE, total=8, answered=6, left=3, held=2, until=UNTIL, later=1, waiting=0, review=1, set_aside=2
)


@pytest.mark.parametrize(
    ("kind", "source", "title", "said"),
    [
        (End.EMPTY, "epig", "No images to answer", "see Projects"),
        (End.FILTERED, "epig", "Filtered out", "Your filter hides 3 images"),
        (
            End.HELD,
            "epig",
            "The rest is with others",
            "2 images on other screens. What is not",
        ),
        (End.LATER, "epig", "Only what you set aside is left", "1 image"),
        (End.MEASURED, MEASURE, "No more images to measure with", "The next round measures with them."),
        (End.SELECTION, "selection:x", "That was your choice", "6 answers of 8. 2 images unusable."),
        (End.REVIEW, "epig", "All answered, some in dispute", "1 image waits"),
        (End.SET_ASIDE, "epig", "All done", "2 images unusable. Retrain"),
        (End.DONE, "epig", "All done", "6 answers of 8. Retrain"),
        (End.DONE, DISAGREEMENTS, "Nothing left to review", "another order"),
    ],
)
def test_an_empty_desk_says_why(kind, source, title, said):
    end = desk_words.end(replace(ENDING, kind=kind), source)
    assert end["title"] == title
    assert said in end["text"]
    assert ("{until}" in end["text"]) == (kind is End.HELD)
    assert end["until"] == UNTIL.isoformat()


def test_every_end_has_words():
    for kind in End:
        assert desk_words.end(replace(ENDING, kind=kind, until=None), "epig")["until"] is None


def test_what_waits_for_others_is_said():
    assert "3 images still waiting for other people" in desk_words.end(replace(ENDING, waiting=3), "epig")["text"]


def test_only_what_was_passed_is_said_on_the_desk():
    assert desk_words.hint(replace(ENDING, kind=End.LATER)) == "only what you set aside is left"
    assert desk_words.hint(ENDING) == ""


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("epig", "EPIG 0.0123 nats: how much"),
        ("entropy", "Entropy 0.0123 nats: how undecided"),
        ("margin", "Margin 0.0123: how close"),
        ("random", "Random: no preference"),
        (MEASURE, "Images to measure with: test and validation"),
        ("selection:x", "Chosen in Explore"),
        (DISAGREEMENTS, "Disagreements: people say different things"),
        (ERRORS, "Likely errors: models that did not learn"),
    ],
)
def test_the_reason_has_the_score_with_its_unit(source, said):
    assert desk_words.meaning(source, 0.01234).startswith(said)
    assert "second order" not in desk_words.meaning(source, 0.01234)


@pytest.mark.parametrize("source", [MEASURE, DISAGREEMENTS, ERRORS, "selection:x"])
def test_an_order_without_a_score_has_a_name_and_no_unit(source):
    assert desk_words.title(source)
    assert desk_words.unit(source) == ""
    assert not desk_words.is_scored(source)


@pytest.mark.parametrize(
    ("done", "total", "waits", "share", "said"), [(3, 4, "", 0.75, "learning"), (0, 0, "waiting", 0, "waiting")]
)
def test_a_round_under_way(done, total, waits, share, said):
    row = JobRow(*[None] * len(JobRow.__slots__))
    shown = desk_words.under_way(replace(row, done=done, total=total), waits)
    assert shown["share"] == share
    assert said in shown["said"]
