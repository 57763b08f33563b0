"""Simulations: found by what was simulated, and their points, a whole curve at a time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from db.dialect import insert
from db.simulation_models import Simulation, SimulationPoint


@dataclass(frozen=True, slots=True)
class SimulationRow:
    id: int
    project_id: int | None
    about: dict
    settings: dict
    created_at: datetime


@dataclass(frozen=True, slots=True)
class PointRow:
    """One point; `figures` by name, None where not defined; `picked` are paths in the order asked."""

    strategy: str
    seed: int
    round: int
    labels: int
    figures: dict[str, float | None]
    served: str
    tau: float
    picked: list[str]


_COLUMNS = tuple(getattr(Simulation, name) for name in SimulationRow.__slots__)
_POINT = tuple(getattr(SimulationPoint, name) for name in PointRow.__slots__)


def simulation(s: Session, project_id: int | None, about: dict, settings: dict) -> int:
    """The id of this very simulation, stored now if it was not."""
    key = hashlib.sha256(json.dumps([project_id, about, settings], sort_keys=True).encode()).hexdigest()
    row = {"key": key, "project_id": project_id, "about": about, "settings": settings}
    s.execute(insert(s, Simulation).values(**row).on_conflict_do_nothing())
    return s.scalars(select(Simulation.id).where(Simulation.key == key)).one()


def simulation_row(s: Session, simulation_id: int) -> SimulationRow:
    """One simulation; raises LookupError."""
    row = s.execute(select(*_COLUMNS).where(Simulation.id == simulation_id)).one_or_none()
    if row is None:
        raise LookupError(f"there is no simulation {simulation_id}")
    return SimulationRow(*row)


def simulations(s: Session, project_id: int) -> list[SimulationRow]:
    """Those of a project, the newest first."""
    query = select(*_COLUMNS).where(Simulation.project_id == project_id).order_by(Simulation.id.desc())
    return [SimulationRow(*row) for row in s.execute(query)]


def add_curve(s: Session, simulation_id: int, points: Sequence[PointRow]) -> None:
    """Store all points of one strategy and seed, in place of what was there."""
    first = points[0]
    same = (SimulationPoint.strategy == first.strategy, SimulationPoint.seed == first.seed)
    s.execute(delete(SimulationPoint).where(SimulationPoint.simulation_id == simulation_id, *same))
    rows = [{name: getattr(point, name) for name in PointRow.__slots__} for point in points]
    s.execute(insert(s, SimulationPoint), [{"simulation_id": simulation_id, **row} for row in rows])


def simulated(s: Session, simulation_id: int) -> set[tuple[str, int]]:
    """The strategies and seeds whose curves are stored."""
    query = select(SimulationPoint.strategy, SimulationPoint.seed).distinct()
    found = s.execute(query.where(SimulationPoint.simulation_id == simulation_id))
    return {(strategy, seed) for strategy, seed in found}


def simulation_points(s: Session, simulation_id: int) -> list[PointRow]:
    """All points, by strategy, seed and round."""
    order = (SimulationPoint.strategy, SimulationPoint.seed, SimulationPoint.round)
    query = select(*_POINT).where(SimulationPoint.simulation_id == simulation_id).order_by(*order)
    return [PointRow(*row) for row in s.execute(query)]
