"""The queues in which answers decide: what people differ on, and known classes that models doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from sqlalchemy.orm import Session

from core import audit
from core.audit import Audit
from core.cards import EVERYTHING, Card, Narrow, Vote
from core.ending import Open
from core.errors import NotReady
from core.orders import ERRORS
from core.people import may
from core.serving import Queue
from core.team import TeamSettings
from core.workspace import Workspace
from db import repository
from db.base import Role, Split, VerdictState
from db.models import now
from db.repository import LEASE
from db.session import Database


class ReviewQueue(Queue):
    """The images that need a review, for reviewers and owners: listed anew at every turn, no ranking of the pool.

    A card's score is how many different things people say of it, or the probability of the doubted class.
    """

    def __init__(self, database: Database, space: Workspace, source: str):
        super().__init__(database, space, source)
        self._failure = audit.keep_current(database, space.project.id) if source == ERRORS else ""

    def serve(self, person_id: int, n: int, narrow: Narrow = EVERYTHING) -> list[Card]:
        """Cards to review, with what people say of each.

        Raises NotAllowed for an annotator, NotReady while the known classes are judged for the first time.
        """
        may(self._database, person_id, Role.REVIEWER)
        cards = super().serve(person_id, n, narrow)
        with self._database.read() as s:
            return _with_votes(s, self._space.project.id, person_id, cards)

    def _claim(self, person_id: int, n: int, narrow: Narrow) -> list[int]:
        project_id = self._space.project.id
        with self._database.read() as s:
            listed, later = self._listed(s), repository.passed(s, project_id, person_id)
            held = {item for item, who in repository.leases(s, project_id) if who == person_id}
        self._score |= listed
        inside = self._inside(listed, narrow)
        mine = sorted(held.intersection(inside), key=lambda item: self._turn.get(item, -1))
        rest = [item for item in inside if item not in later]
        strays = [item for item in held if item in self._turn and item not in mine]
        wanted = dict.fromkeys([*mine, *rest, *(item for item in later if item in inside)])
        with self._database.write() as s:
            repository.settle(s, person_id, strays)
            got = repository.claim_review(s, project_id, person_id, [*wanted], n, now() + LEASE)
        self._note_turns(got, mine)
        return got

    def _open(self, s: Session, person_id: int) -> Open:
        project_id = self._space.project.id
        listed = self._position.keys() & self._listed(s).keys()
        held = listed & {item for item, who in repository.leases(s, project_id) if who != person_id}
        later = listed & set(repository.passed(s, project_id, person_id)) - held
        return Open(listed, listed - held - later, later, held)

    def _listed(self, s: Session) -> dict[int, float]:
        """What is to be reviewed now, in order, with its score."""
        project_id = self._space.project.id
        if self.source != ERRORS:
            return {each.item_id: float(each.options) for each in repository.review_queue(s, project_id, limit=None)}
        path = audit.newest(project_id)
        if path is None:
            raise NotReady(
                f"judging the known classes failed ({self._failure}): start it again in Explore, under label errors"
                if self._failure
                else "models that have not learned from them are judging the known classes, which takes about a "
                "minute: choose this order again then"
            )
        return _doubted(s, project_id, _audit(str(path)))


@lru_cache(maxsize=4)
def _audit(path: str) -> Audit:
    return audit.load(Path(path))


def _doubted(s: Session, project_id: int, found: Audit) -> dict[int, float]:
    """Probability of the known class by item, the least likely first, where models say another one.

    Left out is what a review has decided, and what has another class by now than the one that was judged.
    """
    project, means = repository.project(s, project_id), repository.class_map(s, project_id)
    judged = [means.get(class_id) for class_id in found.classes]
    known = {
        **repository.measured(s, project_id, Split.VALIDATION),
        **repository.measured(s, project_id, Split.TEST),
        **repository.answers(s, project_id),
    }
    now_known = {item: project.classes[position] for item, position in known.items()}
    reviewed = repository.verdicts(s, project_id, (VerdictState.REVIEWED,), limit=None)
    open_ = now_known.keys() - {each.item_id for each in reviewed}
    return {
        each.item_id: each.probability
        for each in found.doubts
        if each.item_id in open_
        and judged[each.known] != judged[each.predicted]
        and judged[each.known] == now_known[each.item_id]
    }


def _with_votes(s: Session, project_id: int, person_id: int, cards: Sequence[Card]) -> list[Card]:
    """The cards with who said what and what comes of it; not where the person is to judge blind."""
    ids = [card.item_id for card in cards]
    project, said = repository.project(s, project_id), repository.said(s, project_id, ids)
    states = {each.item_id: each.state for each in repository.verdicts(s, project_id, among=ids, limit=len(ids))}
    if TeamSettings.of(project.team).blind:
        said = {item: votes for item, votes in said.items() if any(vote.person_id == person_id for vote in votes)}
    stated = _stated(s, project_id, [item for item, votes in said.items() if not votes])
    votes = {item: (*each, *stated.get(item, ())) for item, each in said.items()}
    return [
        replace(card, votes=votes[card.item_id], verdict=states.get(card.item_id)) if card.item_id in votes else card
        for card in cards
    ]


def _stated(s: Session, project_id: int, item_ids: Sequence[int]) -> dict[int, tuple[Vote, ...]]:
    """What the folder states of validation and test images; a pool image's class stays hidden."""
    if not item_ids:
        return {}
    classes = repository.project(s, project_id).classes
    known = repository.measured(s, project_id, Split.VALIDATION) | repository.measured(s, project_id, Split.TEST)
    rows = {item: classes[known[item]] for item in item_ids if item in known}
    return {item: (Vote(item, None, None, row.id, row.name, None, True, False),) for item, row in rows.items()}
