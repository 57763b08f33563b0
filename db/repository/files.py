"""What is known of the files of a project's images: to read again only what changed, and to lose no answer by it.

An item is one content. It is gone while that content lies nowhere in the project's folder, and keeps its answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, delete, exists, select, update
from sqlalchemy.orm import Session

from db.dialect import chunks, insert
from db.models import Gold, Item, Label, Problem, Reference, Split
from db.repository.classes import class_map
from db.repository.events import TWINS_KEY

CHANGED = "its content has changed since it was answered"  # how the reason of such a problem begins
_COLUMNS = (Item.id, Item.path, Item.sha256, Item.size, Item.mtime_ns, Item.domain, Item.split, Item.gone_at)


@dataclass(frozen=True, slots=True)
class KnownFile:
    """What is known of an image's file, to tell whether it changed."""

    id: int
    path: str
    sha256: str
    size: int | None
    mtime_ns: int | None
    domain: str | None
    split: Split
    gone_at: datetime | None
    class_id: int | None  # the stated class, as it is now


def files_at(s: Session, project_id: int, paths: Sequence[str]) -> dict[str, KnownFile]:
    """The image that is at each of these paths, where one is."""
    query = _files(project_id).where(Item.gone_at.is_(None))
    return {file.path: file for some in chunks(paths) for file in _known(s, project_id, query, Item.path, some)}


def files_like(s: Session, project_id: int, sha256s: Sequence[str]) -> dict[str, list[KnownFile]]:
    """The images of each of these contents, also those that are gone, by id."""
    found: dict[str, list[KnownFile]] = {}
    for some in chunks(list(dict.fromkeys(sha256s))):
        for file in _known(s, project_id, _files(project_id), Item.sha256, some):
            found.setdefault(file.sha256, []).append(file)
    return found


def files_after(s: Session, project_id: int, after: int, limit: int = 2000) -> list[tuple[int, str]]:
    """(id, path) of the next images that are there, by id."""
    query = select(Item.id, Item.path).where(Item.project_id == project_id, Item.gone_at.is_(None), Item.id > after)
    return [(item_id, path) for item_id, path in s.execute(query.order_by(Item.id).limit(limit))]


def set_gone(s: Session, item_ids: Sequence[int], at: datetime) -> None:
    """The content of these images lies there no more."""
    for some in chunks(item_ids):
        s.execute(select(Item.id).where(Item.id.in_(some)).order_by(Item.id).with_for_update())
        s.execute(update(Item).where(Item.id.in_(some)).values(gone_at=at))


def gone_since(s: Session, project_id: int, at: datetime) -> list[tuple[int, str]]:
    """(id, path) of the images that an import found gone at this time and that did not turn up elsewhere."""
    query = select(Item.id, Item.path).where(Item.project_id == project_id, Item.gone_at == at).order_by(Item.id)
    return [(item_id, path) for item_id, path in s.execute(query)]


def place(s: Session, item_id: int, path: str, size: int, mtime_ns: int, phash: int | None) -> None:
    """The image lies at this path now, which must be free."""
    known = {"path": path, "size": size, "mtime_ns": mtime_ns, "gone_at": None}
    known |= {} if phash is None else {"phash": phash}
    s.execute(update(Item).where(Item.id == item_id).values(**known))


def restate(s: Session, rows: Iterable[tuple[int, str | None, Split | str]]) -> None:
    """Other domains and splits of images: (item, domain, split)."""
    values = [{"id": item_id, "domain": domain, "split": Split(split)} for item_id, domain, split in rows]
    if values:
        s.execute(update(Item), values)  # each by its id


def state(s: Session, classes: Mapping[int, int]) -> None:
    """The class id that the source states of images, in place of what it stated before."""
    for some in chunks(list(classes.items())):
        statement = insert(s, Reference)
        newest = {"class_id": statement.excluded.class_id}
        statement = statement.on_conflict_do_update(index_elements=["item_id"], set_=newest)
        s.execute(statement, [{"item_id": item_id, "class_id": class_id} for item_id, class_id in some])


def with_history(s: Session, item_ids: Collection[int]) -> set[int]:
    """Those of these images that somebody said anything of, or whose answer is known."""
    found: set[int] = set()
    for some in chunks(sorted(item_ids)):
        said = exists().where(Label.project_id == Item.project_id, Label.item_id == Item.id) | exists().where(
            Gold.item_id == Item.id
        )
        found |= set(s.scalars(select(Item.id).where(Item.id.in_(some), said)))
    return found


def prints(s: Session, project_id: int) -> list[tuple[int, str, int | None, Split]]:
    """(id, sha256, perceptual hash, split) of every image that is there, by id."""
    query = select(Item.id, Item.sha256, Item.phash, Item.split).where(Item.project_id == project_id)
    rows = s.execute(query.where(Item.gone_at.is_(None)).order_by(Item.id))
    return [(item_id, sha256, phash, split) for item_id, sha256, phash, split in rows]


def spoken_of(s: Session, project_id: int, item_ids: Collection[int]) -> set[int]:
    """Those of these images that somebody said something of, not of a duplicate alone."""
    direct = (Label.project_id == project_id, ~Label.event_key.startswith(TWINS_KEY, autoescape=True))
    query = select(Label.item_id).where(*direct)
    return {each for some in chunks(sorted(item_ids)) for each in s.scalars(query.where(Label.item_id.in_(some)))}


def forget_problems(s: Session, project_id: int, paths: Sequence[str]) -> None:
    """The files at these paths are in order again."""
    for some in chunks(paths):
        s.execute(delete(Problem).where(Problem.project_id == project_id, Problem.path.in_(some)))


def forget_answered_changes(s: Session, project_id: int) -> None:
    """No warning any more of a changed file whose new content was answered too."""
    here = (Item.project_id == project_id, Item.path == Problem.path, Item.gone_at.is_(None))
    answered = exists().where(*here, exists().where(Label.project_id == Item.project_id, Label.item_id == Item.id))
    mine = (Problem.project_id == project_id, Problem.reason.startswith(CHANGED, autoescape=True))
    s.execute(delete(Problem).where(*mine, answered).execution_options(synchronize_session=False))


def _files(project_id: int) -> Select:
    query = select(*_COLUMNS, Reference.class_id).outerjoin(Reference, Reference.item_id == Item.id)
    return query.where(Item.project_id == project_id).order_by(Item.id)


def _known(s: Session, project_id: int, query: Select, column, values: Sequence[str]) -> list[KnownFile]:
    means = class_map(s, project_id)
    rows = s.execute(query.where(column.in_(values)))
    return [
        KnownFile(**{**row._mapping, "class_id": means[row.class_id].id if row.class_id in means else None})
        for row in rows
    ]
