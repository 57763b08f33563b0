"""Projects: what there is, how far it came, and the way to a new one."""

import streamlit as st

from db import repository
from pages.parts import export_page, import_report
from pages.parts.cards import project_card
from pages.parts.new_project import new_project
from pages.parts.state import database, project_in_address
from pages.parts.who import Role, may, person_menu, require

COLUMNS = 3
VIEWS = {export_page.SHOW: export_page.export_page, import_report.SHOW: import_report.report_page}  # of ?show=
COVER_OF = 1000  # the cover is drawn evenly from so many images, or it would show one class


def main() -> None:
    if st.session_state.get("new-project"):
        require(Role.OWNER)
        return new_project()
    show = VIEWS.get(st.query_params.get("show", ""))
    if show and (project := project_in_address()):
        return show(project)
    title, who = st.columns([6, 1.4], vertical_alignment="center")
    title.title("Projects")
    with who:
        person_menu()
    with database().read() as session:
        cards = [repository.card(session, row.id, images=COVER_OF) for row in repository.projects(session)]
        models = {each.project.id: repository.latest_round(session, each.project.id) for each in cards}
    if not cards:
        return _empty()
    st.write("Label the images from which the model learns most, start a round, and see how far it can be trusted.")
    _new_button("secondary")
    for start in range(0, len(cards), COLUMNS):
        places = st.columns(COLUMNS, gap="medium")
        for place, each in zip(places, cards[start : start + COLUMNS], strict=False):
            with place:
                project_card(each, models[each.project.id])
    return None


def _empty() -> None:
    st.subheader("No project yet")
    st.write("A project is a folder of images and the classes to tell apart. The images stay where they are.")
    _new_button("primary")
    if not may(Role.OWNER):
        st.write("An owner can make one.")


def _new_button(kind: str) -> None:
    if may(Role.OWNER) and st.button("New project", type=kind, icon=":material/add:"):
        st.session_state["new-project"] = True
        st.rerun()


main()
