"""The labelling queue of a project: which image each person sees next, re-ranked after every answer, no round needed.

The order is the greedy one: what is answered, or is on somebody's screen, conditions what comes next. Conditioning
reads no label value, so it can run ahead of the answers. Duplicates of what is answered or on a screen come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import NamedTuple

import torch

from core.acquisition.bald import bald_monte_carlo
from core.acquisition.entropy import entropy
from core.acquisition.table import Acquisition
from core.batches import ANYTHING, Held, Limits
from core.logits import joint_draws
from core.workspace import Workspace, generator, ranker_of, unmeasured_items, workspace
from db import repository
from db.models import now
from db.repository import LEASE, ItemRow, NewLabel, Recorded
from db.session import Database

MEASURE = "measure"  # the order that serves validation and test images without a known class, at random
GUESSES = 5
DRAWS = 256  # of the image head, behind a card's intervals
LEVEL = 0.9  # of the credible intervals


class Guess(NamedTuple):
    """A class and its probability under the posterior, with the central 90 % interval of the draws."""

    class_id: int
    name: str
    probability: float
    low: float
    high: float


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
        self._ranker = ranker_of(space, Acquisition.RANDOM if source == MEASURE else Acquisition(source))
        self._position = {item.id: i for i, item in enumerate(space.pool)}
        self._conditioned: set[int] = set()
        self._held = self._nothing_held()
        self._known: dict[int, tuple[tuple[Guess, ...], float]] = {}  # item → guesses and epistemic share
        self._score: dict[int, float] = {}  # item → its score when it was picked, before it conditioned anything
        self._turn: dict[int, int] = {}  # item → when it was first served, which is the order on a screen
        self._lock = Lock()

    def serve(self, person_id: int, n: int) -> list[Card]:
        """Up to `n` cards leased to the person, those on the screen already first; renews their leases."""
        with self._lock:
            return self._cards(self._claim(person_id, n))

    def apply(self, person_id: int, events: Sequence[NewLabel]) -> list[Recorded]:
        """Store answers, skips and undos durably before returning."""
        with self._database.write() as s:
            return repository.record(s, self._space.project.id, person_id, events)

    def _claim(self, person_id: int, n: int) -> list[int]:
        project_id = self._space.project.id
        with self._database.read() as s:
            settled = {row.item_id: row.kind for row in repository.standing(s, project_id)}
            leased = repository.leased(s, project_id)
        answered = {item for item, kind in settled.items() if kind == repository.LabelKind.ANSWER}
        self._condition(answered | leased.keys())
        mine = [item for item, person in leased.items() if person == person_id and item in self._position]
        mine.sort(key=lambda item: self._turn.get(item, -1))
        taken = [self._position[item] for item in settled.keys() | leased.keys() if item in self._position]
        wanted = [] if len(mine) >= n else self._pick(n - len(mine), taken)
        with self._database.write() as s:
            got = repository.claim(s, project_id, person_id, [*mine, *wanted], n, now() + LEASE)
        for item in got:
            self._turn.setdefault(item, len(self._turn))
        return got

    def _pick(self, n: int, taken: list[int]) -> list[int]:
        """The next n items; duplicates only when nothing else is left. Images that measure stay a random sample."""
        limits = ANYTHING if self.source == MEASURE else Limits(near=self._held)
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
        return [_card(item, self._score_of(item.id), *self._known[item.id]) for item in items]

    def _score_of(self, item: int) -> float:
        """What the item scored when it was picked; for one leased before this queue was made, without any answer."""
        if item not in self._score:
            self._score[item] = float(self._ranker.fresh().scores_at([self._position[item]])[0])
        return self._score[item]

    def _think(self, ids: list[int]) -> None:
        """What the posterior says of these images; it stays until the next round, which makes another queue."""
        if not ids:
            return
        rows, space = [self._position[item] for item in ids], self._space
        draws = joint_draws(space.posterior, space.features[rows], space.texts, DRAWS, generator(space.round.seed))
        mean = draws.mean(dim=1)  # [n, C]
        tails = torch.tensor([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        low, high = torch.quantile(draws, tails, dim=1)  # [n, C] each
        share = (bald_monte_carlo(draws) / entropy(mean).clamp_min(1e-9)).clamp(0, 1).tolist()
        best = mean.topk(min(GUESSES, mean.shape[1]), dim=1).indices.tolist()
        for i, item in enumerate(ids):
            self._known[item] = (self._guesses(best[i], mean[i], low[i], high[i]), share[i])

    def _guesses(self, best: list[int], mean, low, high) -> tuple[Guess, ...]:
        classes = self._space.project.classes
        return tuple(Guess(classes[c].id, classes[c].name, float(mean[c]), float(low[c]), float(high[c])) for c in best)


def _card(item: ItemRow, score: float, guesses: tuple[Guess, ...], share: float) -> Card:
    return Card(item.id, item.sha256, item.path, item.domain, item.width, item.height, score, guesses, share)


def unmeasured(database: Database, project_id: int) -> int:
    """How many validation and test images have no known class: what the order `MEASURE` serves."""
    return len(unmeasured_items(database, project_id))


def queue_for(database: Database, project_id: int, source: str) -> Queue:
    """The queue of a project's newest round by a score or by `MEASURE`, kept until the next round.

    Raises NotReady before the first round.
    """
    with database.read() as s:
        newest = repository.latest_round(s, project_id)
        size = repository.pool_size(s, project_id)
    with _building:
        return _queue(database, project_id, source, newest and newest.id, size)


_building = Lock()


@lru_cache(maxsize=16)
def _queue(database: Database, project_id: int, source: str, round_id: int | None, size: int) -> Queue:
    """One queue for each round and size of the pool: either changing makes a new one."""
    of = unmeasured_items(database, project_id) if source == MEASURE else None
    return Queue(database, workspace(database, project_id, of), source)
