"""The images of a project: what the last import changed, what is there twice, and labels from one more file."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import streamlit as st

from core.changes import Changes, last_changes
from core.data import formats
from core.duplicates import prints
from core.errors import PenumbraError
from core.sources import Source
from db.repository import ProjectRow, Role
from pages.parts import import_labels, import_look, import_words, uploading, working
from pages.parts.explore_duplicates import leaking
from pages.parts.import_source import MOST_MEGABYTES
from pages.parts.state import database, go
from pages.parts.text import ago, count, escape
from pages.parts.who import require

SHOW = "images"  # of ?show= in the address
TABLES = ["csv", "tsv", "json", "jsonl", "txt"]
DRAFT = "labels-place"


def report_page(project: ProjectRow) -> None:
    """The whole page; owners only."""
    require(Role.OWNER)
    title, leave = st.columns([6, 1], vertical_alignment="center")
    title.title(f"Images of {escape(project.name)}")
    if leave.button("Back", icon=":material/arrow_back:", type="tertiary"):
        _drop()
        st.query_params.pop("show", None)
        st.rerun()
    if row := working.current(project.id, "prepare"):
        working.show_progress(row)
        return
    working.show_failure(working.last(project.id, "prepare"))
    left, right = st.columns([6, 5], gap="large")
    with left:
        _last(project)
        _duplicates(project)
    with right:
        _more_labels(project)


def open_(project: ProjectRow) -> None:
    st.query_params.update({"project": str(project.id), "show": SHOW})


def _last(project: ProjectRow) -> None:
    st.subheader("The last import")
    changes = last_changes(database(), project.id)
    if changes is None:
        st.write("Nothing is known of it: read the images again, and it says here what is different.")
    else:
        _changes(changes)
    if st.button("Read new images", icon=":material/add_photo_alternate:", key=f"report-read-{project.id}"):
        working.start(project.id, "prepare")
        st.rerun()


def _changes(changes: Changes) -> None:
    st.markdown(f"**{escape(import_words.line(changes))}**")
    st.caption(f"{escape(import_words.headline(changes))}, {ago(datetime.fromisoformat(changes.at))}")
    for kind, meaning in import_words.MEANINGS.items():
        if getattr(changes, kind):
            st.markdown(f"- {escape(import_words.name(kind))}: {meaning}")
    for each in import_words.warnings(changes):
        st.warning(escape(each), icon=":material/warning:")
    if rows := import_words.examples(changes):
        with st.expander("Which files"):
            st.dataframe(rows, hide_index=True)


def _duplicates(project: ProjectRow) -> None:
    st.subheader("Duplicates")
    with st.spinner("Comparing images …"):
        found = prints(database(), project.id)
        copies, alike = (int(groups.max(initial=-1)) + 1 for groups in (found.copies, found.alike))
        leaking(project)
    if not alike:
        st.write("No image is there twice, by content or by how it looks.")
        return
    st.markdown(
        f"**{count(copies, 'group')}** of the same content, **{alike:,}** with pictures that look nearly alike."
    )
    st.caption("Copies fall into one split by themselves. Under Team, Settings, one answer can serve all duplicates.")
    if st.button("See them", icon=":material/explore:", key=f"report-explore-{project.id}"):
        go("explore", project.id)


def _more_labels(project: ProjectRow) -> None:
    """Labels of images that the project has, out of one more file."""
    st.subheader("Labels from a file")
    place = st.session_state.get(DRAFT)
    if place is None:
        _upload()
        return
    st.markdown(f"Uploaded: **{escape(place.name)}**")
    try:
        source = Source(place.where, formats.recognise(place.path).name, root=project.root)
        found = import_look.understood(source)
    except PenumbraError as error:
        st.error(escape(str(error)))
        found = None
    if found is not None:
        asked = import_labels.ask(source, found)
        if asked is not None and st.button("Take them in", type="primary", key="labels-take"):
            _take(project, asked)
    if st.button("Choose another", type="tertiary", icon=":material/undo:", key="labels-other"):
        _drop()
        st.rerun()


def _upload() -> None:
    st.caption(
        "A table that names images of this project by their paths: other people's labels, or an export of yours."
    )
    file = st.file_uploader(
        "CSV, TSV, JSON, JSONL or a list", TABLES, max_upload_size=MOST_MEGABYTES, key="labels-file"
    )
    if file is None:
        return
    try:
        st.session_state[DRAFT] = uploading.from_browser([(file.name, file)])
    except PenumbraError as error:
        st.error(escape(str(error)))
        return
    st.rerun()


def _take(project: ProjectRow, source: Source) -> None:
    place = st.session_state.pop(DRAFT)
    with uploading.settled(place):
        path = str(Path(source.path).resolve())
        working.start(project.id, "prepare", {"source": replace(source, path=path).as_json()})
    st.rerun()


def _drop() -> None:
    uploading.drop(st.session_state.pop(DRAFT, None))
