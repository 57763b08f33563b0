"""What is read of a project: its encoded images and newest model, the ranking of its pool, a round's predictions.

Axes: N pool images · M target images · C classes. `core.rounds` writes what is read here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch

from core.acquisition.baselines import own_uncertainty
from core.acquisition.table import Acquisition
from core.batches import Limits, NearDuplicates, Pick, Quota
from core.class_texts import as_in, load
from core.config import home, memory_budget
from core.errors import NotReady
from core.features import FeatureStore
from core.finetune import Labelled
from core.kernel import Pool
from core.posterior.laplace import Posterior
from core.projects import get_project
from core.ranking import Batch, Ranker, draw_targets, make_ranker, outside, take_batch
from core.stored import pool_features
from core.targeting import Metric
from core.values import Features
from db import repository
from db.repository import ItemRow, ProjectRow, RoundRow, Split
from db.session import Database

RHO = 10.0


@dataclass(frozen=True, slots=True)
class RankedItem:
    """One image in the order to label; `score` is its score when its turn comes.

    `own_uncertainty` is the encoder's own, Σσ², beside it: None where it has none.
    """

    id: int
    path: str
    score: float
    own_uncertainty: float | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """The next images to label, best first; `non_finite` counts the pool images that have no finite score."""

    items: list[RankedItem]
    non_finite: int

    def __iter__(self) -> Iterator[RankedItem]:
        return iter(self.items)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A project's encoded images and its newest posterior: all that ranking reads. No labels, on purpose."""

    project: ProjectRow
    round: RoundRow
    posterior: Posterior
    texts: Features  # [C, p']
    pool: tuple[ItemRow, ...]
    features: Pool  # of the pool [N, p], on disk when they are large
    targets: Features  # [M, p]
    towards: tuple[int, ...]  # which pool images the targets are, [M]


def rank(
    database: Database,
    project_id: int,
    *,
    score: Acquisition = Acquisition.EPIG,
    narrow: Metric | None = None,
    limit: int = 100,
    batch: Batch | None = None,
    memory: int | None = None,
) -> Ranking:
    """The next `limit` images to label, best first, given all answers so far; no label value is read.

    With `batch` they are one batch, filled in that way and with one at most of each set of exact and near duplicates.
    `memory` in bytes, default `memory_budget()`.
    """
    space = workspace(database, project_id, memory=memory)
    ranker = ranker_of(space, score, memory)
    with database.read() as s:
        heard = repository.heard(s, project_id)  # also of a tie, of which nothing stands: it waits for a review
    position = {item.id: i for i, item in enumerate(space.pool)}
    ranker.condition([position[i] for i, answered in heard.items() if answered and i in position])
    taken = {position[i] for i in heard if i in position}
    taken |= set(outside(space.posterior, space.features, space.targets, narrow))
    if batch is None:
        picks = ranker.take(limit, taken)
    else:
        same_file = Quota.of((item.sha256 for item in space.pool), limit=1)
        limits, rng = Limits((same_file,), NearDuplicates(space.features)), generator(space.project.seed)
        picks = take_batch(batch, ranker, space, limit, rng=rng, exclude=sorted(taken), limits=limits)
    return Ranking(_ranked(space, picks), ranker.non_finite)


def _ranked(space: Workspace, picks: Sequence[Pick]) -> list[RankedItem]:
    items = [space.pool[pick.position] for pick in picks]
    positions = torch.tensor([pick.position for pick in picks], dtype=torch.int64)
    own = space.features[positions].log_variance if picks else None
    beside = [None] * len(picks) if own is None else own_uncertainty(own).tolist()
    rows = zip(items, picks, beside, strict=True)
    return [RankedItem(item.id, item.path, pick.score, doubt) for item, pick, doubt in rows]


def unmeasured_items(database: Database, project_id: int) -> list[ItemRow]:
    """Validation and test images without a known class: answers on them make the project measurable."""
    with database.read() as s:
        known = {i for split in (Split.VALIDATION, Split.TEST) for i in repository.measured(s, project_id, split)}
        items = [*repository.items(s, project_id, Split.TEST), *repository.items(s, project_id, Split.VALIDATION)]
    return [item for item in items if item.id not in known and item.gone_at is None]


def workspace(
    database: Database, project_id: int, of: list[ItemRow] | None = None, memory: int | None = None
) -> Workspace:
    """What ranking reads of a project, from its newest round; the pool, or the items `of`.

    Raises NotReady before `prepare` has ended, or where there is no image to rank.
    """
    project = get_project(database, project_id)
    newest = rounds_of(database, project_id)[-1]
    store = feature_store(newest.fingerprint)
    with database.read() as s:
        items = repository.items(s, project_id, Split.POOL) if of is None else of
    pool = encoded([item for item in items if item.gone_at is None], store)
    if not pool:
        raise NotReady("no image is left to label: the pool is empty; add images to the project's folder")
    features = pool_features(store, [item.sha256 for item in pool], memory or memory_budget())
    inside = [i for i, item in enumerate(pool) if project.target_domain in (None, item.domain)] or range(len(pool))
    towards = draw_targets(inside, generator(project.seed))
    targets = features[torch.tensor(towards, dtype=torch.int64)]
    posterior = _posterior(str(home() / newest.checkpoint))
    texts = class_texts(as_in(project, newest), newest.fingerprint)
    return Workspace(project, newest, posterior, texts, tuple(pool), features, targets, tuple(towards))


def ranker_of(space: Workspace, score: Acquisition, memory: int | None = None) -> Ranker:
    """The ranker of a workspace's pool; nothing is conditioned yet."""
    rng, parts = generator(space.project.seed), (space.posterior, space.features, space.targets, space.texts)
    return make_ranker(score, *parts, rng=rng, rho=RHO, memory=memory)


def feature_store(fingerprint: str) -> FeatureStore:
    return FeatureStore(home() / "features", fingerprint)


def text_store(fingerprint: str) -> FeatureStore:
    return FeatureStore(home() / "features", f"{fingerprint}-texts")


def class_texts(project: ProjectRow, fingerprint: str) -> Features:
    """Text activations [C, p'] of the project's classes, from the store; of a round's: `as_in(project, row)`."""
    return load(project, text_store(fingerprint))


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@lru_cache(maxsize=8)
def _posterior(path: str) -> Posterior:
    return Posterior.load(path)


def rounds_of(database: Database, project_id: int) -> list[RoundRow]:
    """All rounds of a project, one or more; raises NotReady before the first."""
    with database.read() as s:
        found = repository.rounds(s, project_id)
    if not found:
        raise NotReady("the project's images are not encoded yet: wait for the import, or start it again")
    return found


def measured_items(
    database: Database, project: ProjectRow, fingerprint: str, split: Split
) -> tuple[list[ItemRow], list[int]]:
    """Encoded images of a split whose class is known, of the target domain only where there is one."""
    with database.read() as s:
        known = repository.measured(s, project.id, split)
        items = [item for item in repository.items(s, project.id, split) if item.id in known]
    inside = [item for item in items if project.target_domain in (None, item.domain)]
    usable = encoded(inside, feature_store(fingerprint))
    return usable, [known[item.id] for item in usable]


def labelled(fingerprint: str, items: list[ItemRow], labels: list[int]) -> Labelled | None:
    """Images with their classes; None without any."""
    if not items:
        return None
    features = feature_store(fingerprint).load([item.sha256 for item in items])
    return Labelled(features, torch.tensor(labels))


def encoded(items: list[ItemRow], store: FeatureStore) -> list[ItemRow]:
    """Those that the store has."""
    missing = set(store.missing([item.sha256 for item in items]))
    return [item for item in items if item.sha256 not in missing]
