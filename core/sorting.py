"""What a round's model says of every pool image, sorted into classes and clusters; kept in the data folder.

Axes: N pool images · C classes · K clusters.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock

import torch
from safetensors import safe_open
from torch import Tensor
from torch.nn.functional import normalize

from core.choice import predict
from core.clusters import k_means
from core.config import home
from core.kernel import slices
from core.tensorfile import write_atomically
from core.workspace import Workspace, generator
from db.repository import ProjectRow, RoundRow

CLUSTER = 60  # images, on average
MOST_CLUSTERS = 48
VERSION = 1  # of the file
ROWS = 4096  # images in flight


@dataclass(frozen=True, slots=True)
class Sorted:
    """What one model says of each pool image, by item id; all [N]."""

    ids: Tensor  # rising
    predicted: Tensor  # class position by the served predictive
    probability: Tensor  # of that class
    cluster: Tensor  # the largest is 0
    closeness: Tensor  # cosine to the cluster's centre
    domain: Tensor  # in `domains`
    domains: tuple[str | None, ...]


_building = Lock()


def sorted_pool(project: ProjectRow, row: RoundRow, images: int, last: int, space: Callable[[], Workspace]) -> Sorted:
    """What a round's model says of the project's pool; `space` is asked for where the file is not there yet.

    `images` and `last` are how many images the project has and the greatest id (`repository.extent`).
    """
    path = _path(project, row, images, last)
    with _building:
        if not path.exists():
            _build(path, space())
        return _load(str(path))


def _path(project: ProjectRow, row: RoundRow, images: int, last: int) -> Path:
    """What the file depends on: the model, the images and the classes."""
    parts = [VERSION, row.id, row.fingerprint, images, last, *map(str, project.classes)]
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    return home() / "grid" / str(project.id) / f"{row.number}-{key}.safetensors"


def _build(path: Path, space: Workspace) -> None:
    found = sort_pool(space)
    tensors = {name: getattr(found, name) for name in Sorted.__slots__ if name != "domains"}
    write_atomically(path, tensors, {"domains": json.dumps(found.domains)})
    for old in path.parent.glob("*.safetensors"):
        if old != path:  # an earlier model's
            old.unlink(missing_ok=True)


def sort_pool(space: Workspace) -> Sorted:
    """The served prediction of every pool image, and its cluster; no label value is read."""
    served, pool = space.round.metrics["served"], space.features
    best = [predict(space.posterior, pool[part], space.texts, served).max(dim=1) for part in slices(len(pool), ROWS)]
    weight = space.posterior.image.weight

    def units(part: slice | Tensor) -> Tensor:
        return normalize(pool[part].to(weight).embed(weight), dim=1)

    k = min(MOST_CLUSTERS, max(2, round(len(pool) / CLUSTER)))
    cluster, closeness = k_means(units, len(pool), k, generator(space.project.seed))
    domains = tuple(dict.fromkeys(item.domain for item in space.pool))
    ids = torch.tensor([item.id for item in space.pool])
    order = ids.argsort()
    domain = torch.tensor([domains.index(item.domain) for item in space.pool])
    return Sorted(
        ids=ids[order],
        predicted=torch.cat([each.indices for each in best])[order],
        probability=torch.cat([each.values.float() for each in best]).nan_to_num(0.0)[order],  # broken ones come last
        cluster=cluster[order],
        closeness=closeness.float()[order],
        domain=domain[order],
        domains=domains,
    )


@lru_cache(maxsize=8)
def _load(path: str) -> Sorted:
    with safe_open(path, framework="pt") as file:
        domains = json.loads(file.metadata()["domains"])
        return Sorted(**{name: file.get_tensor(name) for name in file.keys()}, domains=tuple(domains))  # noqa: SIM118
