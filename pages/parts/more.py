"""What is seldom done to a project: take new images in, export it, delete it."""

from __future__ import annotations

import streamlit as st

from db import repository
from db.repository import ProjectRow
from pages.parts import export_page, import_report, working
from pages.parts.state import database
from pages.parts.text import escape
from pages.parts.who import Role, may, require


def more(project: ProjectRow, readable: bool) -> None:
    """A small menu for owners; `readable` tells whether new images can be read now."""
    if not may(Role.OWNER):
        return
    with st.popover("More", icon=":material/more_horiz:", type="tertiary", key=f"more-{project.id}"):
        if readable:
            st.caption("Takes in images that were added to the folder. What is there stays as it is.")
            if st.button("Read new images", key=f"read-{project.id}", icon=":material/add_photo_alternate:"):
                working.start(project.id, "prepare")
                st.rerun()
            st.divider()
        st.caption("What the last import changed, duplicates, and labels from one more file.")
        if st.button("Images and imports", key=f"images-{project.id}", icon=":material/photo_library:"):
            import_report.open_(project)
            st.rerun()
        st.divider()
        st.caption("Images, labels and history, in the format that the next program reads.")
        if st.button("Export", key=f"export-{project.id}", icon=":material/download:"):
            export_page.open_(project)
            st.rerun()
        st.divider()
        _delete(project)


def _delete(project: ProjectRow) -> None:
    st.caption("The project goes from the list. Its answers stay in the log, and its images are not touched.")
    with st.form(f"delete-{project.id}", border=False, clear_on_submit=False):
        typed = st.text_input("Its name, to be sure", placeholder=project.name, key=f"delete-name-{project.id}")
        sent = st.form_submit_button("Delete project", icon=":material/delete:")
    if not sent:
        return
    if typed.strip() != project.name:
        st.error(f"Type the name as it is written here: {escape(project.name)}")
        return
    require(Role.OWNER)
    with database().write() as session:
        repository.delete_project(session, project.id)
    st.session_state.pop("project", None)
    st.rerun()
