"""What a page starts from: the database, the project in the address, and who sits here."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote, unquote

import streamlit as st

from core import logins
from core.accounts import has_accounts
from core.config import database_url
from db import repository
from db.repository import ProjectRow
from db.repository.accounts import LoginRow
from db.session import Database, open_database

COOKIE = "penumbra_person"

_keep = st.components.v2.component(
    "penumbra_keep_person",
    js="export default ({data}) => { document.cookie = data; }",
)


@lru_cache(maxsize=4)
def _opened(url: str) -> Database:
    return open_database(url)


def database() -> Database:
    """The one database of this process, created and migrated when first asked for."""
    return _opened(database_url())


def project_in_address() -> ProjectRow | None:
    """The project of `?project=3`, else the one seen last, else the only one there is.

    The menu's links drop the query; it is put back here, so that the address can be copied.
    """
    with database().read() as session:
        known = {row.id: row for row in repository.projects(session)}
    wanted = _number(st.query_params.get("project")) or st.session_state.get("project")
    chosen = known.get(wanted) or (next(iter(known.values())) if len(known) == 1 else None)
    if chosen is None:
        return None
    st.session_state["project"] = chosen.id
    if st.query_params.get("project") != str(chosen.id):
        st.query_params["project"] = str(chosen.id)
    return chosen


def order_in_address(project_id: int) -> str | None:
    """The order of the queue in `?order=`, else the one chosen last for this project; not checked."""
    return st.query_params.get("order") or st.session_state.get(f"order-{project_id}")


def keep_order(project_id: int, order: str, usual: str) -> None:
    """Put the order into the address, so that a reload finds it; the usual one needs no mention."""
    st.session_state[f"order-{project_id}"] = order
    if order != usual and st.query_params.get("order") != order:
        st.query_params["order"] = order
    elif order == usual and "order" in st.query_params:
        del st.query_params["order"]


def go(page: str, project_id: int | None = None, **more: str) -> None:
    """Open a page (projects, annotate, rounds) on a project; `more` goes into the address."""
    if project_id is not None:
        st.session_state["project"] = project_id
    query = None if project_id is None else {"project": str(project_id), **more}
    st.switch_page(f"{page}.py", query_params=query)


def login() -> LoginRow | None:
    """The login of this browser, if it stands at this moment; None at a server without accounts too."""
    return logins.login(database(), st.context.cookies.get(logins.COOKIE))


def person() -> tuple[int, str] | None:
    """(id, name) of who sits at this browser: who is signed in; without accounts who they said, kept in a cookie."""
    if has_accounts(database()):
        row = login()
        return (row.account.id, row.account.name) if row else None
    if "person" not in st.session_state:
        name = st.context.cookies.get(COOKIE)
        return become(unquote(name)) if isinstance(name, str) else None
    return st.session_state["person"]


def become(name: str) -> tuple[int, str] | None:
    """Take a name in this session; None where it is none."""
    try:
        with database().write() as session:
            person_id = repository.person(session, name)
    except ValueError:
        return None
    st.session_state["person"] = (person_id, name.strip())
    return st.session_state["person"]


def keep_person(name: str, key: str = "keep-person") -> None:
    """Write the name into the browser for a year; no login, so nothing secret."""
    _keep(key=key, data=f"{COOKIE}={quote(name)}; path=/; max-age=31536000; samesite=lax", height="content")


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 10 else None
