"""Who sits here: a name picked once. It says whose answers these are, and is no login."""

from __future__ import annotations

import streamlit as st

from db import repository
from pages.parts.state import become, database, keep_person, person
from pages.parts.text import escape


def require_person() -> tuple[int, str]:
    """The person at this browser; where nobody has said so, ask, and end the page there."""
    current = person()
    if current is None:
        _ask()
        st.stop()
    return current


def person_menu() -> None:
    """Who it is, with the way to change it."""
    current = person()
    if current is None:
        return
    with st.container(horizontal=True, horizontal_alignment="right"):
        keep_person(current[1])
        with st.popover(escape(current[1]), icon=":material/person:", type="tertiary"):
            _ask("Somebody else?", "change")


def _ask(title: str = "Who is labelling?", key: str = "first") -> None:
    with database().read() as session:
        known = list(repository.people(session).values())
    st.subheader(title)
    st.caption("A name, so that answers can be told apart. It is no login: anybody at this computer can pick any name.")
    with st.form(f"person-{key}", border=False, width=420):
        name = st.selectbox(
            "Your name",
            known,
            index=None,
            accept_new_options=True,
            placeholder="Type your name or choose it",
            key=f"person-name-{key}",
        )
        sent = st.form_submit_button("That is me", type="primary" if key == "first" else "secondary")
    if sent and (not name or become(name) is None):
        st.error("A name has 1 to 100 visible characters.")
    elif sent:
        st.rerun()
