"""Who sits here, and what they may do: whoever signed in. Without accounts a name picked once, which is no login."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.accounts import allows, check, has_accounts
from core.errors import NotAllowed
from db import repository
from db.repository import Role
from pages.login.gate import sign_in_address
from pages.login.oidc import DEFAULT, providers
from pages.login.visitor import Visitor, bind
from pages.parts.state import become, database, keep_person, login, person
from pages.parts.text import escape


def let_in() -> None:
    """Before any page: where there are accounts, whoever is not signed in sees the way to do so, and nothing else."""
    if not has_accounts(database()):
        return
    row = login()
    context = get_script_run_ctx()
    if context is not None:
        bind(context.session_id, Visitor.of(row))
    if row is None:
        _signed_out()
        st.stop()


def _signed_out() -> None:
    provider = st.query_params.get("sign-in")
    st.title("Signed out")
    if provider in providers():
        _to_provider(provider)
        return
    st.write("The sign-in has ended, was ended elsewhere, or the account was disabled. What was saved is safe.")
    here = urlsplit(st.context.url or "/")
    _link(sign_in_address(here.path, here.query), "Sign in")


def _to_provider(name: str) -> None:
    try:
        st.login(None if name == DEFAULT else name)
    except StreamlitAPIException as error:
        st.error(escape(str(error)))


def require_person() -> tuple[int, str]:
    """The person at this browser; where nobody has said so, ask, and end the page there."""
    current = person()
    if current is None:
        _signed_out() if has_accounts(database()) else _ask()
        st.stop()
    return current


def role() -> Role | None:
    """What who sits here may do at this moment; everything at a server without accounts. None: signed out."""
    if not has_accounts(database()):
        return Role.OWNER
    row = login()
    return row.account.role if row else None


def may(needed: Role) -> bool:
    """Whether who sits here may do what `needed` may: for what is shown. What is done asks `require`."""
    mine = role()
    return mine is not None and allows(mine, needed)


def require(needed: Role) -> None:
    """End the page, with the reason, for who may not do what `needed` may."""
    mine = role()
    try:
        if mine is None:
            raise NotAllowed("You are signed out: sign in again.")
        check(mine, needed)
    except NotAllowed as refused:
        st.error(escape(str(refused)), icon=":material/lock:")
        st.stop()


def person_menu() -> None:
    """Who it is, with the way to change it."""
    current = person()
    if current is None:
        return
    with st.container(horizontal=True, horizontal_alignment="right"):
        if has_accounts(database()):
            _account_menu(current[1])
            return
        keep_person(current[1])
        with st.popover(escape(current[1]), icon=":material/person:", type="tertiary"):
            _ask("Somebody else?", "change")


def _account_menu(name: str) -> None:
    with st.popover(escape(name), icon=":material/person:", type="tertiary"):
        st.caption(f"Signed in, with the role {role()}.")
        _link("/account", "Account and signing out")


def _link(address: str, words: str) -> None:
    """To a page of this server that is none of Streamlit's, in this tab; `address` is ours, nothing a person wrote."""
    st.html(f'<a href="{address}" target="_self" style="color:inherit">{words}</a>')


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
