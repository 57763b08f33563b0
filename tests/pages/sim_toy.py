"""Curves made up by a rule, as a simulation would store them: what each strategy and seed reach is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from types import SimpleNamespace

from core.simulation.curve import FIGURES, Point, SimulationConfig
from core.simulation.summary import by_curve
from db import repository
from db.repository import ClassRow, PointRow, SimulationRow
from db.session import Database
from pages.parts.sim_study import Study

SPENT, BATCH, ROUNDS = 20, 10, 3
CONFIG = SimulationConfig(batch=BATCH, rounds=ROUNDS)


def made_points(
    gains: dict[str, float], seeds: Iterable[int] = range(3), paths: Iterable[str] = (), spent: int = SPENT
) -> list[Point]:
    """Accuracy 0.3 + gain · round, shifted by each seed, and by seed and strategy a little: pairs differ by chance."""
    picked = list(paths)
    return [
        Point(
            name,
            seed,
            number,
            spent + BATCH * number,
            dict.fromkeys(FIGURES, 0.3 + gain * number + 0.02 * seed + 0.001 * (seed * len(name) % 3)),
            "posterior",
            10.0,
            tuple(picked[BATCH * (number - 1) : BATCH * number]) if number else (),
        )
        for name, gain in gains.items()
        for seed in seeds
        for number in range(ROUNDS + 1)
    ]


def made_study(points: list[Point], target: str | None = "sketch", config: SimulationConfig = CONFIG) -> Study:
    classes = tuple(ClassRow(i + 1, i, name) for i, name in enumerate(("cat", "dog *bold*")))
    project = SimpleNamespace(id=1, classes=classes, class_version=0, team={}, target_domain=target)
    row = SimulationRow(7, 1, about_of(target), asdict(config), datetime.now(UTC))
    return Study(project, row, tuple(points), by_curve(points))


def about_of(target: str | None, classes: Iterable[str] = ("cat", "dog")) -> dict:
    about = {"source": "made", "images": 90, "classes": list(classes), "target": target, "fingerprint": "none"}
    return about | {"splits": "the project's", "validation_images": SPENT, "test_images": 30, "pool_images": 60}


def store(database: Database, project: int, points: Iterable[Point], config: SimulationConfig = CONFIG) -> int:
    """Put curves into the database as the worker does; the simulation's id."""
    with database.write() as s:
        target = repository.project(s, project).target_domain
        names = [each.name for each in repository.project(s, project).classes]
        key = repository.simulation(s, project, about_of(target, names), asdict(config))
        for curve in by_curve(points).values():
            rows = [PointRow(**(asdict(point) | {"picked": list(point.picked)})) for point in curve]
            repository.add_curve(s, key, rows)
    return key
