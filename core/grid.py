"""The grid: images that look alike to the newest model, the likeliest first, to be confirmed a page at a time.

Axes: N pool images. Images that several people are asked of, and gold items, are not here: their answers compare
people, and whoever sees the model's guess does not answer alone.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.duplicates import serve, twins
from core.errors import UnknownName
from core.orders import SELECTION, is_selection
from core.sorting import Sorted, sorted_pool
from core.team import start_round_if_due
from core.workspace import rounds_of, workspace
from db import repository
from db.models import now
from db.repository import LEASE, Desk, ItemRow, NewLabel, ProjectRow, Recorded, RoundRow
from db.repository.leases import settle
from db.session import Database

PAGE = 60  # tiles
SOURCE = "grid"  # of the answers given here
CANDIDATES = 4 * PAGE  # offered to the lease at once: others may take some in between

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pile:
    """Open images that look alike. `class_id` is the class they look like; of a cluster, what most of them do."""

    key: str
    cluster: int | None  # None: a class
    class_id: int
    open: int
    best: float  # probability of the likeliest; of a cluster, the share that looks like `class_id`


@dataclass(frozen=True, slots=True)
class Tile:
    """An image on the page; `guess` is a class id."""

    item: ItemRow
    guess: int
    probability: float


@dataclass(frozen=True, slots=True)
class Page:
    """What a person has before them; `ahead` are images that may come next, leased to nobody."""

    pile: str | None
    piles: tuple[Pile, ...]  # those with an open image, the largest first of classes, then of clusters
    tiles: tuple[Tile, ...]
    ahead: tuple[ItemRow, ...]
    round_number: int


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants to see: a pile (None: the largest class) without the images that they passed over.

    `screen` are the images before them, which are held as they are; empty asks for a new page.
    """

    pile: str | None = None
    passed: frozenset[int] = frozenset()
    screen: tuple[int, ...] = ()


class Grid:
    """The pool of one project under one model, sorted into classes and clusters; safe for any thread.

    `among` narrows it to some items, `domain` to a domain.
    """

    def __init__(
        self,
        database: Database,
        project: ProjectRow,
        row: RoundRow,
        found: Sorted,
        among: Collection[int] | None = None,
        domain: str | None = None,
    ):
        self._database, self._project, self._found = database, project, found
        self.round_number = row.number
        self._inside = torch.ones(len(found.ids), dtype=torch.bool)
        if among is not None:
            self._inside = torch.isin(found.ids, torch.tensor(sorted(among), dtype=torch.int64))
        if domain is not None:
            self._inside &= found.domain == (found.domains.index(domain) if domain in found.domains else -1)

    def page(self, person_id: int, wish: Wish) -> Page:
        """The person's page, every image of it leased to them; whatever else they held is given back."""
        with self._database.read() as s:
            desk = repository.desk(s, self._project.id, person_id)
            apart = {
                *repository.shared(s, self._project.id),
                *(row.item_id for row in repository.gold(s, self._project.id)),
            }
        open_ = self._open({*desk.closed, *apart})
        piles = self._piles(open_)
        pile = self._chosen(wish.pile, piles)
        candidates = self._candidates(open_, pile, wish)
        got = self._claim(person_id, candidates, desk)
        held = set(got)
        ahead = [] if wish.screen else [each for each in candidates if each not in held][:PAGE]
        tiles = self._tiles([each for each in candidates if each in held])
        with self._database.read() as s:
            coming = tuple(repository.items_by_id(s, self._project.id, ahead))
        return Page(pile, piles, tiles, coming, self.round_number)

    def apply(self, person_id: int, events: Sequence[NewLabel]) -> list[Recorded]:
        """Store a batch durably before returning, all of it in one transaction; then start a round if one is due.

        Whoever answers here has seen the model's guess, whatever a browser says.
        """
        seen = [replace(event, source=SOURCE, suggestion_seen=True) for event in events]
        also = twins(self._database, self._project.id, [event.item_id for event in events])
        with self._database.write() as s:
            stored = repository.record(s, self._project.id, person_id, seen)
            new = [event for event, one in zip(seen, stored, strict=True) if one.accepted and not one.reason]
            serve(s, self._project.id, person_id, new, also)
        try:
            start_round_if_due(self._database, self._project.id)
        except Exception:
            logger.exception("no round was started after the answers, which are stored")
        return stored

    def _open(self, away: Collection[int]) -> Tensor:
        """Which images this person may be shown, [N]."""
        return self._inside & ~torch.isin(self._found.ids, torch.tensor(sorted(away), dtype=torch.int64))

    def _piles(self, open_: Tensor) -> tuple[Pile, ...]:
        return (*self._classes(open_), *self._clusters(open_))

    def _classes(self, open_: Tensor) -> list[Pile]:
        found, classes = self._found, self._project.classes
        counts = torch.bincount(found.predicted[open_], minlength=len(classes))
        best = torch.zeros(len(counts)).scatter_reduce(0, found.predicted[open_], found.probability[open_], "amax")
        piles = [
            Pile(f"class-{each.id}", None, each.id, int(counts[each.position]), float(best[each.position]))
            for each in classes
            if counts[each.position]
        ]
        return sorted(piles, key=lambda pile: -pile.open)

    def _clusters(self, open_: Tensor) -> list[Pile]:
        found, classes = self._found, self._project.classes
        pairs = found.cluster[open_] * len(classes) + found.predicted[open_]
        several = (int(found.cluster.max()) + 1) * len(classes)
        table = torch.bincount(pairs, minlength=several).view(-1, len(classes))  # [K, C]
        most, common = table.max(dim=1)
        sizes = table.sum(dim=1)
        return [
            Pile(f"cluster-{i}", i, classes[int(common[i])].id, int(sizes[i]), float(most[i] / sizes[i]))
            for i in sizes.argsort(descending=True, stable=True).tolist()
            if sizes[i]
        ]

    def _chosen(self, wanted: str | None, piles: Sequence[Pile]) -> str | None:
        """The pile that was asked for, also when it is empty by now; else the largest."""
        names = {f"class-{each.id}" for each in self._project.classes}
        names |= {f"cluster-{i}" for i in range(int(self._found.cluster.max()) + 1)}
        return wanted if wanted in names else next((pile.key for pile in piles), None)

    def _candidates(self, open_: Tensor, pile: str | None, wish: Wish) -> list[int]:
        found = self._found
        if wish.screen:
            free = set(found.ids[open_].tolist())
            return [item for item in dict.fromkeys(wish.screen) if item in free][:PAGE]
        if pile is None:
            return []
        kind, _, number = pile.partition("-")
        if kind == "cluster":
            member, order = found.cluster == int(number), found.closeness
        else:
            position = next(each.position for each in self._project.classes if each.id == int(number))
            member, order = found.predicted == position, found.probability
        passed = torch.isin(found.ids, torch.tensor(sorted(wish.passed), dtype=torch.int64))
        rows = (open_ & member & ~passed).nonzero()[:, 0]
        return found.ids[rows[order[rows].argsort(descending=True, stable=True)]][:CANDIDATES].tolist()

    def _claim(self, person_id: int, candidates: Sequence[int], desk: Desk) -> list[int]:
        with self._database.write() as s:
            got = repository.claim(s, self._project.id, person_id, candidates, PAGE, now() + LEASE)
            settle(s, person_id, sorted(set(desk.mine) - set(got)))
        return got

    def _tiles(self, item_ids: Sequence[int]) -> tuple[Tile, ...]:
        with self._database.read() as s:
            items = repository.items_by_id(s, self._project.id, item_ids)
        rows = torch.searchsorted(self._found.ids, torch.tensor([item.id for item in items], dtype=torch.int64))
        said = zip(self._found.predicted[rows].tolist(), self._found.probability[rows].tolist(), strict=True)
        classes = self._project.classes
        return tuple(Tile(item, classes[c].id, p) for item, (c, p) in zip(items, said, strict=True))


def leave(database: Database, project_id: int, person_id: int) -> None:
    """Give back what the person held."""
    with database.write() as s:
        repository.release(s, project_id, person_id)


def grid_for(database: Database, project_id: int, source: str, domain: str | None = None) -> Grid:
    """The grid of the newest round; of a selection, its pool images alone.

    Raises NotReady before the first round or with an empty pool, UnknownName for no such selection.
    """
    row = rounds_of(database, project_id)[-1]
    with database.read() as s:
        project = repository.project(s, project_id)
        images, last = repository.extent(s, project_id)
        try:
            chosen = None
            if is_selection(source):
                chosen = repository.selection(s, project_id, source.removeprefix(SELECTION))
        except LookupError as error:
            raise UnknownName(str(error)) from error
    found = sorted_pool(project, row, images, last, lambda: workspace(database, project_id))
    return Grid(database, project, row, found, chosen, domain)
