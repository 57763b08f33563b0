"""The way on from a page that has no project to show."""

from __future__ import annotations

import streamlit as st

from pages.parts.state import go

NO_PROJECT = "Choose a project first."
NO_MODEL = "There is no model yet: the images have to be read and ranked first. This starts on the Projects page."


def to_projects(words: str, title: str | None = None) -> None:
    """Why there is nothing here, under the page's title where it has none yet, and the button that leads on."""
    if title:
        st.title(title)
    st.write(words)
    if st.button("See the projects", type="primary"):
        go("projects")
