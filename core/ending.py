"""Why a person's queue has nothing more to show."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from sqlalchemy.orm import Session

from core.orders import MEASURE, is_review, is_selection
from db import repository
from db.models import now
from db.repository import ASIDE, LabelKind, VerdictState


class End(StrEnum):
    """The reason, the first that holds."""

    EMPTY = "empty"  # the order has no images
    FILTERED = "filtered"  # the filter hides `left` images
    HELD = "held"  # others have `held` images on their screens, the last of them `until` then
    LATER = "later"  # only the `later` images that the person passed for now
    MEASURED = "measured"  # all images to measure with are answered
    SELECTION = "selection"  # all images of the selection are answered
    REVIEW = "review"  # `review` images wait for a review: nothing stands of them
    SET_ASIDE = "set_aside"  # all answered, but for `set_aside` unusable images
    DONE = "done"  # all answered; where some are `waiting`, by this person


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The reason, and images of the order by how they stand; each count is there whatever the reason is."""

    kind: End
    total: int
    answered: int  # with an answer that stands
    left: int  # the person could be asked now, were it not for the filter
    held: int
    until: datetime | None  # when the last lease on those held ends, if none is renewed
    later: int
    waiting: int  # asked of several people, of whom some are still to answer
    review: int
    set_aside: int


@dataclass(frozen=True, slots=True)
class Open:
    """Items of an order, and which of them nothing keeps from a person, or what does."""

    items: Collection[int]
    fresh: Collection[int] = field(default_factory=set)
    later: Collection[int] = field(default_factory=set)
    held: Collection[int] = field(default_factory=set)


def end_of(s: Session, project_id: int, person_id: int, source: str, is_: Open, inside: Collection[int]) -> Ending:
    """Why this person is served nothing of an order, whose filter lets the items `inside` through."""
    mine, within = set(is_.items), set(inside)
    standing = {each.item_id: each.kind for each in repository.standing(s, project_id) if each.item_id in mine}
    found = repository.verdicts(s, project_id, (VerdictState.TIED, VerdictState.WAITING), limit=None)
    states = [each.state for each in found if each.item_id in mine]
    fresh, held = within & set(is_.fresh), mine & set(is_.held)
    until = repository.held_until(s, project_id, person_id, held)
    if fresh:  # they came back since the person was served
        held, until = held | fresh, until or now()
    later = len(within & set(is_.later))
    counts = {
        "left": len(mine & {*is_.fresh, *is_.later} - within),
        "held": len(held),
        "later": later,
        "review": states.count(VerdictState.TIED),
        "set_aside": sum(kind in ASIDE for kind in standing.values()),
    }
    answered = sum(kind == LabelKind.ANSWER for kind in standing.values())
    waiting = states.count(VerdictState.WAITING)
    kind = _kind(source, len(mine), counts)
    return Ending(kind=kind, total=len(mine), answered=answered, until=until, waiting=waiting, **counts)


def _kind(source: str, total: int, counts: dict[str, int]) -> End:
    rules = (
        (total == 0 and not is_review(source), End.EMPTY),
        (counts["left"], End.FILTERED),
        (counts["held"], End.HELD),
        (counts["later"], End.LATER),
        (source == MEASURE, End.MEASURED),
        (is_selection(source), End.SELECTION),
        (is_review(source), End.DONE),
        (counts["review"], End.REVIEW),
        (counts["set_aside"], End.SET_ASIDE),
    )
    return next((kind for holds, kind in rules if holds), End.DONE)
