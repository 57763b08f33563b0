"""What people did: speed without pauses, agreement by name."""

from datetime import UTC, datetime, timedelta

import pytest

from core import people
from core.people import Speed, speed
from db import repository
from db.repository import NewLabel

START = datetime(2024, 5, 1, 9, tzinfo=UTC)


def _times(*gaps):
    times = [START]
    for gap in gaps:
        times.append(times[-1] + timedelta(seconds=gap))
    return times


def test_a_pause_is_no_work():
    steady = speed(_times(*[6] * 100))
    assert steady.per_hour == pytest.approx(600)
    assert steady.hours == pytest.approx(1 / 6)
    with_lunch = speed(_times(*[6] * 50, 3600, *[6] * 50))
    assert (with_lunch.per_hour, with_lunch.hours, with_lunch.pauses) == (steady.per_hour, steady.hours, 1)


@pytest.mark.parametrize("times", [[], _times(), _times(61, 3600)])
def test_without_two_answers_in_a_row_there_is_no_speed(times):
    assert speed(times) == Speed(None, 0.0, max(0, len(times) - 1))


def test_a_gap_of_a_minute_is_work_and_a_longer_one_a_pause():
    assert (speed(_times(60)).pauses, speed(_times(60.5)).pauses) == (0, 1)


def test_figures_and_agreement_are_by_name(database, project):
    with database.write() as s:
        ada, bo = repository.person(s, "Ada"), repository.person(s, "Bo")
        classes = [each.id for each in repository.project(s, project).classes]
        items = [item.id for item in repository.items(s, project, "pool")][:10]
        for who, wrong in ((ada, 0), (bo, 2)):
            for i, item in enumerate(items):
                class_id = classes[(i + (i < wrong)) % 2]
                repository.record(s, project, who, [NewLabel(f"{who}:{i}", item, "answer", class_id, source="epig")])
    found = people.figures(database, project)
    assert [(each.counts.name, each.counts.answers) for each in found] == [("Ada", 10), ("Bo", 10)]
    agreement = people.agreement(database, project)
    assert agreement.raw.value == pytest.approx(0.8)
    assert list(agreement.cohen) == [("Ada", "Bo")]
    assert agreement.cohen["Ada", "Bo"].value == pytest.approx(0.6)
    assert agreement.fleiss.value == pytest.approx(0.6)
    assert agreement.krippendorff.value == pytest.approx(1 - 0.4 * 19 / 20)
