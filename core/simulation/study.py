"""Simulations that are kept: each curve is stored when it is whole, and what is stored is not computed again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import torch

from core.config import home
from core.data.scan import Split
from core.errors import InputError, UnknownName
from core.posterior.laplace import Posterior
from core.projects import get_project
from core.simulation.curve import Point, SimulationConfig
from core.simulation.images import Images
from core.simulation.parallel import Task, curves
from core.simulation.strategies import strategy
from core.values import Progress, silent
from core.workspace import class_texts, encoded, feature_store, rounds_of
from db import repository
from db.repository import PointRow, SimulationRow
from db.session import Database


def project_images(database: Database, project_id: int) -> Images:
    """The images of a project whose class is known, with its own splits and its model as pre-trained.

    The team's answers where there are any, else the class that the folder states, which the oracle alone reads.
    Raises NotReady before the images are read, InputError where fewer than 2 classes are known.
    """
    project = get_project(database, project_id)
    posterior = Posterior.load(home() / rounds_of(database, project_id)[0].checkpoint)
    with database.read() as s:
        known = repository.reference(s, project_id) | repository.answers(s, project_id)
        for split in (Split.VALIDATION, Split.TEST):
            known |= repository.measured(s, project_id, split)
        items = [item for item in repository.items(s, project_id) if item.id in known]
    found = encoded(items, feature_store(posterior.fingerprint))
    labels = torch.tensor([known[item.id] for item in found], dtype=torch.int64)
    if len(labels.unique()) < 2:
        raise InputError(
            f"the class of {len(found)} images is known, of {len(labels.unique())} classes: a simulation needs images "
            "of 2 classes or more. Answer some, or take in a folder with a folder for each class"
        )
    return Images(
        tuple(item.path for item in found),
        tuple(item.sha256 for item in found),
        tuple(item.domain for item in found),
        feature_store(posterior.fingerprint).load([item.sha256 for item in found]),
        labels,
        tuple(each.name for each in project.classes),
        class_texts(project, posterior.fingerprint),
        posterior,
        tuple(Split(item.split) for item in found),
    )


def describe(images: Images, source: str, target: str | None) -> dict:
    """What was simulated, as it is stored and as a plot names it; two of a project differ where its classes do."""
    about = {
        "source": source,
        "images": len(images),
        "classes": list(images.classes),
        "target": target,
        "fingerprint": images.pretrained.fingerprint,
        "splits": "by the seed" if images.splits is None else "the project's",
    }
    if images.splits is None:
        return about
    inside = [split for split, domain in zip(images.splits, images.domains, strict=True) if target in (None, domain)]
    counts = {f"{split}_images": inside.count(split) for split in (Split.VALIDATION, Split.TEST)}
    return about | counts | {"pool_images": images.splits.count(Split.POOL), "known": _digest(images)}


def _digest(images: Images) -> str:
    """Of what a project's people may change: which classes are known, and the texts."""
    said = (images.sha256s, images.labels.tolist(), tuple(map(str, images.splits or ())))
    texts = images.texts.activations.contiguous().numpy().tobytes()
    return hashlib.sha256(repr(said).encode() + texts).hexdigest()[:16]


def find_study(
    database: Database, project_id: int, target: str | None, config: SimulationConfig
) -> SimulationRow | None:
    """The newest simulation of a project with this target and these settings, or None."""
    settings = _plain(asdict(config))
    with database.read() as s:
        rows = repository.simulations(s, project_id)
    alike = (row for row in rows if row.about.get("target") == target and _plain(row.settings) == settings)
    return next(alike, None)


def _plain(values: dict) -> dict:
    """As the database gives it back: lists, strings."""
    return json.loads(json.dumps(values))


def tasks_of(strategies: Sequence[str], seeds: Iterable[int]) -> list[Task]:
    """A task for each seed and strategy, seed by seed, so that the first curves already compare. Raises UnknownName."""
    return [Task(strategy(name).name, seed) for seed in seeds for name in dict.fromkeys(strategies)]


def run_study(
    database: Database,
    images: Images,
    *,
    source: str,
    target: str | None,
    tasks: Sequence[Task],
    config: SimulationConfig,
    project_id: int | None = None,
    workers: int | None = None,
    on_progress: Progress = silent,
) -> int:
    """Compute and store the curves that are not stored yet; the simulation's id. Stopped, it goes on when called again.

    Raises UnknownName for a target that no image is of, and what a curve raises.
    """
    if target is not None and target not in images.domains:
        there = ", ".join(sorted({str(domain) for domain in images.domains}))
        raise UnknownName(f"no image is of the domain {target!r}; there are {there}")
    with database.write() as s:
        key = repository.simulation(s, project_id, describe(images, source, target), asdict(config))
        stored = repository.simulated(s, key)
    left = [task for task in tasks if tuple(task) not in stored]
    for _, points in curves(images, target, left, config, workers=workers, on_progress=on_progress):
        rows = [PointRow(**(asdict(point) | {"picked": list(point.picked)})) for point in points]
        with database.write() as s:
            repository.add_curve(s, key, rows)
    return key


def points_of(database: Database, simulation_id: int) -> list[Point]:
    """All points that are stored of a simulation."""
    with database.read() as s:
        return [Point(**_values(row)) for row in repository.simulation_points(s, simulation_id)]


def _values(row: PointRow) -> dict:
    return {name: getattr(row, name) for name in PointRow.__slots__} | {"picked": tuple(row.picked)}


def tidy(points: Iterable[Point]) -> pd.DataFrame:
    """A row for each point, a column for each figure; `picked` is a list of paths."""
    rows = [{**asdict(point), **point.figures, "picked": list(point.picked)} for point in points]
    return pd.DataFrame(rows).drop(columns="figures") if rows else pd.DataFrame()


def write_points(points: Sequence[Point], file: Path) -> None:
    """The tidy table as .csv (paths separated by |) or .parquet. Raises InputError for another name."""
    frame = tidy(points)
    if file.suffix == ".parquet":
        frame.to_parquet(file, index=False)
    elif file.suffix == ".csv":
        frame.assign(picked=frame["picked"].map("|".join)).to_csv(file, index=False)
    else:
        raise InputError(f"{file.name!r} is neither a .csv nor a .parquet file")
