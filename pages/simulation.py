"""Simulation: on the images whose class is known, which strategy learns fastest, and is it worth it against random?"""

import time

import streamlit as st

from core.errors import PenumbraError
from db import repository
from pages.parts import sim_form, sim_sections, sim_words, working
from pages.parts.empty import NO_MODEL, NO_PROJECT, to_projects
from pages.parts.explore_search import keep_in_address
from pages.parts.sim_study import study_of
from pages.parts.state import database, project_in_address
from pages.parts.text import escape
from pages.parts.who import person_menu

ABOUT = (
    "Rounds that nobody has to label for: an oracle answers with the classes that are known already, but only what a "
    "strategy asks. Each strategy starts from the project's first model; random shows what labelling without any would "
    "have brought. Nothing here changes the project's answers or its model."
)


def main() -> None:
    began, project = time.monotonic(), project_in_address()
    if project is None:
        return to_projects(NO_PROJECT, "Simulation")
    with database().read() as session:
        model = repository.latest_round(session, project.id)
        rows = repository.simulations(session, project.id)
        known = repository.known_parts(session, project.id)
    _header(project)
    if model is None:
        return to_projects(NO_MODEL)
    job, last = working.current(project.id, sim_form.KIND), working.last(project.id, sim_form.KIND)
    if not rows:
        st.write(ABOUT)
    if job is None and not sim_form.enough(known):
        sim_form.nothing_known(project, known)
    elif job is None:
        sim_form.stopped(project, last)
        sim_form.form(project, known, last, first=not rows)
    else:
        sim_form.running(project, job)
    seen = sim_form.stored(project, job.payload) if job else 0
    if rows:
        _show(project, rows, job)
    if job is not None:
        sim_form.await_curve(project, job.payload, seen, time.monotonic() - began)
    return None


def _header(project) -> None:
    title, who = st.columns([6, 1.4], vertical_alignment="center")
    title.title(f"{escape(project.name)} · Simulation")
    with who:
        person_menu()


def _show(project, rows, job) -> None:
    """One simulation: what it says first, then by what."""
    study = study_of(project, _chosen(project, rows, job))
    if not study.points:
        st.write("No curve of this simulation is whole yet.")
        return
    st.markdown(f"##### {sim_words.answer(study)}")
    st.caption(sim_words.basis(study))
    try:
        with st.container(key="sim-curves"):
            metric = sim_sections.curves(study)
        with st.container(key="sim-strategies"):
            sim_sections.strategies(study, metric)
        with st.container(key="sim-picks"):
            sim_sections.picks(study)
    except PenumbraError as error:
        st.error(escape(str(error)), icon=":material/error:")
    with st.expander("Settings"):
        st.json({"about": study.row.about, "settings": study.row.settings}, expanded=2)


def _chosen(project, rows, job):
    """The simulation that is looked at: the one that runs, the one in the address, or the newest."""
    running = sim_form.simulated(project, job.payload) if job else None
    asked = st.query_params.get("simulation", "")
    wanted = running.id if running else int(asked) if asked.isdecimal() else None
    first = next((i for i, row in enumerate(rows) if row.id == wanted), 0)
    if len(rows) == 1 or running:
        return rows[first]
    row = st.selectbox("Simulation", rows, first, sim_words.called, key=f"sim-{project.id}-{len(rows)}")
    keep_in_address("simulation", str(row.id) if row != rows[0] else "")
    return row


main()
