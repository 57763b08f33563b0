"""The tables of simulated rounds. Apart from the project's own rounds: nothing here was answered by a person.

simulation ──< simulation_point (one point of the learning curve of a strategy and seed)
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from db.base import Base, now


class Simulation(Base):
    """What was simulated, by its key: asked for again it goes on, with more strategies or seeds too."""

    __tablename__ = "simulation"
    __table_args__ = (Index("simulation_by_project", "project_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(64), unique=True)  # of `about` and `settings`
    project_id: Mapped[int | None] = mapped_column(ForeignKey("project.id"))  # None: a folder
    about: Mapped[dict]  # the images: where, how many, target, model
    settings: Mapped[dict]  # protocol, batch, rounds, learning, …
    created_at: Mapped[datetime] = mapped_column(default=now)


class SimulationPoint(Base):
    __tablename__ = "simulation_point"

    simulation_id: Mapped[int] = mapped_column(ForeignKey("simulation.id"), primary_key=True)
    strategy: Mapped[str] = mapped_column(String(60), primary_key=True)
    seed: Mapped[int] = mapped_column(primary_key=True)
    round: Mapped[int] = mapped_column(primary_key=True)
    labels: Mapped[int]
    figures: Mapped[dict]
    served: Mapped[str]
    tau: Mapped[float]
    picked: Mapped[list[str]] = mapped_column(JSON)  # paths, in the order asked
