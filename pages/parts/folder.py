"""The folder of a project's images: it may have been moved, or its drive is not connected."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.storage import is_remote
from db.repository import ProjectRow
from pages.parts.text import escape


def is_there(project: ProjectRow) -> bool:
    return is_remote(project.root) or Path(project.root).is_dir()


def show_missing(project: ProjectRow) -> None:
    """Say that the folder is not there and what to do."""
    st.warning(
        f"The folder {escape(project.root)} is not there: put it back, or connect its drive. "
        "Answers and rounds are safe.",
        icon=":material/folder_off:",
    )
    if st.button("Look again", key=f"look-{project.id}", icon=":material/refresh:"):
        st.rerun()
