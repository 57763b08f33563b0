"""Team: who does what, how far people agree, what has to be decided, and by which rules and classes they work."""

import streamlit as st

from core.errors import PenumbraError
from db import repository
from pages.parts import (
    team_agreement,
    team_classes,
    team_flags,
    team_gold,
    team_people,
    team_review,
    team_settings,
)
from pages.parts.empty import NO_PROJECT, to_projects
from pages.parts.explore_search import keep_in_address
from pages.parts.saying import show_said
from pages.parts.state import database, project_in_address
from pages.parts.team_parts import NOT_YOURS, VIEW
from pages.parts.text import escape
from pages.parts.who import Role, may, person_menu, require_person

VIEWS = {
    "people": ("People", team_people.show),
    "agreement": ("Agreement", team_agreement.show),
    "review": ("Review", team_review.show),
    "flags": ("Flags", team_flags.show),
    "gold": ("Gold", team_gold.show),
    "classes": ("Classes", team_classes.show),
    "settings": ("Settings", team_settings.show),
}


def main() -> None:
    project = project_in_address()
    if project is None:
        return to_projects(NO_PROJECT, "Team")
    me, _ = require_person()
    show_said()
    view = _header(project)
    with st.container(key=f"team-{view}"):
        if view in NOT_YOURS and not may(Role.REVIEWER):
            st.info(NOT_YOURS[view], icon=":material/lock:")
            return None
        try:
            VIEWS[view][1](project, me)
        except PenumbraError as error:
            st.error(escape(str(error)), icon=":material/error:")
    return None


def _header(project) -> str:
    """Name, person and the choice of a view, which is kept in the address."""
    title, who = st.columns([6, 1.4], vertical_alignment="center")
    title.title(f"{escape(project.name)} · Team")
    with who:
        person_menu()
    asked = st.query_params.get("view")
    first = asked if asked in VIEWS else "people"
    open_ = _open(project.id)
    view = st.segmented_control(
        "View",
        list(VIEWS),
        default=None if VIEW in st.session_state else first,
        required=True,
        format_func=lambda each: VIEWS[each][0] + (f" · {open_[each]:,}" if open_.get(each) else ""),
        label_visibility="collapsed",
        key=VIEW,
    )
    keep_in_address("view", view if view != "people" else "")
    return view


def _open(project_id: int) -> dict[str, int]:
    """What waits for somebody, by view; of those who may see to it."""
    if not may(Role.REVIEWER):
        return {}
    with database().read() as session:
        states = repository.verdict_counts(session, project_id)
        flags = repository.open_flags(session, project_id)
    return {"review": sum(states[each] for each in repository.TO_REVIEW), "flags": flags}


main()
