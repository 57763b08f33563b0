"""What Explore shows of a project: every image's place on two maps, its prediction, scores and near duplicates.

Made once for each model by the worker, and kept in the data folder; no label value is read, and no hidden class.
Axes: N encoded images of all splits · C classes · D joint embedding size.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from torch import Tensor
from torch.nn.functional import normalize

from core.acquisition.table import QUICK, SCORES, Acquisition
from core.alike import near_groups
from core.config import home
from core.errors import NotReady
from core.kernel import slices
from core.layout import by_neighbours, principal
from core.learning import predict
from core.tensorfile import write_atomically
from core.values import Progress, silent
from core.workspace import Workspace, generator, ranker_of, workspace
from db import repository
from db.repository import ItemRow, ProjectRow, RoundRow, Split
from db.session import Database

VERSION = 1  # of the file
ROWS = 4096  # images in flight
MOST = 30_000  # images that are all compared with each other: beyond, neighbours and near duplicates are left out
SPLITS = tuple(Split)
SHOWN = tuple(score for score in QUICK if score is not Acquisition.RANDOM)


@dataclass(frozen=True, slots=True)
class Atlas:
    """Arrays of N, by item id; a position in them is how a page and the browser call an image."""

    round: int  # of the model
    path: Path
    domains: tuple[str | None, ...]
    ids: np.ndarray  # int64
    digests: np.ndarray  # SHA-256, [N, 32] uint8
    split: np.ndarray  # in SPLITS
    domain: np.ndarray  # in `domains`
    predicted: np.ndarray  # class position by the served predictive
    probability: np.ndarray  # of that class
    maps: dict[str, np.ndarray]  # "directions" (PCA) and, where made, "neighbours" (UMAP's layout), [N, 2] each
    scores: dict[Acquisition, np.ndarray]  # NaN outside the pool where a score is of the pool alone
    near: np.ndarray | None  # group of near duplicates, −1 for none; None where not looked for

    def __len__(self) -> int:
        return len(self.ids)

    def sha256(self, position: int) -> str:
        return self.digests[position].tobytes().hex()

    def positions(self, item_ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """Where these items are; those that are not here are left out."""
        wanted = np.asarray(item_ids, dtype=np.int64)
        places = np.searchsorted(self.ids, wanted)
        there = places < len(self.ids)
        there[there] = self.ids[places[there]] == wanted[there]
        return places[there]

    def units(self) -> Tensor:
        """The normalised mean embeddings [N, D], float16, read from the disk."""
        with safe_open(str(self.path), framework="pt") as file:
            return file.get_tensor("units")


def path_of(database: Database, project_id: int) -> Path:
    """The file of the newest model's atlas, made or not. Raises NotReady before the first round."""
    with database.read() as s:
        project, newest = repository.project(s, project_id), repository.latest_round(s, project_id)
        images, last = repository.extent(s, project_id)
    if newest is None:
        raise NotReady("there is no model yet: wait for the import, or start it again")
    return home() / "atlas" / str(project_id) / f"{_key(project, newest, images, last)}.safetensors"


def _key(project: ProjectRow, newest: RoundRow, images: int, last: int) -> str:
    """What the atlas depends on: the model, the images and the classes."""
    parts = [VERSION, newest.id, newest.fingerprint, project.target_domain, images, last, *map(str, project.classes)]
    return f"{newest.number}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]}"


def build(database: Database, project_id: int, on_progress: Progress = silent) -> Path:
    """Make the newest model's atlas where there is none; its file. Raises NotReady before the first round."""
    path = path_of(database, project_id)
    if path.exists():
        return path
    with database.read() as s:
        items = repository.items(s, project_id)
    space = workspace(database, project_id, of=items)
    units, predicted, probability = _described(space)
    tensors = {"units": units, "predicted": predicted, "probability": probability, **_rows(space.pool)}
    tensors |= {f"score.{name}": each for name, each in _scores(database, space, on_progress).items()}
    tensors["map.directions"] = principal(units.float())
    if len(units) <= MOST:
        rng = generator(space.project.seed)
        tensors["map.neighbours"] = by_neighbours(units.float(), rng=rng, on_progress=on_progress)
        tensors["near"] = near_groups(space.features, on_progress=on_progress).int()
    about = {"round": space.round.number, "domains": _domains(space.pool)}
    write_atomically(path, tensors, {"about": json.dumps(about)})
    for old in path.parent.glob(f"{space.round.number}-*.safetensors"):
        if old != path:  # the same model over other images
            old.unlink(missing_ok=True)
    return path


def load(path: Path) -> Atlas:
    """The atlas that `build` wrote, without its embeddings, which stay on the disk."""
    with safe_open(str(path), framework="pt") as file:
        names = set(file.keys()) - {"units"}
        arrays = {name: file.get_tensor(name).numpy() for name in names}
        about = json.loads(file.metadata()["about"])
    plain = ("ids", "digests", "split", "domain", "predicted", "probability")
    return Atlas(
        round=about["round"],
        path=path,
        domains=tuple(about["domains"]),
        **{name: arrays[name] for name in plain},
        maps={name: arrays[f"map.{name}"] for name in ("neighbours", "directions") if f"map.{name}" in arrays},
        scores={score: arrays[f"score.{score}"] for score in SHOWN},
        near=arrays.get("near"),
    )


def guesses(database: Database, project_id: int, item: ItemRow, n: int = 5) -> list[tuple[int, float]]:
    """The n likeliest classes of an image by the newest model's served predictive: positions and probabilities.

    Raises NotReady for an image that is not encoded.
    """
    space = workspace(database, project_id, of=[item])
    probs = predict(space.posterior, space.features[:1], space.texts, space.round.metrics["served"])[0]
    best = probs.topk(min(n, len(probs)))
    return list(zip(best.indices.tolist(), best.values.tolist(), strict=True))


def _domains(items: Sequence[ItemRow]) -> list[str | None]:
    return sorted({item.domain for item in items}, key=lambda each: each or "")


def _rows(items: Sequence[ItemRow]) -> dict[str, Tensor]:
    domains = {name: number for number, name in enumerate(_domains(items))}
    digests = np.frombuffer(bytes.fromhex("".join(item.sha256 for item in items)), np.uint8).reshape(-1, 32)
    return {
        "ids": torch.tensor([item.id for item in items]),
        "digests": torch.from_numpy(digests.copy()),
        "split": torch.tensor([SPLITS.index(item.split) for item in items], dtype=torch.uint8),
        "domain": torch.tensor([domains[item.domain] for item in items], dtype=torch.int16),
    }


def _described(space: Workspace) -> tuple[Tensor, Tensor, Tensor]:
    """Normalised embeddings [N, D] in float16, and what the served predictive says: class and probability [N]."""
    units, predicted, probability = [], [], []
    for part in slices(len(space.features), ROWS):
        features = space.features[part]
        embedded = features.to(space.posterior.image.weight).embed(space.posterior.image.weight)
        units.append(normalize(embedded, dim=1).half())
        best = predict(space.posterior, features, space.texts, space.round.metrics["served"]).max(dim=1)
        predicted.append(best.indices.short())
        probability.append(best.values.float())
    return torch.cat(units), torch.cat(predicted), torch.cat(probability)


def _scores(database: Database, space: Workspace, on_progress: Progress) -> dict[str, Tensor]:
    """Every quick score [N]; those that answers change are of the pool, given the answers that the model has seen."""
    in_pool = torch.tensor([item.split == Split.POOL for item in space.pool])
    pool = workspace(database, space.project.id) if in_pool.any() else None
    with database.read() as s:
        seen = repository.answers(s, space.project.id, space.round.label_watermark)
    found = {}
    for number, score in enumerate(SHOWN):
        on_progress(number, len(SHOWN), f"scoring by {SCORES[score].title}")
        if not SCORES[score].conditions:
            found[str(score)] = ranker_of(space, score).scores().float()
            continue
        found[str(score)] = torch.full((len(space.pool),), torch.nan)
        if pool is not None:
            ranker = ranker_of(pool, score)
            ranker.condition([i for i, item in enumerate(pool.pool) if item.id in seen])
            found[str(score)][in_pool] = ranker.scores().float()
    return found
