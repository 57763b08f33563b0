"""A small project in a database of its own."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from db.repository import NewItem, add_items, create_project, items, person, project
from db.session import Database


@dataclass(frozen=True)
class Small:
    """12 items: 8 in the pool, 2 validation, 2 test; the folder says cat, dog, cow, cat, …"""

    id: int
    items: list[int]
    classes: list[int]
    ada: int
    bo: int


@pytest.fixture
def small(database) -> Small:
    return make_small(database)


def make_small(database: Database, name: str = "small", pool: int = 8) -> Small:
    names = ["cat", "dog", "cow"]
    splits = ["pool"] * pool + ["validation"] * 2 + ["test"] * 2
    rows = [
        NewItem(f"{names[i % 3]}/{i}.png", f"{i:064x}", ["photo", None][i % 2], 32, 24, split, names[i % 3])
        for i, split in enumerate(splits)
    ]
    with database.write() as s:
        made = create_project(s, name=name, root="/images", model="mini", prompt="a {class}", classes=names)
        add_items(s, made, rows)
        ids = [row.id for row in items(s, made)]
        classes = [each.id for each in project(s, made).classes]
        return Small(made, ids, classes, person(s, "Ada"), person(s, "Bo"))
