"""`python -m core simulate`: curves of a folder or a project, kept in the database, and the table of what they show."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from core.errors import InputError
from core.projects import find_project, get_project
from core.simulation.curve import SimulationConfig
from core.simulation.images import Images, load_images
from core.simulation.strategies import STRATEGIES
from core.simulation.study import points_of, project_images, run_study, tasks_of, write_points
from core.simulation.summary import table
from core.values import Progress
from db.session import Database

FIGURES = ("accuracy", "weighted_accuracy", "balanced_accuracy", "nlpd", "ece")


def simulate(database: Database, args: Namespace, on_progress: Progress) -> dict:
    """Compute what is not stored yet, then a table of each figure over the strategies asked for."""
    if args.out is not None and args.out.suffix not in (".csv", ".parquet"):
        raise InputError(f"{args.out.name!r} is neither a .csv nor a .parquet file")
    names = tuple(STRATEGIES) if args.strategies == ("all",) else args.strategies
    tasks = tasks_of(names, range(args.seeds))
    config = SimulationConfig(args.protocol, args.validation, batch=args.batch, rounds=args.rounds)
    images, target, project_id = _source(database, args, on_progress)
    key = run_study(
        database,
        images,
        source=args.source,
        target=target,
        tasks=tasks,
        config=config,
        project_id=project_id,
        workers=args.workers,
        on_progress=on_progress,
    )
    points = [point for point in points_of(database, key) if (point.strategy, point.seed) in {*tasks}]
    if args.out is not None:
        write_points(points, args.out)
    about = {"simulation": key, "source": args.source, "target": target, "split": "test", "seeds": args.seeds}
    about |= {"protocol": args.protocol, "validation": args.validation, "bins": config.learning.bins}
    return about | {figure: [asdict(row) for row in table(points, figure)] for figure in FIGURES}


def _source(database: Database, args: Namespace, on_progress: Progress) -> tuple[Images, str | None, int | None]:
    """Images, target and project: of a folder if there is one of this name, else of the project."""
    if Path(args.source).is_dir():
        images = load_images(Path(args.source), target=args.target, model=args.model, on_progress=on_progress)
        return images, args.target, None
    found = find_project(database, args.source)
    project = get_project(database, found.id)
    target = args.target or project.target_domain
    return project_images(database, project.id), target, project.id
