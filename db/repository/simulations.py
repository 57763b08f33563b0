"""Simulations: found by what was simulated, and their points, a whole curve at a time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import NotNullable, Select, delete, func, or_, select
from sqlalchemy.orm import Session

from db.dialect import chunks, insert
from db.models import Item, Label, Reference
from db.repository.consensus import standing_ids
from db.repository.items import _positions
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


@dataclass(frozen=True, slots=True)
class PickedRow:
    """An image that a simulation's strategy asked; `position` of its class as it is known now, None where it is not."""

    path: str
    sha256: str
    domain: str | None
    item_id: int
    position: int | None


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


def count_simulated(s: Session, simulation_id: int) -> int:
    """How many curves are stored."""
    query = select(SimulationPoint.strategy, SimulationPoint.seed).distinct()
    query = query.where(SimulationPoint.simulation_id == simulation_id)
    return s.scalars(select(func.count()).select_from(query.subquery())).one()


def picked(s: Session, project_id: int, paths: Sequence[str]) -> list[PickedRow]:
    """Those of these images that the project has, by path."""
    found: list[PickedRow] = []
    for some in chunks(sorted(set(paths))):
        query = select(Item.path, Item.sha256, Item.domain, Item.id).where(Item.project_id == project_id)
        rows = s.execute(query.where(Item.path.in_(some)).order_by(Item.path)).all()
        known = _known(s, project_id, select(Item.id).where(Item.project_id == project_id, Item.path.in_(some)))
        found += [PickedRow(*row, known.get(row.id)) for row in rows]
    return found


def known_parts(s: Session, project_id: int) -> dict[tuple[str, str | None], int]:
    """How many images of each split and domain an oracle knows the class of: answered, or stated by the folder."""
    answered = _answered(s, project_id).with_only_columns(Label.item_id)
    stated = select(Reference.item_id)
    query = select(Item.split, Item.domain, func.count()).where(Item.project_id == project_id)
    query = query.where(or_(Item.id.in_(answered), Item.id.in_(stated))).group_by(Item.split, Item.domain)
    return {(split, domain): number for split, domain, number in s.execute(query)}


def _known(s: Session, project_id: int, among: Select) -> dict[int, int]:
    """Class position by item: the standing answer, else what the folder states."""
    stated = select(Reference.item_id, Reference.class_id).where(Reference.item_id.in_(among))
    return _positions(s, project_id, stated) | _positions(s, project_id, _answered(s, project_id, among))


def _answered(s: Session, project_id: int, among: Select | None = None) -> Select:
    ids = standing_ids(s, project_id, among=among)
    return select(Label.item_id, NotNullable(Label.class_id)).where(Label.id.in_(ids), Label.class_id.is_not(None))
