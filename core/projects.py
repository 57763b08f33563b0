"""A project and its images: made on a folder, found by name, filled with what the folder holds."""

from __future__ import annotations

from pathlib import Path

from core.class_texts import prompts as prompts
from core.data.scan import FoundFile, Ignored, assign_splits
from core.errors import InputError, TooFewClasses, UnknownName
from core.features import chunks
from core.storage import is_remote, read_files, scan_root
from core.values import Progress, silent
from db import repository
from db.repository import NewItem, ProjectRow
from db.session import Database

DEFAULT_PROMPT = "a photo of a {class}"
ITEMS_AT_ONCE = 512


def create_from_folder(
    database: Database,
    *,
    name: str,
    folder: Path | str,
    model: str = "mini",
    prompt: str = DEFAULT_PROMPT,
    target_domain: str | None = None,
    seed: int = 0,
    classes: tuple[str, ...] | None = None,
    drawn: bool = False,
) -> int:
    """A project on a folder of images, with its classes; `prepare` takes the images in. Returns the project's id.

    `classes` None takes them from the folders. Raises InputError, TooFewClasses or UnknownName, with nothing written.
    """
    root = str(folder) if is_remote(str(folder)) else str(Path(folder).resolve())
    scan = scan_root(root)
    classes = tuple(classes or scan.classes)
    if len(classes) < 2:
        raise TooFewClasses(_too_few(folder, classes))
    if not scan.files:
        raise InputError(f"{folder} holds no image: jpg, jpeg, png, webp, bmp, tiff and gif are read")
    if target_domain is not None and target_domain not in scan.domains:
        known = ", ".join(scan.domains) or "none"
        raise UnknownName(f"no domain {target_domain!r} in {folder}; its domains: {known}")
    if "{class}" not in prompt:
        raise InputError(f"the prompt {prompt!r} has no {{class}} in it, where the class name goes")
    with database.write() as s:
        try:
            return repository.create_project(
                s,
                name=name,
                root=root,
                model=model,
                prompt=prompt,
                classes=classes,
                target_domain=target_domain,
                seed=seed,
                drawn=drawn,
            )
        except ValueError as error:
            raise InputError(str(error)) from error


def _too_few(folder: Path | str, classes: tuple[str, ...]) -> str:
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


def take_in(database: Database, project: ProjectRow, on_progress: Progress = silent) -> None:
    """Read the images of the project's folder that it does not have yet; those that cannot be read become problems."""
    with database.read() as s:
        there = {item.path for item in repository.items(s, project.id)}
        names = set(repository.class_by_name(s, project.id))
    scan = scan_root(project.root)
    new = [found for found in scan.files if found.path not in there]
    with database.write() as s:
        repository.add_problems(s, project.id, [_left_out(each) for each in scan.ignored if each.is_image])
    for some in chunks(read_files(project.root, new, on_progress=on_progress), ITEMS_AT_ONCE):
        good = [each for each in some if each.info is not None]
        splits = assign_splits([each.info.sha256 for each in good], seed=project.seed)
        rows = [_new_item(each.found, each.info, split, names) for each, split in zip(good, splits, strict=True)]
        with database.write() as s:
            repository.add_items(s, project.id, rows)
            repository.add_problems(s, project.id, [(e.found.path, e.reason) for e in some if e.info is None])


def _left_out(ignored: Ignored) -> tuple[str, str]:
    more = f" ({ignored.count - 1} more of the kind)" if ignored.count > 1 else ""
    return ignored.path, ignored.reason + more


def _new_item(found: FoundFile, info, split, names: set[str]) -> NewItem:
    known = found.class_name if found.class_name in names else None
    return NewItem(found.path, info.sha256, found.domain, info.width, info.height, split, known)
