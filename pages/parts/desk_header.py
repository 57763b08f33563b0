"""The line above the desk: project, order of its queue, filter, and who sits here. All of it is in the address."""

from __future__ import annotations

import streamlit as st

from core.queue import Narrow, is_selection, orders
from core.team import TeamSettings
from db import repository
from db.repository import ProjectRow
from pages.parts import desk_words
from pages.parts.state import database, keep_order, order_in_address
from pages.parts.text import escape
from pages.parts.who import person_menu, require_person

_ANY = "all"


def plain(project: ProjectRow) -> None:
    """Name and person, which is kept in the browser here as everywhere."""
    name, who = st.columns([8, 1.4], vertical_alignment="center")
    name.markdown(f"### {escape(project.name)}")
    with who:
        person_menu()


def full(project: ProjectRow, person_id: int) -> tuple[str, Narrow]:
    """Name, order of the queue, filter, person; returns what was chosen."""
    name, order, narrow, who = st.columns([4.2, 2.6, 2, 1.4], vertical_alignment="center")
    target = f" → {escape(project.target_domain)}" if project.target_domain else ""
    name.markdown(f"### {escape(project.name)}{target}")
    with order:
        source = _order(project.id, person_id)
    with narrow:
        chosen = _filter(project)
    with who:
        person_menu()
    return source, chosen


def _order(project_id: int, person_id: int) -> str:
    """The order of the queue: chosen here, and kept in the address."""
    offered, wanted = orders(database(), project_id, person_id), order_in_address(project_id)
    offered += [wanted] if wanted and is_selection(wanted) else []
    key = f"source-{project_id}"
    if st.session_state.get(key, offered[0]) not in offered:
        del st.session_state[key]  # all images to measure with are answered
    source = st.selectbox(
        "Order of the queue",
        offered,
        index=offered.index(wanted) if wanted in offered else 0,
        format_func=lambda each: f"order: {desk_words.title(each)}",
        label_visibility="collapsed",
        key=key,
        on_change=_release,
        args=(project_id,),
    )
    keep_order(project_id, source, usual=offered[0])
    return source


def _filter(project: ProjectRow) -> Narrow:
    """A domain and a likeliest class, each of them or none; on a blind desk no class, which would tell the guess."""
    with database().read() as session:
        domains = [each for each in repository.domains(session, project.id) if each is not None]
    names = {str(each.id): each.name for each in project.classes}
    blind = TeamSettings.of(project.team).blind
    labels = {each: each for each in domains} if len(domains) > 1 else {}
    domain = _in_address("domain", labels)
    guess = None if blind else _in_address("guess", names)
    said = [each for each in (domain, names.get(guess or "")) if each]
    with st.popover(escape(" · ".join(said)) or "Filter", icon=":material/filter_alt:", width="stretch"):
        if labels:
            domain = _choice(project.id, "domain", "Domain", labels, domain)
        if not blind:
            guess = _choice(project.id, "guess", "Likeliest class, as the model guesses", names, guess)
        elif not labels:
            st.caption("This team labels blind, and all images are of one domain: there is nothing to filter by.")
    return Narrow(domain, int(guess) if guess else None)


def _in_address(name: str, labels: dict[str, str]) -> str | None:
    value = st.query_params.get(name)
    return value if value in labels else None


def _choice(project_id: int, name: str, label: str, labels: dict[str, str], current: str | None) -> str | None:
    """One of `labels`, or none of them; the address has what holds, and Back and Forward change it."""
    options = [_ANY, *labels]
    chosen = st.selectbox(
        label,
        options,
        index=options.index(current) if current else 0,
        format_func=lambda each: labels.get(each, each),
        key=f"{name}-{project_id}",
        on_change=_release,
        args=(project_id,),
    )
    if chosen == _ANY:
        st.query_params.pop(name, None)
        return None
    if st.query_params.get(name) != chosen:
        st.query_params[name] = chosen
    return chosen


def _release(project_id: int) -> None:
    """Another order or filter: what is held for this person goes back."""
    with database().write() as session:
        repository.release(session, project_id, require_person()[0])
