"""What a project's classes say now, the way back to one prompt, and that a round is needed where it was changed."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from core import class_texts, prompting
from core.prolip.prompts import PromptMethod
from db import repository
from db.repository import ProjectRow
from pages.parts import working
from pages.parts.state import database
from pages.parts.text import ago, count, escape

ADOPTED = {
    PromptMethod.AVERAGE: "all alike",
    PromptMethod.FILTERED: "the vague ones left out",
    PromptMethod.BPRW: "weighed by BPRW",
}


def show(project: ProjectRow) -> None:
    words, press = st.columns([5, 1.6], vertical_alignment="center")
    chosen = class_texts.adopted(project)
    if chosen is None:
        words.markdown(f"The project's classes are read by one prompt: “{escape(project.prompt)}”.")
    else:
        said = f"{count(len(chosen.templates), 'prompt')}, {ADOPTED[chosen.method]}"
        words.markdown(f"The project's classes are read by **{said}** :gray[{_origin(project.prompt_weights or {})}]")
        if press.button("Back to the single prompt", icon=":material/undo:", width="stretch"):
            prompting.back_to_single(database(), project.id)
            st.rerun()
    with database().read() as session:
        newest = repository.latest_round(session, project.id)
    if newest is not None and class_texts.changed(project, newest):
        _start_round(project, newest.number)


def _origin(about: dict) -> str:
    """“by mini-prolip from 35 answers, 3 days ago”, as much of it as is known."""
    images = f" from {count(about['images'], 'answer')}" if about.get("images") else ""
    when = f", {ago(datetime.fromisoformat(about['at']))}" if "at" in about else ""
    return f"by {escape(about.get('encoder', 'a model'))}{images}{when}"


def _start_round(project: ProjectRow, number: int) -> None:
    if running := working.current(project.id, "round"):
        working.show_progress(running)
        return
    working.show_failure(working.last(project.id, "round"))
    words, press = st.columns([5, 1.6], vertical_alignment="center")
    words.info(f"Texts changed since model {number}, which keeps its own: start a round.", icon=":material/info:")
    if press.button("Start round", type="primary", icon=":material/model_training:", width="stretch"):
        working.start(project.id, "round")
        st.rerun()
