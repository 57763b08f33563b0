"""What the people together say of each image: a view on the log, computed when asked, stored nowhere.

A person's vote is the last event of theirs on the item, if it says something (db/repository/events). Reviews are a
stream of their own: a reviewer's vote stays a vote. Then

- a review decides, the newest of several;
- where one person is asked, the newest vote counts: a second person's answer corrects the first one's;
- where k are asked, the first k people's votes count, by their first event on the item; what comes beyond is kept in
  the log and not counted. The class (or "unusable") with most votes stands; with a tie nothing stands.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import CTE, ColumnElement, Select, and_, case, func, literal, or_, select
from sqlalchemy.orm import Session

from db.base import VerdictState
from db.dialect import chunks
from db.models import Item, Label, Person, ProjectClass
from db.repository.classes import class_map
from db.repository.events import EVENT, OWN, REVIEW, contested, last_ids, says
from db.repository.rows import Said, Verdict

UNUSABLE = 0  # in the place of a class: no class has this id
TO_REVIEW = (VerdictState.TIED, VerdictState.DISPUTED)


def standing_ids(
    s: Session, project_id: int, since: int = 0, up_to: int | None = None, among: Select | None = None
) -> Select:
    """Ids of the events that stand, one per item: those with since < id <= up_to, on items `among` a selection.

    Of an overlap it is the newest vote for what stands. Settings and classes are those of now, also with `up_to`.
    """
    within = [] if among is None else [among]
    last = _within(last_ids(project_id, up_to), within)
    if since:
        last = last.where(OWN.id > since)
    plain = select(func.max(EVENT.id)).where(EVENT.id.in_(last), says(EVENT, project_id)).group_by(EVENT.item_id)
    counted = contested(project_id)
    if s.scalar(counted.limit(1)) is None:
        return plain
    decided = _verdicts(project_id, up_to, [counted, *within])
    ids = select(decided.c.label_id).where(decided.c.label_id > since)
    return select(plain.where(EVENT.item_id.not_in(counted)).union_all(ids).subquery().c[0])


def verdicts(
    s: Session,
    project_id: int,
    states: Collection[VerdictState] = (),
    offset: int = 0,
    limit: int | None = 60,
    among: Sequence[int] | None = None,
) -> list[Verdict]:
    """A page of the images that somebody answered, those of some states or all: ties first, then by image.

    Without a limit all of them; `among` are some hundred images at most.
    """
    found = _verdicts(project_id, within=[] if among is None else [select(Item.id).where(Item.id.in_(among))])
    order = case({state.value: i for i, state in enumerate(TO_REVIEW)}, value=found.c.state, else_=len(TO_REVIEW))
    query = _page(found, states).order_by(order, found.c.item_id).offset(offset).limit(limit)
    return [_verdict(row) for row in s.execute(query)]


def verdict(s: Session, project_id: int, item_id: int) -> Verdict | None:
    """What stands of one image, or None where nobody said anything."""
    found = _verdicts(project_id, within=[select(Item.id).where(Item.id == item_id)])
    row = s.execute(_page(found)).one_or_none()
    return None if row is None else _verdict(row)


def verdict_counts(s: Session, project_id: int) -> dict[VerdictState, int]:
    """How many images are in each state; those that nobody answered are in none."""
    found = _verdicts(project_id)
    counts: dict[str, int] = dict(s.execute(select(found.c.state, func.count()).group_by(found.c.state)).all())
    return {state: counts.get(state.value, 0) for state in VerdictState}


def review_queue(s: Session, project_id: int, offset: int = 0, limit: int | None = 60) -> list[Verdict]:
    """A page of the images that need a review: ties first, then those where some said otherwise."""
    return verdicts(s, project_id, TO_REVIEW, offset, limit)


def heard(s: Session, project_id: int) -> dict[int, bool]:
    """Items that somebody said something of, whether or not it stands: True where one of them is an answer."""
    answered = func.max(case((Label.class_id.is_not(None), 1), else_=0))
    ids = last_ids(project_id).group_by(OWN.source == REVIEW)
    query = select(Label.item_id, answered).where(Label.id.in_(ids), says(Label, project_id))
    return {item: bool(value) for item, value in s.execute(query.group_by(Label.item_id))}


def said(s: Session, project_id: int, item_ids: Sequence[int]) -> dict[int, list[Said]]:
    """What each person says of these images, votes and reviews, the oldest first; by item."""
    means = class_map(s, project_id)
    found: dict[int, list[Said]] = {each: [] for each in item_ids}
    for some in chunks(list(found)):
        v = _votes(project_id, None, [select(Item.id).where(Item.id.in_(some))]).c
        counted = or_(v.review, v.wanted == 1, v.turn <= v.wanted)
        query = select(v.item_id, v.option, v.review, counted, Label.person_id, Person.name, Label.created_at)
        query = query.join(Label, Label.id == v.id).join(Person, Person.id == Label.person_id).order_by(v.id)
        for item, option, review, counts, person_id, person, at in s.execute(query):
            row = means.get(option)
            what = (None, None) if row is None else (row.id, row.name)
            found[item].append(Said(item, person_id, person, what[0], what[1], at, bool(counts), bool(review)))
    return found


def _page(found: CTE, states: Collection[VerdictState] = ()) -> Select:
    query = select(*found.c, Item.path, Item.sha256).join(Item, Item.id == found.c.item_id)
    return query.where(found.c.state.in_([each.value for each in states])) if states else query


def _verdict(row) -> Verdict:
    return Verdict(**{**row._mapping, "state": VerdictState(row.state)})


def _within(events: Select, within: Collection[Select]) -> Select:
    return events.where(*(OWN.item_id.in_(some) for some in within)) if within else events


def _votes(project_id: int, up_to: int | None, within: Collection[Select]) -> CTE:
    """One row per item and person: what it says (`option`), whether it is a review, and in which turn it came."""
    ids = _within(last_ids(project_id, up_to), within).group_by(OWN.source == REVIEW)
    last, first = ids.add_columns(func.min(OWN.id)).subquery().c
    review = Label.source == REVIEW
    turn = func.row_number().over(partition_by=(Label.item_id, review), order_by=first)
    option = func.coalesce(ProjectClass.heir_id, ProjectClass.id, literal(UNUSABLE))
    columns = (Label.item_id, Item.wanted, Label.id, option.label("option"), review.label("review"), turn.label("turn"))
    query = select(*columns).join(last.table, last == Label.id).join(Item, Item.id == Label.item_id)
    return query.outerjoin(ProjectClass, ProjectClass.id == Label.class_id).where(says(Label, project_id)).cte("votes")


def _tally(votes: CTE) -> CTE:
    """One row per item and option: how many votes count, and the newest event for it of each kind."""
    v = votes.c
    counts = and_(~v.review, or_(v.wanted == 1, v.turn <= v.wanted))
    return (
        select(
            v.item_id,
            v.wanted,
            v.option,
            func.sum(case((counts, 1), else_=0)).label("votes"),
            func.coalesce(func.max(case((counts, v.id))), 0).label("newest"),
            func.coalesce(func.max(case((v.review, v.id))), 0).label("reviewed"),
            func.sum(case((or_(v.review, counts), 0), else_=1)).label("uncounted"),
        )
        .group_by(v.item_id, v.wanted, v.option)
        .cte("tally")
    )


def _ranked(tally: CTE) -> CTE:
    """The same rows with their place within the item, and what the item's other rows hold."""
    t = tally.c
    order = (t.reviewed.desc(), case((t.wanted == 1, t.newest), else_=t.votes).desc(), t.newest.desc())

    def of_item(value: ColumnElement) -> ColumnElement:
        return func.sum(value).over(partition_by=t.item_id)

    return select(
        *t,
        func.row_number().over(partition_by=t.item_id, order_by=order).label("place"),
        func.lead(t.votes).over(partition_by=t.item_id, order_by=order).label("next_votes"),
        of_item(t.votes).label("all_votes"),
        of_item(t.uncounted).label("all_uncounted"),
        of_item(case((t.votes > 0, 1), else_=0)).label("options"),
        of_item(case((and_(t.votes > 0, t.option == UNUSABLE), 1), else_=0)).label("aside"),
    ).cte("ranked")


def _verdicts(project_id: int, up_to: int | None = None, within: Collection[Select] = ()) -> CTE:
    """One row per item, with the columns of `Verdict` that do not describe the image."""
    ranked = _ranked(_tally(_votes(project_id, up_to, within)))
    r = ranked.c
    tied = and_(r.reviewed == 0, r.wanted > 1, func.coalesce(r.next_votes, 0) == r.votes)
    return (
        select(
            r.item_id,
            r.wanted,
            r.all_votes.label("votes"),
            r.all_uncounted.label("uncounted"),
            r.options,
            _state(r, tied).label("state"),
            case((or_(tied, r.option == UNUSABLE), None), else_=r.option).label("class_id"),
            case((tied, None), (r.reviewed > 0, r.reviewed), else_=r.newest).label("label_id"),
        )
        .where(r.place == 1)
        .cte("verdicts")
    )


def _state(r, tied: ColumnElement[bool]) -> ColumnElement[str]:
    rules = (
        (r.reviewed > 0, VerdictState.REVIEWED),
        (and_(r.all_votes < r.wanted, r.aside == 0), VerdictState.WAITING),
        (tied, VerdictState.TIED),
        (r.options > 1, VerdictState.DISPUTED),
        (r.option == UNUSABLE, VerdictState.UNUSABLE),
    )
    return case(*((when, literal(state.value)) for when, state in rules), else_=literal(VerdictState.AGREED.value))
