"""A project: made on a source of images, found by name. What the source holds is taken in by core/importing.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core import sources
from core.class_texts import prompts as prompts
from core.data.dataset import Dataset
from core.errors import InputError, TooFewClasses, UnknownName
from core.sources import Source
from db import repository
from db.repository import ProjectRow
from db.session import Database

DEFAULT_PROMPT = "a photo of a {class}"


def create_from_folder(database: Database, *, name: str, folder: Path, **settings: Any) -> int:
    """`create` on a folder of images, whose folders name the classes."""
    return create(database, name=name, source=Source(str(folder)), **settings)


def create(
    database: Database,
    *,
    name: str,
    source: Source,
    model: str = "mini",
    prompt: str = DEFAULT_PROMPT,
    target_domain: str | None = None,
    seed: int = 0,
    classes: tuple[str, ...] | None = None,
    drawn: bool = False,
) -> int:
    """A project on a source, with its classes; `prepare` takes the images in. Returns the project's id.

    `classes` None takes them from the source. Raises InputError, TooFewClasses or UnknownName, with nothing written.
    """
    dataset = sources.open_source(source)
    classes = tuple(classes or sources.classes_of(dataset))
    if len(classes) < 2:
        raise TooFewClasses(_too_few(source.path, classes))
    _check(dataset, source, target_domain)
    if "{class}" not in prompt:
        raise InputError(f"the prompt {prompt!r} has no {{class}} in it, where the class name goes")
    root = sources.root_of(source, dataset)
    with database.write() as s:
        try:
            return repository.create_project(
                s,
                name=name,
                root=str(root),
                model=model,
                prompt=prompt,
                classes=classes,
                target_domain=target_domain,
                seed=seed,
                drawn=drawn,
                source=source.as_json(),
            )
        except ValueError as error:
            raise InputError(str(error)) from error


def _check(dataset: Dataset, source: Source, target_domain: str | None) -> None:
    """Whether there is an image, and one of the target domain."""
    domains: set[str] = set()
    empty = True
    for record in dataset.records:
        empty = False
        if target_domain is None:
            break
        domains |= {record.domain} if record.domain else set()
    if empty:
        raise InputError(f"{source.path} holds no image: jpg, jpeg, png, webp, bmp, tiff and gif are read")
    if target_domain is not None and target_domain not in domains:
        known = ", ".join(sorted(domains)) or "none"
        raise UnknownName(f"no domain {target_domain!r} in {source.path}; its domains: {known}")


def _too_few(folder: str, classes: tuple[str, ...]) -> str:
    came = f"only {classes[0]!r}" if classes else "none"
    example = ",".join([*classes, "second name"] if classes else ["first name", "second name"])
    return (
        f"a project tells 2 classes or more apart, and for {folder} there is {came}: name all of them yourself "
        f'(--classes "{example}"), or give the folder that has a folder for each class'
    )


def get_project(database: Database, project_id: int) -> ProjectRow:
    """The project; raises UnknownName."""
    with database.read() as s:
        try:
            return repository.project(s, project_id)
        except LookupError as error:
            raise UnknownName(str(error)) from error


def find_project(database: Database, name: str) -> ProjectRow:
    """The project of this name; raises UnknownName, naming those that exist."""
    with database.read() as s:
        try:
            return repository.project_by_name(s, name)
        except LookupError as error:
            known = ", ".join(repr(project.name) for project in repository.projects(s)) or "none yet"
            raise UnknownName(f"no project {name!r}; there are: {known}") from error
