"""`python -m core evaluate`: one split of a project, or the calibration table of a project's or folder's domains."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from core.calibration_table import folder_table, project_table
from core.config import database_url
from core.errors import InputError
from core.evaluation import evaluate_project
from core.projects import find_project
from core.values import Progress
from db.repository import Split
from db.session import open_database


def evaluate(args: Namespace, on_progress: Progress) -> dict:
    """The document of one run. A folder has no model that learned, so it is always told domain by domain."""
    options = {"bins": args.bins, "on_progress": on_progress}
    if args.folder is not None or args.by_domain:
        _check_split(args.split)
    if args.folder is not None:
        return asdict(folder_table(Path(args.folder), model=args.model, seed=args.seed, **options))
    database = open_database(database_url())
    project = find_project(database, args.project)
    if args.by_domain:
        return asdict(project_table(database, project.id, **options))
    options |= {"split": Split(args.split), "draws": args.draws, "seed": args.seed}
    return asdict(evaluate_project(database, project.id, **options))


def _check_split(split: str) -> None:
    if split != Split.TEST:
        raise InputError(
            f"the table by domain is of the test split, and chooses τ and temperature on validation: leave out {split}"
        )
