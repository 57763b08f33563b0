"""What the views of the Team page share: the way between them, pages of images, one image with all that was said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import pandas as pd
import streamlit as st

from db import repository
from db.repository import ItemRow, LabelKind, LabelRow, ProjectRow, Role
from pages.components.explore import image_grid
from pages.parts.explore_grid import whole_number
from pages.parts.routes import url
from pages.parts.state import database, go
from pages.parts.text import count, escape
from pages.parts.who import may, require_person

VIEW = "team-view"  # which of the page's views is open
PAGE = 12  # images on a page
UNUSABLE = "unusable"
KINDS = {
    LabelKind.ANSWER: "answer",
    LabelKind.SKIP: UNUSABLE,
    LabelKind.UNUSABLE: UNUSABLE,
    LabelKind.LATER: "later",
    LabelKind.UNDO: "taken back",
}
NOT_YOURS = {  # for an annotator, why a view is not theirs
    "agreement": "How far people agree tells what each of them says: reviewers and owners see it. "
    "Your own figures are under People.",
    "review": "Reviewers and owners decide here where answers differ. They see what everybody said; who labels is not "
    "to, or answers would follow each other. An owner can make you a reviewer, under People.",
    "flags": "Reviewers and owners settle flags. Flag an image while labelling, with a note: it arrives here.",
    "gold": "Reviewers and owners mark gold here: images whose class is known, mixed in to check answers. Who is "
    "checked does not see which they are.",
}
_PICTURE = (
    '<img src="{}" alt="The image" style="display:block;width:100%;aspect-ratio:{}/{};max-height:62vh;'
    'object-fit:contain;object-position:left top">'
)
_THUMBNAIL = '<img src="{}" alt="" loading="lazy" style="width:100%;aspect-ratio:1;object-fit:cover;border-radius:8px">'

T = TypeVar("T")


def open_view(view: str) -> None:
    """For a button's on_click: another view of this page."""
    st.session_state[VIEW] = view


def picture(item: ItemRow) -> str:
    """One image as large as fits, in a place that is kept while it loads, as HTML: no person's words are in it."""
    return _PICTURE.format(url(item.sha256, 1600), item.width, item.height)


def thumbnail(sha256: str) -> str:
    """One small image, square, as HTML."""
    return _THUMBNAIL.format(url(sha256, 256))


def paged(key: str, read: Callable[[int, int], tuple[int, Sequence[T]]], size: int = PAGE) -> tuple[int, Sequence[T]]:
    """How many there are, and those of the page that is chosen; `read(offset, limit)` asks the database for both."""
    total, rows = read(0, size)
    pages = -(-total // size)
    if pages > 1:
        page = st.pagination(pages, key=f"{key}-of-{pages}")
        rows = rows if page == 1 else read((page - 1) * size, size)[1]
    return total, rows


def tile(item_id: int, sha256: str, text: str, note: str = "", tone: str = "") -> dict:
    """A thumbnail for `image_grid`; the texts are shown letter by letter."""
    return {"id": item_id, "src": url(sha256, 256), "text": text, "note": note, "tone": tone}


def clicked(key: str, tiles: Sequence[dict]) -> int | None:
    """Show thumbnails; the id of the one that was clicked just now."""
    return whole_number(image_grid(key=key, data={"tiles": tiles}, on_open_change=lambda: None).get("open"))


def look_at(project: ProjectRow, item_id: int | None) -> None:
    """Open one image over the page, if it is the project's."""
    if item_id is not None:
        with database().read() as session:
            rows = repository.items_by_id(session, project.id, [item_id])
        if rows:
            _dialog(project, rows[0])


@st.dialog("Image", width="large")
def _dialog(project: ProjectRow, item: ItemRow) -> None:
    st.html(picture(item))
    history(project, item.id)
    if st.button("Open in Explore", icon=":material/explore:", type="tertiary"):
        go("explore", project.id, image=str(item.id))


def history(project: ProjectRow, item_id: int) -> None:
    """Every event on an image, newest first; to annotators their own alone."""
    me, _ = require_person()
    with database().read() as session:
        names = repository.class_names(session, project.id)
        rows = [row for row in repository.history(session, item_id) if may(Role.REVIEWER) or row.person_id == me]
    st.markdown(f"**History** :gray[{count(len(rows), 'event')}, newest first; nothing is ever deleted]")
    if rows:
        lines = [_line(row, names) for row in reversed(rows)]
        when = {"when": st.column_config.DatetimeColumn(format="distance")}
        st.dataframe(pd.DataFrame(lines), hide_index=True, width="stretch", column_config=when, placeholder="")


def _line(row: LabelRow, names: dict[int, str]) -> dict:
    return {
        "when": row.created_at,
        "who": row.person,
        "what": "review" if row.source == repository.REVIEW else KINDS[row.kind],
        "class": names.get(row.class_id or 0, UNUSABLE if row.kind in (LabelKind.SKIP, LabelKind.UNUSABLE) else ""),
        "asked by": row.source,
        "model": row.round_number,
        "guess then": names.get(row.suggested_class_id or 0, ""),
        "guess seen": row.suggestion_seen,
        "seconds": None if row.lead_ms is None else row.lead_ms / 1000,
    }


def named(project: ProjectRow, class_id: int | None) -> str:
    """A class's name as it is now, or that the image is unusable; not escaped."""
    return next((each.name for each in project.classes if each.id == class_id), UNUSABLE)


def csv_button(table: Callable[[], pd.DataFrame], name: str) -> None:
    """The way to take a table along; it is made when asked for."""
    st.download_button(
        "CSV",
        lambda: table().to_csv(index=False).encode(),
        f"{name}.csv",
        "text/csv",
        key=f"csv-{name}",
        on_click="ignore",
        icon=":material/download:",
        type="tertiary",
    )


def owners_only() -> None:
    """Why what is here cannot be changed by who looks."""
    st.caption(":material/lock: Owners change this; you can see it.")


def class_of(names: dict[int, str], class_id: int | None) -> str:
    """The last name of any class there ever was; not escaped."""
    return names.get(class_id or 0, UNUSABLE)


def empty(words: str, button: str, view: str | None = None, page: str = "", project_id: int = 0) -> None:
    """Why there is nothing here, and the next step: another view, or another page on the project."""
    st.write(words)
    if view is not None:
        st.button(button, type="primary", on_click=open_view, args=(view,))
    elif st.button(button, type="primary"):
        go(page, project_id)


def bullets(lines: Sequence[str]) -> None:
    """Lines of Markdown, as a list."""
    st.markdown("\n".join(f"- {line}" for line in lines))


def strong(name: str) -> str:
    """Anyone's text, bold, letter by letter."""
    return f"**{escape(name)}**"
