"""Accounts: who may sign in, and as what. Without any account a server is open, and serves its own machine alone.

An account is a person with a password, or with an e-mail address that a login provider vouches for (or both). Whoever
labelled under a name before keeps their answers when that name gets an account.
"""

from __future__ import annotations

import re

from sqlalchemy.orm import Session

from core.errors import InputError, NotAllowed, UnknownName
from core.passwords import checked, hashed
from db import repository
from db.base import Role
from db.repository import accounts as rows
from db.repository.accounts import AccountRow
from db.session import Database

RANK = {Role.ANNOTATOR: 0, Role.REVIEWER: 1, Role.OWNER: 2}
MAY = {
    Role.ANNOTATOR: "label images and start rounds",
    Role.REVIEWER: "label images, start rounds, and decide where answers differ",
    Role.OWNER: "do all that, and create, change, export and delete projects",
}

_with_accounts: set[str] = set()


def allows(role: Role, needed: Role) -> bool:
    """Whether `role` may do what `needed` may: each role may do all that those before it may."""
    return RANK[role] >= RANK[needed]


def check(role: Role, needed: Role) -> None:
    """Raises NotAllowed where `role` may not do what `needed` may."""
    if not allows(role, needed):
        raise NotAllowed(f"this takes the role {needed}, yours is {role}: ask an owner")


def has_accounts(database: Database) -> bool:
    """Whether this server knows who asks; asked at every request, and once it is so, it stays so."""
    if database.url not in _with_accounts:
        with database.read() as s:
            if not rows.has_accounts(s):
                return False
        _with_accounts.add(database.url)
    return True


def accounts(database: Database) -> list[AccountRow]:
    """All accounts by name."""
    with database.read() as s:
        return rows.accounts(s)


def add_account(
    database: Database, name: str, role: Role, *, password: str | None = None, email: str | None = None
) -> AccountRow:
    """A new account, by password, address or both; the first is an owner's. Raises InputError for what cannot be."""
    name = name.strip()
    values: dict[str, object] = {"role": role, "disabled": False}
    if password is None and email is None:
        raise InputError("an account takes a password or an e-mail address")
    if password is not None:
        values["password_hash"] = hashed(checked(password, name))
    if email is not None:
        values["email"] = _address(email)
    with database.write() as s:
        if not rows.has_accounts(s) and role is not Role.OWNER:
            raise InputError(f"the first account is an owner's: python -m core user add {name} --role owner")
        if name in {each.name for each in rows.accounts(s)}:
            raise InputError(f"“{name}” has an account already: `user role` and `user passwd` change it")
        return _stored(s, name, values)


def _stored(s: Session, name: str, values: dict[str, object]) -> AccountRow:
    try:
        rows.set_account(s, repository.person(s, name), values)
        return rows.account_by_name(s, name)
    except ValueError as error:
        raise InputError(str(error)) from None


def set_role(database: Database, name: str, role: Role) -> AccountRow:
    """Another role, from the account's next step on. Raises InputError where no owner would be left."""
    with database.write() as s:
        account = _known(s, name)
        if role is not Role.OWNER:
            _keep_an_owner(s, account)
        rows.set_account(s, account.id, {"role": role})
        return rows.account_by_name(s, name)


def set_password(database: Database, name: str, password: str) -> AccountRow:
    """Another password; whoever is signed in with the old one is signed out. Raises InputError, UnknownName."""
    with database.read() as s:
        account = _known(s, name)
    kept = hashed(checked(password, account.name))
    with database.write() as s:
        rows.set_account(s, account.id, {"password_hash": kept})
        rows.end_logins(s, person_id=account.id)
        return rows.account_by_name(s, name)


def set_disabled(database: Database, name: str, disabled: bool) -> AccountRow:
    """Cut an account off at once, or let it in again. Raises InputError where no owner would be left."""
    with database.write() as s:
        account = _known(s, name)
        if disabled:
            _keep_an_owner(s, account)
            rows.end_logins(s, person_id=account.id)
        rows.set_account(s, account.id, {"disabled": disabled})
        return rows.account_by_name(s, name)


def _known(s: Session, name: str) -> AccountRow:
    try:
        return rows.account_by_name(s, name)
    except LookupError as error:
        known = ", ".join(each.name for each in rows.accounts(s)) or "none yet"
        raise UnknownName(f"{error}; there are: {known}") from None


def _keep_an_owner(s: Session, account: AccountRow) -> None:
    if rows.owners(s) == [account.id]:
        raise InputError(f"{account.name} is the only owner: make somebody else one first")


def _address(email: str) -> str:
    email = email.strip().lower()
    if not re.fullmatch(r"[^@\s]+@[^@\s]+", email) or len(email) > 254:
        raise InputError(f"{email!r} is no e-mail address")
    return email
