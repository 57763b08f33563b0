"""Images that are the same, or nearly: by content (SHA-256) and by perceptual hash, over all splits, without a model.

One answer can serve the duplicates: it is recorded for each of them, so that all that counts answers counts them too.
Axes: N images that are there.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

import numpy as np
import torch
from sqlalchemy.orm import Session

from core.alike import joined, numbered
from core.fingerprints import near_pairs
from core.projects import get_project
from core.team import Serves, TeamSettings
from db import repository
from db.base import LabelKind, Split
from db.repository import REVIEW, TWIN, TWINS_KEY, ItemRow, NewLabel
from db.session import Database

EXAMPLES = 12  # of a leak


@dataclass(frozen=True, slots=True)
class Prints:
    """What tells images apart, N each, by id; `copies` and `alike` number the groups, −1 for what is like no other."""

    ids: np.ndarray
    splits: tuple[Split, ...]
    copies: np.ndarray  # of one content
    alike: np.ndarray  # of one content, or connected by perceptual hashes that differ in 4 bits of 64 or fewer


@dataclass(frozen=True, slots=True)
class Leak:
    """Pictures that are in two splits: what is learned from one is measured on the other."""

    splits: tuple[Split, Split]
    copies: int  # contents that are in both
    alike: int  # groups of nearly the same pictures that are in both, copies included
    examples: tuple[tuple[ItemRow, ItemRow], ...]  # the first pairs


def prints(database: Database, project_id: int) -> Prints:
    """The groups of duplicates of a project, found anew when its images change."""
    with database.read() as s:
        extent = repository.extent(s, project_id)
    return _prints(database, project_id, extent)


def groups(database: Database, project_id: int, of: Serves = Serves.ALIKE) -> list[tuple[int, ...]]:
    """Ids of each group of duplicates, the largest first."""
    found = prints(database, project_id)
    return sorted(_members(found, of).values(), key=lambda ids: (-len(ids), ids[0]))


def grouped(database: Database, project_id: int, ids: np.ndarray, near: np.ndarray | None) -> np.ndarray:
    """The groups [N] of these images, ascending ids, by hashes or by `near`, groups of another kind; −1 for none."""
    found = prints(database, project_id)
    at = np.minimum(np.searchsorted(found.ids, ids), max(len(found.ids) - 1, 0))
    known = found.ids[at] == ids if len(found.ids) else np.zeros(len(ids), bool)
    hashed = np.where(known, found.alike[at], -1) if len(found.ids) else np.full(len(ids), -1)
    first = torch.arange(len(ids))
    for group in (hashed, near):
        if group is not None:
            members = np.flatnonzero(group >= 0)
            _, at_first, inverse = np.unique(group[members], return_index=True, return_inverse=True)
            leaders = members[at_first][inverse.reshape(-1)]
            first = _together(first, torch.from_numpy(members), torch.from_numpy(leaders))
    return numbered(first).numpy()


def leaks(database: Database, project_id: int) -> list[Leak]:
    """Pairs of splits with the same pictures in both; none is good."""
    found = prints(database, project_id)
    split = dict(zip(found.ids.tolist(), found.splits, strict=True))
    copies, alike = (_across(_members(found, of).values(), split) for of in (Serves.COPIES, Serves.ALIKE))
    return [
        Leak(pair, len(copies[pair]), len(pairs), _examples(database, project_id, pairs[:EXAMPLES]))
        for pair in combinations(Split, 2)
        if (pairs := alike[pair])
    ]


def twins(database: Database, project_id: int, item_ids: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """The images of the same split that an answer on each of these serves as well, as the project's settings say."""
    serves = TeamSettings.of(get_project(database, project_id).team).serves
    if serves is Serves.ITSELF:
        return {}
    found = prints(database, project_id)
    split = dict(zip(found.ids.tolist(), found.splits, strict=True))
    group = {item: ids for ids in _members(found, serves).values() for item in ids}
    return {
        item: tuple(each for each in group[item] if each != item and split[each] == split[item])
        for item in item_ids
        if item in group
    }


def serve(
    s: Session, project_id: int, person_id: int, events: Sequence[NewLabel], of: Mapping[int, Sequence[int]]
) -> int:
    """Record what was just said for its `twins` too, but for those of which somebody spoke themselves; how many."""
    wanted = [(event, twin) for event in events if event.kind != LabelKind.LATER for twin in of.get(event.item_id, ())]
    if not wanted:
        return 0
    themselves = repository.spoken_of(s, project_id, {twin for _, twin in wanted})
    copies = [_copy(event, twin) for event, twin in wanted if twin not in themselves]
    outcome = repository.record(s, project_id, person_id, copies)
    repository.settle(s, person_id, [each.item_id for each in copies])  # an undo would put them on the screen
    return sum(each.accepted and not each.reason for each in outcome)


def _copy(event: NewLabel, twin: int) -> NewLabel:
    key = hashlib.sha256(f"{event.event_key}:{twin}".encode()).hexdigest()[:48]
    source = REVIEW if event.source == REVIEW else TWIN
    copy = replace(event, event_key=f"{TWINS_KEY}{key}", item_id=twin, source=source, lead_ms=None)
    return replace(copy, suggested_class_id=None, suggested_probability=None, suggestion_seen=False)


@lru_cache(maxsize=4)
def _prints(database: Database, project_id: int, extent: tuple[int, int]) -> Prints:
    with database.read() as s:
        rows = repository.prints(s, project_id)
    ids = np.array([row[0] for row in rows], dtype=np.int64)
    first = _same(torch.arange(len(rows)), [row[1] for row in rows])
    copies = numbered(first)
    hashed = np.array([i for i, row in enumerate(rows) if row[2] is not None], dtype=np.int64)
    values = np.array([rows[i][2] for i in hashed], dtype=np.int64)
    unique, at, inverse = np.unique(values, return_index=True, return_inverse=True)
    places = torch.from_numpy(hashed[at]) if len(hashed) else torch.empty(0, dtype=torch.int64)
    if len(hashed):
        first = _together(first, torch.from_numpy(hashed), places[torch.from_numpy(inverse.reshape(-1))])
    for a, b in near_pairs(unique):
        first = _together(first, places[torch.from_numpy(a)], places[torch.from_numpy(b)])
    return Prints(ids, tuple(Split(row[3]) for row in rows), copies.numpy(), numbered(first).numpy())


def _same(first: torch.Tensor, values: Sequence[str]) -> torch.Tensor:
    """`first` [N] with equal values put together."""
    seen: dict[str, int] = {}
    leader = torch.tensor([seen.setdefault(value, i) for i, value in enumerate(values)], dtype=torch.int64)
    return _together(first, torch.arange(len(values)), leader)


def _together(first: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    one, other = first[a], first[b]
    apart = one != other
    return joined(first, one[apart], other[apart])


def _members(found: Prints, of: Serves) -> dict[int, tuple[int, ...]]:
    members: dict[int, list[int]] = defaultdict(list)
    group = found.copies if of is Serves.COPIES else found.alike
    for at in np.flatnonzero(group >= 0):
        members[int(group[at])].append(int(found.ids[at]))
    return {number: tuple(ids) for number, ids in members.items()}


def _across(some, split: Mapping[int, Split]) -> dict[tuple[Split, Split], list[tuple[int, int]]]:
    """For each two splits the groups that are in both, by the first image of each."""
    found: dict[tuple[Split, Split], list[tuple[int, int]]] = {pair: [] for pair in combinations(Split, 2)}
    for ids in some:
        first = {split[item]: item for item in reversed(ids)}
        for pair in found:
            if pair[0] in first and pair[1] in first:
                found[pair].append((first[pair[0]], first[pair[1]]))
    return found


def _examples(database: Database, project_id: int, pairs: Sequence[tuple[int, int]]):
    with database.read() as s:
        rows = {row.id: row for row in repository.items_by_id(s, project_id, [item for pair in pairs for item in pair])}
    return tuple((rows[a], rows[b]) for a, b in pairs if a in rows and b in rows)
