"""Before images are read: can the model be had, and is there what its posterior needs? Encoding may take hours."""

from __future__ import annotations

from core import rounds
from core.projects import get_project
from db import repository
from db.session import Database


def check_model(model: str) -> None:
    """Raises ModelUnavailable, NoLinearHead, NotReady (no curvature) or FactorMismatch; nothing is written."""
    rounds.factors_for(model, rounds.encoder_for(model))


def check_project(database: Database, project_id: int) -> None:
    """`check_model` of a project whose first round is still to be made; after that, its posterior is there."""
    with database.read() as s:
        is_made = repository.latest_round(s, project_id) is not None
    if not is_made:
        check_model(get_project(database, project_id).model)
