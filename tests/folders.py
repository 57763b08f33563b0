"""Folders of tiny images and projects on them, taken in without any model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from core import importing
from core.changes import Changes
from core.projects import create, get_project
from core.sources import Source
from db import repository
from db.repository import ItemRow, NewLabel
from db.session import Database


def picture(path: Path, number: int, side: int = 48) -> Path:
    """One image of its own, the same whenever it is drawn: rough noise, so that no two are nearly alike."""
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(number).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    Image.fromarray(noise).resize((side, side), Image.Resampling.NEAREST).save(path)
    return path


def folder_of(root: Path, images: int = 6, classes: tuple[str, ...] = ("cat", "dog")) -> Path:
    """`images` images in turn in a folder for each class."""
    for number in range(images):
        picture(root / classes[number % len(classes)] / f"{number}.png", number)
    return root


def project_on(database: Database, source: Source | Path, name: str = "p", **settings) -> int:
    """A project whose images are taken in."""
    source = source if isinstance(source, Source) else Source(str(source))
    project = create(database, name=name, source=source, **settings)
    take_in(database, project)
    return project


def take_in(database: Database, project: int, **options) -> Changes:
    return importing.take_in(database, get_project(database, project), **options)


def items(database: Database, project: int) -> dict[str, ItemRow]:
    """Images that are there, by path."""
    with database.read() as s:
        return {item.path: item for item in repository.items(s, project) if item.gone_at is None}


def say(database: Database, project: int, item: int, name: str, person: str = "Ada", key: str = "") -> None:
    """An answer, as from a desk."""
    with database.write() as s:
        who, class_id = repository.person(s, person), repository.class_by_name(s, project)[name]
        event = NewLabel(key or f"{person}:{item}:{name}", item, "answer", class_id, source="epig")
        assert all(each.accepted for each in repository.record(s, project, who, [event]))


def stands(database: Database, project: int) -> dict[int, str]:
    """The class that stands by image."""
    with database.read() as s:
        names = repository.class_names(s, project)
        return {row.item_id: names[row.class_id] for row in repository.standing(s, project) if row.class_id}


def problems(database: Database, project: int) -> dict[str, str]:
    with database.read() as s:
        return {row.path: row.reason for row in repository.problems(s, project)}
