"""What the newest model says of every image of a project, for exports: its guess and the scores, computed in chunks.

Axes: N encoded images · C classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from core.acquisition.table import SCORES, Acquisition
from core.data.dataset import Guess
from core.errors import NotReady
from core.kernel import slices
from core.learning import predict
from core.workspace import Workspace, ranker_of, workspace
from db import repository
from db.repository import Split
from db.session import Database

ROWS = 4096  # images in flight
COLUMNS = {"entropy": Acquisition.ENTROPY, "bald": Acquisition.BALD, "epig": Acquisition.EPIG}


@dataclass(frozen=True, slots=True)
class Scored:
    """Arrays of N by item id, in order; NaN where a score is of the pool alone."""

    model: str
    round: int
    classes: tuple[str, ...]
    ids: np.ndarray  # int64
    predicted: np.ndarray  # class position
    probability: np.ndarray  # of that class
    scores: dict[str, np.ndarray]

    def of(self, item_id: int) -> tuple[Guess, dict[str, float | int]] | None:
        """The guess and the figures of an image; None for one that was never encoded."""
        at = int(np.searchsorted(self.ids, item_id))
        if at == len(self.ids) or self.ids[at] != item_id:
            return None
        guess = Guess(self.classes[self.predicted[at]], float(self.probability[at]), self.model)
        figures = {name: float(values[at]) for name, values in self.scores.items() if np.isfinite(values[at])}
        return guess, {**figures, "round": self.round}


def scored(database: Database, project_id: int) -> Scored | None:
    """What the newest round's model says of all images; None before the first round or without an encoded image.

    BALD and EPIG are of the pool's images, given the answers that the model has learned from.
    """
    with database.read() as s:
        newest, extent = repository.latest_round(s, project_id), repository.extent(s, project_id)
    return None if newest is None else _scored(database, project_id, newest.id, extent)


@lru_cache(maxsize=2)
def _scored(database: Database, project_id: int, round_id: int, extent: tuple[int, int]) -> Scored | None:
    with database.read() as s:
        items = repository.items(s, project_id)
    try:
        space = workspace(database, project_id, of=items)
    except NotReady:
        return None
    predicted, probability = _guessed(space)
    return Scored(
        f"{space.project.model}, round {space.round.number}",
        space.round.number,
        tuple(each.name for each in space.project.classes),
        np.array([item.id for item in space.pool], dtype=np.int64),
        predicted.numpy(),
        probability.numpy(),
        {name: _values(database, space, score).numpy() for name, score in COLUMNS.items()},
    )


def _guessed(space: Workspace) -> tuple[Tensor, Tensor]:
    """The likeliest class and its probability by the served predictive, [N] each."""
    served = space.round.metrics["served"]
    best = [predict(space.posterior, space.features[part], space.texts, served).max(dim=1) for part in _parts(space)]
    return torch.cat([each.indices for each in best]), torch.cat([each.values.float() for each in best])


def _parts(space: Workspace):
    return slices(len(space.features), ROWS)


def _values(database: Database, space: Workspace, score: Acquisition) -> Tensor:
    """A score [N]; one that answers change, of the pool's images."""
    if not SCORES[score].conditions:
        return ranker_of(space, score).scores().double()
    values = torch.full((len(space.pool),), torch.nan, dtype=torch.float64)
    in_pool = torch.tensor([item.split == Split.POOL for item in space.pool])
    if in_pool.any():
        pool = workspace(database, space.project.id)
        with database.read() as s:
            seen = repository.answers(s, space.project.id, space.round.label_watermark)
        ranker = ranker_of(pool, score)
        ranker.condition([i for i, item in enumerate(pool.pool) if item.id in seen])
        values[in_pool] = ranker.scores().double()
    return values
