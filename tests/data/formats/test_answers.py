"""What stands of a history, which class an image is shown under, and what the snapshot of an export depends on."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from core.data.dataset import Dataset, Event, Guess, Kind, Record, Status
from core.data.formats import write
from core.data.formats.answers import deciding, moment, parsed, settled, shown, standing, votes
from core.data.scan import Split


def said(*parts):
    """Events from "Ada:cat", "Bo:later" and so on."""
    kinds = {kind.value: kind for kind in Kind}
    pairs = [part.split(":") for part in parts]
    return tuple(Event(who, kinds.get(what, Kind.ANSWER), None if what in kinds else what) for who, what in pairs)


@pytest.mark.parametrize(
    ("status", "split", "label", "stated", "expected"),
    [
        (Status.LABELLED, Split.POOL, "cat", "dog", "cat"),
        (Status.LABELLED, Split.TEST, "cat", "dog", "cat"),
        (Status.UNLABELLED, Split.POOL, None, "dog", None),
        (Status.UNLABELLED, Split.TEST, None, "dog", "dog"),
        (Status.UNLABELLED, Split.VALIDATION, None, "dog", "dog"),
        (Status.UNLABELLED, None, None, "dog", "dog"),
        (Status.SKIPPED, None, None, "dog", None),
        (Status.UNUSABLE, Split.TEST, None, "dog", None),
        (Status.CONFLICT, None, "cat", "dog", None),
    ],
)
def test_an_image_is_shown_under_what_the_team_said_and_never_under_a_hidden_class(
    status, split, label, stated, expected
):
    assert shown(Record("a", split=split, status=status, label=label, stated=stated)) == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (said(), (Status.UNLABELLED, None)),
        (said("Ada:cat"), (Status.LABELLED, "cat")),
        (said("Ada:cat", "Ada:dog"), (Status.LABELLED, "dog")),
        (said("Ada:cat", "Bo:dog"), (Status.CONFLICT, None)),
        (said("Ada:cat", "Bo:dog", "Bo:undo"), (Status.LABELLED, "cat")),
        (said("Ada:cat", "Ada:undo"), (Status.UNLABELLED, None)),
        (said("Ada:later"), (Status.SKIPPED, None)),
        (said("Ada:later", "Bo:unusable"), (Status.UNUSABLE, None)),
        (said("Ada:later", "Bo:cat"), (Status.LABELLED, "cat")),
    ],
)
def test_what_answers_come_to_where_nobody_decides(events, expected):
    assert settled(events) == expected


def test_of_each_person_the_last_word_stands():
    events = said("Ada:cat", "Bo:dog", "Ada:dog", "Eve:cat", "Eve:undo", "Cy:later")
    assert standing(events) == [events[1], events[2], events[5]]
    record = Record("a", status=Status.LABELLED, label="dog", events=events)
    assert (deciding(record), votes(record)) == (events[2], (2, 1.0))
    assert votes(replace(record, label="cat")) == (2, 0.0)
    assert votes(replace(record, label=None, events=())) == (0, None)


def test_times_are_told_in_utc():
    at = datetime(2026, 1, 2, 12, tzinfo=timezone(timedelta(hours=2)))
    assert moment(at) == "2026-01-02T10:00:00+00:00"
    assert parsed("2026-01-02T12:00:00+02:00") == parsed("2026-01-02 10:00:00") == at
    assert parsed("2021-03-09T21:52:49.513742Z") == datetime(2021, 3, 9, 21, 52, 49, 513742, UTC)
    assert parsed("yesterday") is None


def test_the_snapshot_changes_with_anything_that_is_known(tmp_path):
    record = Record("a.jpg", status=Status.LABELLED, label="cat", events=said("Ada:cat"), guess=Guess("cat", 0.5))
    changes = {"label": "dog", "domain": "photo", "split": Split.TEST, "stated": "dog", "path": "b.jpg"}
    changes |= {"events": said("Bo:cat"), "guess": Guess("cat", 0.25), "figures": {"epig": 1.0}, "sha256": "ab"}
    several = [[record], [], [record, replace(record, path="c.jpg")]]
    several += [[replace(record, **{name: value})] for name, value in changes.items()]
    found = [
        write(Dataset(tmp_path, ("cat", "dog"), records), "list", tmp_path / f"{number}").snapshot
        for number, records in enumerate(several)
    ]
    assert len(set(found)) == len(several)
