"""A person's keys on the desk: read from what is kept of them, and changed as the desk asks. No Streamlit here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from core import keys
from core.errors import InputError
from core.keys import Board, Keys
from db import repository
from db.repository import ProjectRow
from db.session import Database

KEPT = "keys"  # in the person's preferences


def keys_for(database: Database, project: ProjectRow, person_id: int) -> Keys:
    with database.read() as session:
        stored = repository.person_row(session, person_id).preferences.get(KEPT, {})
        return keys.keys_of(stored, _board(session, project))


def told(found: Keys) -> dict:
    """The keys as the desk takes them; classes as pairs, as JSON has no numbers for names."""
    return {"acts": found.acts, "classes": list(found.classes.items()), "typing": found.typing}


def change(database: Database, project: ProjectRow, person_id: int, ask: Mapping[str, Any]) -> str:
    """Do what the desk asks; "" where it is done, else why not, in words for the person."""
    made = _CHANGES.get(str(ask.get("do")))
    if made is None:
        return "this cannot be asked"
    try:
        with database.write() as session:
            kept = repository.person_row(session, person_id).preferences
            stored = made(kept.get(KEPT, {}), _board(session, project), ask)
            repository.set_preferences(session, person_id, {**kept, KEPT: stored})
    except InputError as error:
        return str(error)
    return ""


def _board(session, project: ProjectRow) -> Board:
    names = {each.id: each.name for each in project.classes}
    return Board(project.id, names, repository.class_names(session, project.id))


_Change = Callable[[Mapping, Board, Mapping[str, Any]], dict]
_CHANGES: dict[str, _Change] = {
    "act": lambda stored, board, ask: keys.with_act(stored, board, ask.get("act"), ask.get("key")),
    "class": lambda stored, board, ask: keys.with_class(stored, board, ask.get("class"), ask.get("key")),
    "typing": lambda stored, board, ask: keys.with_typing(stored, board, ask.get("on") is True),
    "usual": lambda stored, board, ask: keys.usual(stored, board),
}
