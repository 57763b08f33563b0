"""What the worker can do, by the kind of a job. Each imports what it needs when it runs: an idle worker stays small."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from core.jobs import JobRow
from db.session import Database

if TYPE_CHECKING:
    from core.values import Progress  # at run time it would load torch, which an idle worker has no use for

Handler = Callable[[Database, JobRow, "Progress"], None]


def _prepare(database: Database, job: JobRow, on_progress: Progress) -> None:
    from core.intake import check_project
    from core.rounds import prepare
    from core.sources import Source

    check_project(database, job.project_id)
    source = job.payload.get("source")  # another one on the same folder; else the project's own
    prepare(database, job.project_id, on_progress, source=None if source is None else Source(**source))


def _export(database: Database, job: JobRow, on_progress: Progress) -> None:
    from pathlib import Path

    import torch

    from core.export import export

    torch.set_num_threads(1)
    asked = job.payload
    export(database, job.project_id, asked["format"], Path(asked["folder"]), replace=True, on_progress=on_progress)


def _round(database: Database, job: JobRow, on_progress: Progress) -> None:
    import torch

    from core.rounds import RoundConfig, run_round

    torch.set_num_threads(1)  # small products: beside a busy server two threads take four times as long as one
    run_round(database, job.project_id, RoundConfig(**job.payload), on_progress)


def _gaussians(database: Database, job: JobRow, on_progress: Progress) -> None:
    from core.gaussians import encode_project

    encode_project(database, job.project_id, job.payload["encoder"], on_progress)


def _atlas(database: Database, job: JobRow, on_progress: Progress) -> None:
    import torch

    from core.atlas import build

    torch.set_num_threads(1)
    build(database, job.project_id, on_progress)


def _audit(database: Database, job: JobRow, on_progress: Progress) -> None:
    import torch

    from core.audit import build

    torch.set_num_threads(1)
    build(database, job.project_id, on_progress)


def _simulate(database: Database, job: JobRow, on_progress: Progress) -> None:
    from core.simulation.curve import SimulationConfig
    from core.simulation.study import project_images, run_study, tasks_of
    from db import repository

    asked = job.payload
    with database.read() as s:
        project = repository.project(s, job.project_id)
    run_study(
        database,
        project_images(database, project.id),
        source=project.name,
        target=project.target_domain,
        tasks=tasks_of(asked["strategies"], range(asked["seeds"])),
        config=SimulationConfig(**asked["config"]),
        project_id=project.id,
        on_progress=on_progress,
    )


HANDLERS: Mapping[str, Handler] = {
    "prepare": _prepare,
    "round": _round,
    "gaussians": _gaussians,
    "atlas": _atlas,
    "audit": _audit,
    "export": _export,
    "simulate": _simulate,
}
