"""A stored simulation as the page reads it: its curves, what each strategy picked, and how both are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import streamlit as st

from core.acquisition.table import Acquisition
from core.simulation.curve import Point
from core.simulation.strategies import STRATEGIES
from core.simulation.study import points_of
from core.simulation.summary import RANDOM, Curves, by_curve
from db import repository
from db.repository import PickedRow, ProjectRow, SimulationRow
from pages.parts.state import database

USUAL = str(Acquisition.EPIG)  # what a new project's queue asks by
ROUNDS = 1000  # more than a curve has: a mark is known by strategy · ROUNDS + round


@dataclass(frozen=True, slots=True)
class Study:
    """A simulation and what is stored of it so far."""

    project: ProjectRow
    row: SimulationRow
    points: tuple[Point, ...]
    curves: Curves

    @property
    def strategies(self) -> list[str]:
        """Random first, then what the queue asks by, then the others in the order of their table."""
        there = {name for name, _ in self.curves}
        known = [name for name in STRATEGIES if name in there]
        first = [name for name in (RANDOM, USUAL) if name in there]
        return list(dict.fromkeys([*first, *known, *sorted(there)]))

    @property
    def seeds(self) -> list[int]:
        return sorted({seed for _, seed in self.curves})

    @property
    def spent(self) -> int:
        """Validation labels that every point counts as spent."""
        return next((point.labels for point in self.points if point.round == 0), 0)

    @property
    def target(self) -> str | None:
        return self.row.about.get("target")

    def asked(self, strategy: str, round_: int | None = None, seed: int | None = None) -> list[str]:
        """Paths that a strategy asked: in one round or all, with one seed or all."""
        return [
            path
            for point in self.points
            if point.strategy == strategy and round_ in (None, point.round) and seed in (None, point.seed)
            for path in point.picked
        ]


def study_of(project: ProjectRow, row: SimulationRow) -> Study:
    """What is stored at this moment."""
    with database().read() as session:
        stored = repository.count_simulated(session, row.id)
    points = _points(row.id, row.created_at, stored)
    return Study(project, row, points, by_curve(points))


def images_of(study: Study) -> dict[str, PickedRow]:
    """The images that were asked, by path; one that the project lacks by now is left out."""
    row, changed = study.row, study.project.class_version
    return _picked(study.project.id, row.id, row.created_at, len(study.curves), changed)


@st.cache_data(max_entries=16, show_spinner=False)
def _points(simulation_id: int, made: datetime, stored: int) -> tuple[Point, ...]:
    """A curve that is stored stays as it is, so their number says whether anything is new."""
    return tuple(points_of(database(), simulation_id))


@st.cache_data(max_entries=16, show_spinner=False)
def _picked(
    project_id: int, simulation_id: int, made: datetime, stored: int, class_version: int
) -> dict[str, PickedRow]:
    paths = {path for point in _points(simulation_id, made, stored) for path in point.picked}
    with database().read() as session:
        return {row.path: row for row in repository.picked(session, project_id, sorted(paths))}


def title(strategy: str) -> str:
    return STRATEGIES[strategy].title if strategy in STRATEGIES else strategy


def mark_of(study: Study, strategy: str, round_: int) -> int:
    """The number of a point of a mean curve, the same while other strategies come in."""
    return _numbers(study)[strategy] * ROUNDS + round_


def point_at(study: Study, mark: int | None) -> tuple[str, int] | None:
    """The strategy and round of a mark; None where the study has none of it."""
    names = {number: name for name, number in _numbers(study).items() if name in study.strategies}
    return None if mark is None or mark // ROUNDS not in names else (names[mark // ROUNDS], mark % ROUNDS)


def _numbers(study: Study) -> dict[str, int]:
    return {name: i for i, name in enumerate(dict.fromkeys([*STRATEGIES, *study.strategies]))}


def class_of(study: Study, row: PickedRow) -> str:
    """The class of an image as it is known now; not escaped."""
    names = {each.position: each.name for each in study.project.classes}
    return "a class that is gone" if row.position is None else names.get(row.position, "a class that is gone")


def counted(names: Iterable[str], most: int = 7) -> str:
    """“dog 4, cat 3 and 2 more”, the most frequent first; not escaped."""
    found = Counter(names).most_common()
    listed = ", ".join(f"{name} {number:,}" for name, number in found[:most])
    return f"{listed} and {len(found) - most} more" if len(found) > most else listed
