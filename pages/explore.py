"""Explore: all images on a map, by their scores, by a search; duplicates, doubted answers, files not read."""

import streamlit as st

from core import atlas
from core.errors import PenumbraError
from core.team import TeamSettings
from db import repository
from pages.parts import explore_images, explore_lists, working
from pages.parts.empty import NO_MODEL, NO_PROJECT, to_projects
from pages.parts.explore_duplicates import duplicates
from pages.parts.explore_image import show_asked
from pages.parts.explore_pool import opened, pool_of
from pages.parts.explore_search import keep_in_address
from pages.parts.state import database, go, project_in_address
from pages.parts.text import escape
from pages.parts.who import Role, may, person_menu

VIEWS = {"images": "Images", "duplicates": "Duplicates", "doubts": "Label errors", "problems": "Problem files"}

BLIND = (
    "This project is labelled blind: whoever answers is not to see the model's guess, nor what others said, and this "
    "page shows both. Go on under Annotate. Reviewers and owners may look here; an owner can change this under Team."
)


def main() -> None:
    project = project_in_address()
    if project is None:
        return to_projects(NO_PROJECT, "Explore")
    if TeamSettings.of(project.team).blind and not may(Role.REVIEWER):
        return _blind(project)
    with database().read() as session:
        newest = repository.latest_round(session, project.id)
    view = _header(project)
    if newest is None:
        return to_projects(NO_MODEL)
    if view == "problems":
        return explore_lists.problems(project)
    found = _atlas(project)
    if found is None:
        return None
    pool = pool_of(database(), project.id, found)
    try:
        _show(view, project, newest, pool)
    except PenumbraError as error:
        st.error(escape(str(error)), icon=":material/error:")
    show_asked(project, pool)
    return None


def _blind(project) -> None:
    _title(project)
    st.info(BLIND, icon=":material/visibility_off:")
    if st.button("Label images", type="primary", icon=":material/label:"):
        go("annotate", project.id)


def _title(project) -> None:
    title, who = st.columns([6, 1.4], vertical_alignment="center")
    target = f" → {escape(project.target_domain)}" if project.target_domain else ""
    title.title(f"{escape(project.name)}{target}")
    with who:
        person_menu()


def _header(project) -> str:
    """Name, person and the choice of a view, which is kept in the address."""
    _title(project)
    asked = st.query_params.get("view")
    first = asked if asked in VIEWS else "images"
    view = st.segmented_control(
        "View", list(VIEWS), default=first, format_func=VIEWS.get, label_visibility="collapsed", key="explore-view"
    )
    view = view or "images"
    keep_in_address("view", view if view != "images" else "")
    return view


def _show(view: str, project, newest, pool) -> None:
    if view == "duplicates":
        duplicates(project, pool)
    elif view == "doubts":
        explore_lists.doubted(project, pool)
    else:
        explore_images.show(project, newest, pool)


def _atlas(project) -> atlas.Atlas | None:
    """The newest model's map; where it is not drawn yet, the worker is asked to, and the page waits."""
    path = atlas.path_of(database(), project.id)
    if path.exists():
        return opened(str(path))
    running = working.current(project.id, "atlas")
    if running is None:
        last = working.last(project.id, "atlas")
        if last is not None and last.state in ("failed", "cancelled"):
            working.show_failure(last)
            if not st.button("Draw the map", type="primary", icon=":material/explore:"):
                return None
        working.start(project.id, "atlas")
        running = working.current(project.id, "atlas")
    st.write("The newest model's map is being drawn: places, scores and duplicates of all images. Once for each model.")
    if running is not None:
        working.show_progress(running)
    return None


main()
