"""Export of a project: what a format cannot hold is said before, then it is written and can be fetched."""

from __future__ import annotations

import streamlit as st

from core.data import formats
from core.data.formats import FORMATS, Format
from core.errors import PenumbraError
from core.export import dataset_of
from db import repository
from db.repository import ProjectRow, Role
from pages.parts import working
from pages.parts.export_place import Export, finished, folder_of
from pages.parts.export_routes import address
from pages.parts.state import database
from pages.parts.text import ago, escape
from pages.parts.who import require

SHOW = "export"  # of ?show= in the address
_LINK = (
    '<a href="{}" download target="_self" style="display:inline-block;padding:.35rem .9rem;border-radius:.5rem;'
    'border:1px solid rgba(128,128,128,.45);color:inherit;text-decoration:none">Download the zip</a>'
)


def export_page(project: ProjectRow) -> None:
    """The whole page; owners only."""
    require(Role.OWNER)
    title, leave = st.columns([6, 1], vertical_alignment="center")
    title.title(f"Export {escape(project.name)}")
    if leave.button("Back", icon=":material/arrow_back:", type="tertiary"):
        close()
        st.rerun()
    left, right = st.columns([5, 6], gap="large")
    with left:
        chosen = _format()
    with right:
        _lost(project, chosen)
        _write(project, chosen)


def open_(project: ProjectRow) -> None:
    st.query_params.update({"project": str(project.id), "show": SHOW})


def close() -> None:
    st.query_params.pop("show", None)


def _format() -> Format:
    writable = [each for each in FORMATS.values() if each.write is not None]
    name = st.radio(
        "Format",
        [each.name for each in writable],
        format_func=lambda each: FORMATS[each].title,
        captions=[each.what for each in writable],
        key="export-format",
    )
    return FORMATS[name]


def _lost(project: ProjectRow, chosen: Format) -> None:
    """What the export will not hold, before it is made."""
    st.markdown(f"##### {chosen.title} cannot hold")
    with database().read() as session:
        now = repository.last_label_id(session, project.id)
    try:
        with st.spinner("Looking what would be lost …"):
            sentences = _sentences(database().url, project.id, chosen.name, (now, project.class_version))
    except PenumbraError as error:
        st.error(escape(str(error)))
        return
    if sentences:
        st.markdown("\n".join(f"- {escape(each)}" for each in sentences))
    else:
        st.markdown(":material/check: Nothing is lost: it holds all that is known.")


@st.cache_data(max_entries=32, ttl=300, show_spinner=False)
def _sentences(url: str, project_id: int, name: str, as_of: tuple[int, int]) -> list[str]:
    return formats.lost(dataset_of(database(), project_id), FORMATS[name])


def _write(project: ProjectRow, chosen: Format) -> None:
    if row := working.current(project.id, "export"):
        working.show_progress(row)
        return
    before = finished(project, chosen.name)
    if st.button(f"Export as {chosen.title}", type="primary", icon=":material/download:", key="export-start"):
        working.start(project.id, "export", {"format": chosen.name, "folder": str(folder_of(project, chosen.name))})
        st.rerun()
    last = working.last(project.id, "export")
    if last is not None and last.payload.get("format") == chosen.name:
        working.show_failure(last)
    if before is not None:
        _finished(project, chosen, before)


def _finished(project: ProjectRow, chosen: Format, export: Export) -> None:
    st.divider()
    st.markdown(f"**Exported {ago(export.made_at)}**")
    st.caption("It lies on the server here; exported again, it is replaced.")
    st.code(str(export.folder), language=None)
    st.html(_LINK.format(address(project, chosen.name)))
    with st.expander("Manifest", icon=":material/receipt_long:"):
        st.json(export.manifest, expanded=1)
