"""An image that people differ on waits for a review: it is not open, though nothing stands, and it told something."""

import pytest

from core import workspace
from core.comparison import compare_scores
from core.queue import queue_for
from core.team import TeamSettings, change_settings
from db import repository
from tests.test_queue import event, ids, people  # noqa: F401 (a fixture)


@pytest.fixture
def tied(database, project, people):  # noqa: F811
    change_settings(database, project, people[0], TeamSettings(overlap=1.0))
    queue = queue_for(database, project, "epig")
    card = queue.serve(people[0], 1)[0]
    for number, person in enumerate(people):
        queue.apply(person, [event(card, number=number, guess=number)])
    with database.read() as s:
        assert repository.standing(s, project) == []
        assert repository.verdict(s, project, card.item_id).state == "tied"
    return card.item_id


def test_a_ranking_leaves_it_out_and_is_the_queues(database, project, people, tied):  # noqa: F811
    ranked = [item.id for item in workspace.rank(database, project, limit=3)]
    pool = {item.id: i for i, item in enumerate(workspace.workspace(database, project).pool)}
    ranker = workspace.ranker_of(workspace.workspace(database, project), "epig")
    ranker.condition([pool[tied]])
    assert [pool[item] for item in ranked] == ranker.pick(3, [pool[tied]])
    assert tied not in {item.id for item in workspace.rank(database, project, limit=1000)}
    third = queue_for(database, project, "epig")
    with database.write() as s:
        mary = repository.person(s, "Mary")
    assert tied not in ids(third.serve(mary, 1000))


def test_a_comparison_leaves_it_out(database, project, tied):
    found = compare_scores(database, project, images=1000, targets=4, draws=8)
    assert tied not in {item.id for item in found.items}
    assert found.pool == len(workspace.workspace(database, project).pool) - 1
