"""Images of a project, the problems found with files, and what the folder states about classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import NotNullable, Select, delete, func, select, text
from sqlalchemy.orm import Session

from db.dialect import chunks, insert
from db.models import Item, Label, Problem, Project, Reference, Split
from db.repository.classes import class_by_name, class_map
from db.repository.consensus import standing_ids
from db.repository.rows import ItemRow, NewItem, ProblemRow

_COLUMNS = (
    Item.id,
    Item.path,
    Item.sha256,
    Item.domain,
    Item.width,
    Item.height,
    Item.split,
    Item.project_id,
    Item.gone_at,
)
_HERE = text("gone_at IS NULL")


def add_items(s: Session, project_id: int, rows: Iterable[NewItem]) -> None:
    """Add images or, at a known path, renew them; a problem noted at the path is gone.

    Raises LookupError for a class that the project lacks, ValueError for an unknown split.
    """
    classes = class_by_name(s, project_id)
    for some in chunks(list({row.path: row for row in rows}.values())):
        ids = _upsert(s, project_id, some)
        stated = {ids[row.path]: _class_id(classes, row) for row in some if row.class_name is not None}
        _state(s, list(ids.values()), stated)
        s.execute(delete(Problem).where(Problem.project_id == project_id, Problem.path.in_(ids)))


def _upsert(s: Session, project_id: int, rows: Sequence[NewItem]) -> dict[str, int]:
    values = [
        {
            "project_id": project_id,
            "path": row.path,
            "sha256": row.sha256,
            "domain": row.domain,
            "width": row.width,
            "height": row.height,
            "split": Split(row.split),
            "size": row.size,
            "mtime_ns": row.mtime_ns,
            "phash": row.phash,
        }
        for row in rows
    ]
    here = (Item.project_id == project_id, Item.path.in_([row.path for row in rows]), Item.gone_at.is_(None))
    s.execute(select(Item.id).where(*here).order_by(Item.id).with_for_update())  # in the order that `record` locks in
    statement = insert(s, Item)
    renewed = {name: statement.excluded[name] for name in values[0] if name not in ("project_id", "path")}
    statement = statement.on_conflict_do_update(index_elements=["project_id", "path"], index_where=_HERE, set_=renewed)
    s.execute(statement, values)  # a list beside the statement: compiled once for all runs
    ids = select(Item.path, Item.id).where(*here)
    return dict(s.execute(ids).all())


def _state(s: Session, item_ids: Sequence[int], classes: dict[int, int]) -> None:
    s.execute(delete(Reference).where(Reference.item_id.in_(item_ids)))
    if classes:
        rows = [{"item_id": item_id, "class_id": class_id} for item_id, class_id in classes.items()]
        s.execute(insert(s, Reference), rows)


def _class_id(classes: dict[str, int], row: NewItem) -> int:
    if row.class_name not in classes:
        raise LookupError(f"{row.path}: the project has no class “{row.class_name}”, it has {', '.join(classes)}")
    return classes[row.class_name]


def add_problems(s: Session, project_id: int, rows: Iterable[tuple[str, str]]) -> None:
    """Note for each path why its file could not be taken in; a path's newest reason counts."""
    for some in chunks(list(dict(rows).items())):
        values = [{"project_id": project_id, "path": path, "reason": reason} for path, reason in some]
        statement = insert(s, Problem)
        newest = {"reason": statement.excluded.reason}
        s.execute(statement.on_conflict_do_update(index_elements=["project_id", "path"], set_=newest), values)


def problems(s: Session, project_id: int) -> list[ProblemRow]:
    """Files that could not be taken in, by path."""
    query = select(Problem.path, Problem.reason).where(Problem.project_id == project_id).order_by(Problem.path)
    return [ProblemRow(*row) for row in s.execute(query)]


def items(s: Session, project_id: int, split: Split | str | None = None) -> list[ItemRow]:
    """The project's images, or those of one split, by id; also those that are gone."""
    query = select(*_COLUMNS).where(Item.project_id == project_id).order_by(Item.id)
    if split is not None:
        query = query.where(Item.split == Split(split))
    return [ItemRow(*row) for row in s.execute(query)]


def items_after(s: Session, project_id: int, after: int, limit: int) -> list[ItemRow]:
    """The next images by id; also those that are gone."""
    query = select(*_COLUMNS).where(Item.project_id == project_id, Item.id > after).order_by(Item.id).limit(limit)
    return [ItemRow(*row) for row in s.execute(query)]


def pool_size(s: Session, project_id: int) -> int:
    """Number of pool images that are there."""
    where = (Item.project_id == project_id, Item.split == Split.POOL, Item.gone_at.is_(None))
    return s.scalars(select(func.count()).select_from(Item).where(*where)).one()


def item(s: Session, item_id: int) -> ItemRow:
    """One image. Raises LookupError where there is none."""
    row = s.execute(select(*_COLUMNS).where(Item.id == item_id)).one_or_none()
    if row is None:
        raise LookupError(f"there is no image {item_id}")
    return ItemRow(*row)


def domains(s: Session, project_id: int) -> dict[str | None, int]:
    """Number of images that are there by domain."""
    query = select(Item.domain, func.count()).where(Item.project_id == project_id, Item.gone_at.is_(None))
    query = query.group_by(Item.domain)
    return dict(s.execute(query.order_by(Item.domain.nulls_first())).all())


def path_of(s: Session, sha256: str) -> list[tuple[str, str]]:
    """(root, path) of every file with this content, in projects that were not deleted."""
    query = select(Project.root, Item.path).join(Item, Item.project_id == Project.id).order_by(Item.id)
    here = (Item.sha256 == sha256, Item.gone_at.is_(None), Project.archived_at.is_(None))
    found = s.execute(query.where(*here))
    return [(root, path) for root, path in found]


def reference(s: Session, project_id: int) -> dict[int, int]:
    """Class position by item, as the folder states it: for the oracle and exports, never for a ranking."""
    return _reference(s, project_id)


def stated(s: Session, project_id: int, item_ids: Sequence[int]) -> dict[int, int]:
    """The class id that the source states of these images, as it is now: for exports, never for a ranking."""
    means = class_map(s, project_id)
    query = select(Reference.item_id, Reference.class_id)
    rows = [row for some in chunks(item_ids) for row in s.execute(query.where(Reference.item_id.in_(some)))]
    return {item_id: means[class_id].id for item_id, class_id in rows if class_id in means}


def measured(s: Session, project_id: int, split: Split | str) -> dict[int, int]:
    """Class position by item of a split that measures: a person's standing answer, else what the folder states.

    Raises ValueError for the pool, whose classes nobody may look up.
    """
    split = Split(split)
    if split == Split.POOL:
        raise ValueError("the pool's classes are hidden: only validation and test measure")
    mine = (Item.project_id == project_id, Item.split == split)
    among = select(Item.id).where(*mine)
    answered = select(Label.item_id, NotNullable(Label.class_id)).where(Label.class_id.is_not(None))
    answered = answered.where(Label.id.in_(standing_ids(s, project_id, among=among)))
    return _reference(s, project_id, *mine) | _positions(s, project_id, answered)


def _reference(s: Session, project_id: int, *conditions) -> dict[int, int]:
    query = select(Reference.item_id, Reference.class_id).join(Item, Item.id == Reference.item_id)
    return _positions(s, project_id, query.where(Item.project_id == project_id, *conditions))


def _positions(s: Session, project_id: int, query: Select) -> dict[int, int]:
    """Position by item, from (item, class id as it was given); what is of a class deleted since is left out."""
    means = class_map(s, project_id)
    return {item_id: means[class_id].position for item_id, class_id in s.execute(query) if class_id in means}
