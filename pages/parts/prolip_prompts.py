"""The Prompts tab of the ProLIP page."""

from __future__ import annotations

import streamlit as st

from core.encoders import GaussianEncoder
from db.repository import ProjectRow


def show(project: ProjectRow | None, encoder: GaussianEncoder) -> None:
    st.caption("Nothing is shown here yet.")
