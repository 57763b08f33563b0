"""The demo project: images drawn by the program, so that a fresh machine has something to rank and label."""

from __future__ import annotations

from core.config import home
from core.data.demo import DEMO_CLASSES, draw_demo
from core.projects import create_from_folder
from core.rounds import prepare
from core.values import Progress, silent
from db import repository
from db.session import Database

NAME = "Demo: drawn objects"
TARGET = "painting"


def make_demo_project(database: Database, on_progress: Progress = silent) -> int:
    """Draw the images, make the project, take them in and rank them, as far as that is not done; returns its id."""
    with database.read() as s:
        there = next((project.id for project in repository.projects(s) if project.name == NAME), None)
        if there is not None and repository.latest_round(s, there) is not None:
            return there
    folder = draw_demo(home() / "demo", on_progress=on_progress)
    project_id = there or create_from_folder(
        database, name=NAME, folder=folder, target_domain=TARGET, classes=DEMO_CLASSES, drawn=True
    )
    prepare(database, project_id, on_progress)
    return project_id
