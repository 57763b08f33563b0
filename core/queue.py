"""The labelling queue of a project: which image each person sees next, re-ranked after every answer, no round needed.

The order is the greedy one: what is answered, or is on somebody's screen, conditions what comes next. Conditioning
reads no label value, so it can run ahead of the answers. Duplicates of what is answered or on a screen come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from threading import Lock

import torch

from core.acquisition.table import QUICK, Acquisition
from core.batches import ANYTHING, Held, Limits
from core.errors import UnknownName
from core.greedy import Greedy
from core.ranking import FixedRanker, Ranker
from core.team import TeamSettings, gold_due, share_images
from core.why import Belief, Explainer, Guess, Reasons, believe
from core.workspace import Workspace, feature_store, ranker_of, unmeasured_items, workspace
from db import repository
from db.models import now
from db.repository import LEASE, Desk, ItemRow, NewLabel, Recorded
from db.session import Database

SELECTION = "selection:"  # and a key: the order of images that a person chose, as they were chosen
MEASURE = "measure"  # the order that serves validation and test images without a known class, at random


@dataclass(frozen=True, slots=True)
class Card:
    """What a person needs to answer one image; `epistemic_share` of the uncertainty is what answers could remove."""

    item_id: int
    sha256: str
    path: str
    domain: str | None
    width: int
    height: int
    score: float
    guesses: tuple[Guess, ...]  # the likeliest first
    epistemic_share: float


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
        self._lock = Lock()
        kernel = self._ranker.base if isinstance(self._ranker, Greedy) else None
        self._explainer = Explainer(space, kernel)

    def serve(self, person_id: int, n: int) -> list[Card]:
        """Up to `n` cards leased to the person, those on the screen already first; renews their leases."""
        with self._lock:
            return self._cards(self._claim(person_id, n))

    def apply(self, person_id: int, events: Sequence[NewLabel]) -> list[Recorded]:
        """Store answers, skips and undos durably before returning."""
        with self._database.write() as s:
            return repository.record(s, self._space.project.id, person_id, events)

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

    def _claim(self, person_id: int, n: int) -> list[int]:
        project_id = self._space.project.id
        with self._database.read() as s:
            desk = repository.desk(s, project_id, person_id)
        self._condition(desk.answered | desk.leased)
        mine = [item for item in desk.mine if item in self._position]
        mine.sort(key=lambda item: self._turn.get(item, -1))
        wanted = [] if len(mine) >= n else self._wishes(desk, n - len(mine))
        with self._database.write() as s:
            got = repository.claim(s, project_id, person_id, [*mine, *wanted], n, now() + LEASE)
        for item in got:
            if item not in mine or item not in self._turn:  # also one that comes again, after "later"
                self._turn[item] = next(self._turns)
        return got

    def _wishes(self, desk: Desk, n: int) -> list[int]:
        """What to ask next: a gold item where one is due, what others answered and is wanted of this person too, the
        best of the rest, and at the end what the person passed for now."""
        gold, again, last = ([i for i in ids if i in self._position] for ids in (desk.gold, desk.again, desk.later))
        due = gold_due(desk.given, desk.checked, TeamSettings.of(desk.team).gold)
        first = [*(gold[:1] if due else []), *again]
        apart = {*desk.closed, *desk.gold, *desk.mine, *first, *last}
        taken = [self._position[item] for item in apart if item in self._position]
        more = self._pick(n - len(first), taken) if n > len(first) else []
        return [*first, *more, *last]

    def _pick(self, n: int, taken: list[int]) -> list[int]:
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

    def _cards(self, ids: list[int]) -> list[Card]:
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


def _ranker(space: Workspace, source: str) -> Ranker:
    """What orders the images of a queue: a score, chance, or the order they came in."""
    if is_selection(source):
        return FixedRanker(-torch.arange(len(space.pool), dtype=torch.float32))
    return ranker_of(space, Acquisition.RANDOM if source == MEASURE else Acquisition(source))


def is_selection(source: str) -> bool:
    """Whether an order is that of images chosen in Explore."""
    return source.startswith(SELECTION)


def _card(item: ItemRow, score: float, belief: Belief) -> Card:
    place = item.id, item.sha256, item.path, item.domain, item.width, item.height
    return Card(*place, score, belief.guesses, belief.epistemic_share)


def unmeasured(database: Database, project_id: int) -> int:
    """How many validation and test images have no known class: what the order `MEASURE` serves."""
    return len(unmeasured_items(database, project_id))


def orders(database: Database, project_id: int) -> list[str]:
    """What a queue can be ordered by, the default first: scores, the encoder's own uncertainty where it says one, and
    `MEASURE` where images to measure with are left.
    """
    with database.read() as s:
        newest = repository.latest_round(s, project_id)
    own = newest is not None and feature_store(newest.fingerprint).holds("log_variance")
    scores = (*QUICK, Acquisition.OWN_UNCERTAINTY) if own else QUICK
    return [*map(str, scores), *([MEASURE] if unmeasured(database, project_id) else [])]


def queue_for(database: Database, project_id: int, source: str) -> Queue:
    """The queue of a project's newest round by a score, by `MEASURE` or of a selection, kept until the next round.

    Raises NotReady before the first round, UnknownName for no such selection.
    """
    with database.read() as s:
        newest = repository.latest_round(s, project_id)
        size = repository.pool_size(s, project_id)
        version = repository.project(s, project_id).class_version
    with _building:
        return _queue(database, project_id, source, newest and newest.id, size, version)


_building = Lock()


@lru_cache(maxsize=16)
def _queue(database: Database, project_id: int, source: str, round_id: int | None, size: int, version: int) -> Queue:
    """One queue for each round, size of the pool and version of the classes: any of them changing makes a new one."""
    share_images(database, project_id)
    return Queue(database, workspace(database, project_id, _items(database, project_id, source)), source)


def _items(database: Database, project_id: int, source: str) -> list[ItemRow] | None:
    """The images of an order that are not the whole pool. Raises UnknownName for a selection that does not exist."""
    if source == MEASURE:
        return unmeasured_items(database, project_id)
    if not is_selection(source):
        return None
    with database.read() as s:
        try:
            chosen = repository.selection(s, project_id, source.removeprefix(SELECTION))
        except LookupError as error:
            raise UnknownName(str(error)) from error
        return repository.items_by_id(s, project_id, chosen)
