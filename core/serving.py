"""A labelling queue: which image each person sees next, re-ranked after every answer of the team, no round needed.

The order is the greedy one: what is answered, or is on somebody's screen, conditions what comes next. Conditioning
reads no label value, so it can run ahead of the answers. Duplicates of what is answered or on a screen come last.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count
from threading import Lock

import torch
from sqlalchemy.orm import Session
from torch import Tensor

from core.acquisition.table import Acquisition
from core.batches import ANYTHING, Held, Limits
from core.cards import EVERYTHING, Card, Narrow
from core.duplicates import serve, twins
from core.ending import Ending, Open, end_of
from core.greedy import Greedy
from core.kernel import predictive
from core.orders import MEASURE, is_review, is_selection
from core.ranking import FixedRanker, Ranker
from core.team import TeamSettings, gold_due, start_round_if_due
from core.why import Belief, Explainer, Reasons, believe
from core.workspace import Workspace, ranker_of
from db import repository
from db.models import now
from db.repository import LEASE, REVIEW, Desk, ItemRow, LabelKind, NewLabel, Recorded
from db.session import Database

logger = logging.getLogger(__name__)

TRIES = 4  # at images that others, through other servers, take in the same moment


class Queue:
    """The order of one project by one score, shared by all people who label it in this process."""

    def __init__(self, database: Database, space: Workspace, source: str):
        self.source, self.round_number = source, space.round.number
        self._database, self._space = database, space
        self._ranker = _ranker(space, source)
        self._position = {item.id: i for i, item in enumerate(space.pool)}
        self._conditioned: set[int] = set()
        self._held = self._nothing_held()
        self._known: dict[int, Belief] = {}
        self._score: dict[int, float] = {}  # item → its score when it was picked, before it conditioned anything
        self._turn: dict[int, int] = {}  # item → when it was served, which is the order on a screen
        self._turns = count()
        self._likeliest: Tensor | None = None  # class positions [N]
        self._outside: dict[Narrow, frozenset[int]] = {EVERYTHING: frozenset()}
        self._lock = Lock()
        kernel = self._ranker.base if isinstance(self._ranker, Greedy) else None
        self._explainer = Explainer(space, kernel)

    @property
    def space(self) -> Workspace:
        """The images of this order, encoded, and the model that ranks them."""
        return self._space

    def serve(self, person_id: int, n: int, narrow: Narrow = EVERYTHING) -> list[Card]:
        """Up to `n` cards leased to the person, those on the screen already first; renews their leases.

        With a filter all of them are inside it, and what the person held outside it is given back.
        """
        with self._lock:
            return self._cards(self._claim(person_id, n, narrow))

    def apply(self, person_id: int, events: Sequence[NewLabel]) -> list[Recorded]:
        """Store answers, "later", "unusable" and undos durably before returning; a round starts where one is due.

        What was answered in an order of reviews is stored as a review, whichever queue it is given to: refused where
        the person may not review.
        """
        project_id = self._space.project.id
        events = [replace(each, source=REVIEW) if is_review(each.source) else each for each in events]
        also = twins(self._database, project_id, [each.item_id for each in events])
        with self._database.write() as s:
            outcome = repository.record(s, project_id, person_id, events)
            stored = [each for each, one in zip(events, outcome, strict=True) if one.accepted and not one.reason]
            serve(s, project_id, person_id, stored, also)
            _settle_reviews(s, project_id, person_id, [each for each in stored if each.source == REVIEW])
        try:
            start_round_if_due(self._database, project_id)
        except Exception:
            logger.exception("no round was started after the answers, which are stored")
        return outcome

    def ending(self, person_id: int, narrow: Narrow = EVERYTHING) -> Ending:
        """Why nothing is served to this person, or only what they passed for now."""
        project_id = self._space.project.id
        with self._lock, self._database.read() as s:
            found = self._open(s, person_id)
            return end_of(s, project_id, person_id, self.source, found, self._inside(found.items, narrow))

    def why(self, item: int) -> Reasons:
        """Why an image of this queue comes when it does: EPIG's terms given what conditioned it, and what it is like.

        Raises LookupError for another image.
        """
        position = self._position[item]
        with self._lock:
            turn = self._turn.get(item, len(self._turn))
            before = [i for i in self._conditioned if self._turn.get(i, -1) < turn]
        with self._database.read() as s:
            answers = repository.answers(s, self._space.project.id)
        classes = self._space.project.classes
        answered = {self._position[i]: classes[c].name for i, c in answers.items() if i in self._position}
        return self._explainer.explain(position, [self._position[i] for i in before], answered)

    def _open(self, s: Session, person_id: int) -> Open:
        desk = repository.desk(s, self._space.project.id, person_id)
        fresh = self._position.keys() - {*desk.closed, *desk.gold, *desk.later}
        return Open(self._position.keys(), fresh, desk.later, desk.held)

    def _inside(self, ids: Iterable[int], narrow: Narrow) -> list[int]:
        """Those of these items that the queue has and the filter lets through."""
        out = self._left_out(narrow)
        return [item for item in ids if item in self._position and self._position[item] not in out]

    def _left_out(self, narrow: Narrow) -> frozenset[int]:
        """The positions that a filter hides."""
        if narrow not in self._outside:
            pool = self._space.pool
            out = {i for i, item in enumerate(pool) if narrow.domain not in (None, item.domain)}
            if narrow.guess is not None:
                out |= {i for i, class_id in enumerate(self._likeliest_classes()) if class_id != narrow.guess}
            self._outside[narrow] = frozenset(out)
        return self._outside[narrow]

    def _likeliest_classes(self) -> list[int]:
        """The id of each image's likeliest class."""
        space = self._space
        if self._likeliest is None:
            self._likeliest = predictive(space.posterior, space.features, space.texts).argmax(dim=1)
        ids = [each.id for each in space.project.classes]
        return [ids[position] for position in self._likeliest.tolist()]

    def _claim(self, person_id: int, n: int, narrow: Narrow) -> list[int]:
        """Up to n items that are the person's now. Where others took all that was wished for, it wishes again."""
        for _ in range(TRIES):
            got, wished = self._claim_once(person_id, n, narrow)
            if got or not wished:
                break
        return got

    def _claim_once(self, person_id: int, n: int, narrow: Narrow) -> tuple[list[int], list[int]]:
        project_id = self._space.project.id
        with self._database.read() as s:
            desk = repository.desk(s, project_id, person_id)
        mine = self._inside([item for item in desk.mine if item not in desk.closed], narrow)  # others are to review
        strays = [item for item in desk.mine if narrow and item not in mine]
        self._condition(desk.answered | desk.leased.difference(strays))
        mine.sort(key=lambda item: self._turn.get(item, -1))
        wanted = [] if len(mine) >= n else self._wishes(desk, n - len(mine), narrow)
        with self._database.write() as s:
            repository.settle(s, person_id, strays)
            got = repository.claim(s, project_id, person_id, [*mine, *wanted], n, now() + LEASE)
        self._note_turns(got, mine)
        return got, wanted

    def _note_turns(self, got: Sequence[int], mine: Sequence[int]) -> None:
        for item in got:
            if item not in mine or item not in self._turn:  # also one that comes again, after "later"
                self._turn[item] = next(self._turns)

    def _wishes(self, desk: Desk, n: int, narrow: Narrow) -> list[int]:
        """What to ask next: a gold item where one is due, what others answered and is wanted of this person too, the
        best of the rest, and at the end what the person passed for now."""
        gold, again, last = (self._inside(ids, narrow) for ids in (desk.gold, desk.again, desk.later))
        due = gold_due(desk.given, desk.checked, TeamSettings.of(desk.team).gold)
        first = [*(gold[:1] if due else []), *again]
        apart = {*desk.closed, *desk.gold, *desk.mine, *first, *last}
        taken = {self._position[item] for item in apart if item in self._position} | self._left_out(narrow)
        more = self._pick(n - len(first), taken) if n > len(first) else []
        return [*first, *more, *last]

    def _pick(self, n: int, taken: set[int]) -> list[int]:
        """The next n items; duplicates only when nothing else is left, but where a person or chance chose them."""
        limits = ANYTHING if self.source == MEASURE or is_selection(self.source) else Limits(near=self._held)
        waiting = self._held.deferred.nonzero()[:, 0].tolist()
        picks = self._ranker.take(n, {*taken, *waiting}, limits)
        if len(picks) < n:
            picks += self._ranker.take(n - len(picks), {*taken, *(pick.position for pick in picks)})
        items = [self._space.pool[pick.position].id for pick in picks]
        self._score |= {item: pick.score for item, pick in zip(items, picks, strict=True)}
        self._held.hold([pick.position for pick in picks])
        self._conditioned |= set(items)
        return items

    def _nothing_held(self) -> Held:
        return Held(self._space.features, [item.sha256 for item in self._space.pool])

    def _condition(self, items: set[int]) -> None:
        """Bring the ranker to exactly these items: forward in place, or from the start when one was given back."""
        if not self._conditioned <= items:
            self._ranker, self._conditioned, self._held = self._ranker.fresh(), set(), self._nothing_held()
        new = [item for item in items - self._conditioned if item in self._position]
        self._ranker.condition([self._position[item] for item in new])
        self._held.hold([self._position[item] for item in new])
        self._conditioned |= set(new)

    def _cards(self, ids: Sequence[int]) -> list[Card]:
        self._think([item for item in ids if item not in self._known])
        items = [self._space.pool[self._position[item]] for item in ids]
        return [_card(item, self._score_of(item.id), self._known[item.id]) for item in items]

    def _score_of(self, item: int) -> float:
        """What the item scored when it was picked; for one leased before this queue was made, without any answer."""
        if item not in self._score:
            self._score[item] = float(self._ranker.fresh().scores_at([self._position[item]])[0])
        return self._score[item]

    def _think(self, ids: list[int]) -> None:
        """What the posterior says of these images; it stays until the next round, which makes another queue."""
        if ids:
            beliefs = believe(self._space, [self._position[item] for item in ids])
            self._known |= dict(zip(ids, beliefs, strict=True))


def _settle_reviews(s: Session, project_id: int, person_id: int, reviews: Sequence[NewLabel]) -> None:
    """A review ends the lease that it was given under; one that is undone is on the person's screen again."""
    last = {each.item_id: each.kind for each in reviews}
    repository.settle(s, person_id, [*last])
    undone = [item for item, kind in last.items() if kind == LabelKind.UNDO]
    repository.claim_review(s, project_id, person_id, undone, len(undone), now() + LEASE)


def _ranker(space: Workspace, source: str) -> Ranker:
    """What orders the images of a queue: a score, chance, or the order they came in."""
    if is_selection(source) or is_review(source):
        return FixedRanker(-torch.arange(len(space.pool), dtype=torch.float32))
    return ranker_of(space, Acquisition.RANDOM if source == MEASURE else Acquisition(source))


def _card(item: ItemRow, score: float, belief: Belief) -> Card:
    place = item.id, item.sha256, item.path, item.domain, item.width, item.height
    return Card(*place, score, belief.guesses, belief.epistemic_share)
