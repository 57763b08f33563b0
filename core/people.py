"""The people of a project: what they may do, what they did, and how far they agree with each other and the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from core.accounts import check, has_accounts, set_role
from core.agreement import Agreement, cohen_pairs, fleiss, krippendorff, raw
from core.errors import InputError, UnknownName
from db import repository
from db.base import Role
from db.repository import PersonCounts
from db.repository.accounts import AccountRow
from db.session import Database

IDLE = timedelta(seconds=60)  # a longer pause between two answers is no work


@dataclass(frozen=True, slots=True)
class Speed:
    """Answers per hour of work; None before there are two answers without a pause between them."""

    per_hour: float | None
    hours: float  # of work: the gaps between answers, pauses left out
    pauses: int


@dataclass(frozen=True, slots=True)
class PersonFigures:
    counts: PersonCounts
    speed: Speed


@dataclass(frozen=True, slots=True)
class TeamAgreement:
    """How far people agree on the images that several answered; each statistic says why where it has no value."""

    raw: Agreement
    fleiss: Agreement
    krippendorff: Agreement
    cohen: dict[tuple[str, str], Agreement]  # by two names


def may(database: Database, person_id: int, needed: Role) -> None:
    """Raises NotAllowed where the person's role does not do; without accounts nobody is known, and everybody may.

    Raises UnknownName for no such person.
    """
    try:
        with database.read() as s:
            role = repository.person_row(s, person_id).role
    except LookupError as error:
        raise UnknownName(str(error)) from error
    if has_accounts(database):
        check(role, needed)


def change_role(database: Database, by: int, name: str, role: Role) -> AccountRow:
    """Another role for an account. Raises NotAllowed, UnknownName, or InputError where no owner would be left."""
    may(database, by, Role.OWNER)
    return set_role(database, name, role)


def settle_flag(database: Database, project_id: int, person_id: int, flag_id: int, note: str = "") -> None:
    """Settle a flag, with a word on how. Raises NotAllowed for an annotator, InputError where it cannot be."""
    may(database, person_id, Role.REVIEWER)
    try:
        with database.write() as s:
            repository.resolve_flag(s, project_id, person_id, flag_id, note)
    except (LookupError, ValueError) as error:
        raise InputError(str(error)) from error


def figures(database: Database, project_id: int) -> list[PersonFigures]:
    """What everybody who ever answered in the project did, by name."""
    with database.read() as s:
        counts = repository.person_counts(s, project_id)
        return [PersonFigures(each, speed(repository.event_times(s, project_id, each.id))) for each in counts]


def speed(times: Sequence[datetime]) -> Speed:
    """From the times of one person's answers, in order: a gap over IDLE is a pause, and none of it counts."""
    gaps = [later - earlier for earlier, later in pairwise(times)]
    work = [gap for gap in gaps if gap <= IDLE]
    hours = sum(work, timedelta()) / timedelta(hours=1)
    return Speed(len(work) / hours if hours else None, hours, len(gaps) - len(work))


def agreement(database: Database, project_id: int) -> TeamAgreement:
    """How far the people of the project agree, from everybody's own votes; reviews are none."""
    with database.read() as s:
        votes, names = repository.votes(s, project_id), repository.people(s)
    pairs = {(names[one], names[other]): value for (one, other), value in cohen_pairs(votes).items()}
    return TeamAgreement(raw(votes), fleiss(votes), krippendorff(votes), pairs)
