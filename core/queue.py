"""The labelling queues of a project, one for each order, shared by all people who label in this process."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock

from core.cards import Card, Narrow, Vote
from core.ending import End, Ending
from core.orders import (
    DISAGREEMENTS,
    ERRORS,
    MEASURE,
    REVIEWS,
    SELECTION,
    is_review,
    is_selection,
    items_of,
    orders,
    unmeasured,
)
from core.reviewing import ReviewQueue
from core.serving import Queue
from core.team import share_images
from core.workspace import workspace
from db import repository
from db.session import Database

__all__ = [
    "DISAGREEMENTS",
    "ERRORS",
    "MEASURE",
    "REVIEWS",
    "SELECTION",
    "Card",
    "End",
    "Ending",
    "Narrow",
    "Queue",
    "Vote",
    "ending",
    "is_review",
    "is_selection",
    "orders",
    "queue_for",
    "unmeasured",
]


def ending(queue: Queue, person_id: int, narrow: Narrow = Narrow()) -> Ending:  # noqa: B008 (frozen)
    """Why the queue serves this person nothing, or only what they passed for now."""
    return queue.ending(person_id, narrow)


def queue_for(database: Database, project_id: int, source: str) -> Queue:
    """The queue of a project's newest round by one of `orders` or of a selection, kept until the next round.

    Raises NotReady before the first round, UnknownName for no such selection.
    """
    with database.read() as s:
        newest = repository.latest_round(s, project_id)
        size = (repository.pool_size(s, project_id), *repository.extent(s, project_id))
        version = repository.project(s, project_id).class_version
    with _building:
        return _queue(database, project_id, source, newest and newest.id, size, version)


_building = Lock()


@lru_cache(maxsize=16)
def _queue(database: Database, project_id: int, source: str, round_id: int | None, size: tuple, version: int) -> Queue:
    """One queue for each round, set of images and version of the classes: any of them changing makes a new one."""
    share_images(database, project_id)
    space = workspace(database, project_id, items_of(database, project_id, source))
    return (ReviewQueue if is_review(source) else Queue)(database, space, source)
