"""Signing in: a password or a provider's word against a cookie that this server signed.

The cookie holds a random token; the database holds its hash, so that a login can be ended from here (signed out,
password changed, account disabled) and a copy of the database signs nobody in. Failures are counted in the database:
the count survives a restart and holds for all processes.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.orm import Session

from core.accounts import set_password
from core.errors import NotAllowed, TooManyAttempts
from core.passwords import checked, matches
from core.signing import signed, unsigned
from db.base import now
from db.repository import accounts as rows
from db.repository.accounts import AccountRow, LoginRow
from db.session import Database

COOKIE = "penumbra_login"
LASTS = timedelta(hours=12)  # a working day
WINDOW = timedelta(minutes=15)  # failures before it are forgotten


@dataclass(frozen=True, slots=True)
class Limit:
    """So many failures in a window, counted over these columns."""

    by: tuple[str, ...]
    most: int


LIMITS = (
    Limit(("name", "address"), 5),  # one person's guesses; somebody elsewhere cannot lock that person out with fewer …
    Limit(("address",), 30),  # many names tried from one place
    Limit(("name",), 100),  # … than this: one name tried from many places
)


def sign_in(database: Database, name: str, password: str, address: str) -> str:
    """The cookie of a new login. Raises NotAllowed for a wrong pair, TooManyAttempts before even looking at it."""
    _try(database, name, password, address)
    with database.write() as s:
        return _begin(s, rows.account_by_name(s, name))


def change_password(database: Database, account: AccountRow, old: str, new: str, address: str) -> str:
    """The cookie of the only login that is left afterwards. Raises as `sign_in`, and InputError for no new password."""
    checked(new, account.name)
    _try(database, account.name, old, address)
    set_password(database, account.name, new)
    with database.write() as s:
        return _begin(s, rows.account_by_name(s, account.name))


def _try(database: Database, name: str, password: str, address: str) -> None:
    """Raises unless it is the password. Counted as failed before it is tried: many at once are no way around."""
    who = {"name": name.strip().casefold()[:100], "address": address[:64]}
    with database.write() as s:
        _check_limits(s, who)
        rows.add_failure(s, **who)
        kept = rows.kept_password(s, name)
    if not matches(password, kept):
        raise NotAllowed("Name or password is wrong.")
    with database.write() as s:
        rows.forget_failures(s, **who)


def sign_in_by_email(database: Database, email: str) -> str:
    """The cookie of a new login for an address that a provider has verified. Raises NotAllowed for no such account."""
    with database.write() as s:
        try:
            account = rows.account_by_email(s, email)
        except LookupError:
            raise NotAllowed(f"There is no account for {email}. An owner can add one.") from None
        return _begin(s, account)


def _begin(s: Session, account: AccountRow) -> str:
    if account.disabled:
        raise NotAllowed("This account is disabled. An owner can enable it.")
    token = secrets.token_urlsafe(32)
    rows.add_login(s, _hash(token), account.id, now() + LASTS)
    return signed(token, COOKIE)


def login(database: Database, cookie: str | None) -> LoginRow | None:
    """The login that a cookie stands for at this moment; None where it stands for none (any more)."""
    token = unsigned(cookie, COOKIE)
    if token is None:
        return None
    with database.read() as s:
        return rows.login(s, _hash(token))


def sign_out(database: Database, cookie: str | None) -> None:
    """End the login of this cookie; where it stands for none, nothing happens."""
    if token := unsigned(cookie, COOKIE):
        with database.write() as s:
            rows.end_logins(s, token_hash=_hash(token))


def sign_out_everywhere(database: Database, person_id: int) -> None:
    with database.write() as s:
        rows.end_logins(s, person_id=person_id)


def _check_limits(s: Session, who: Mapping[str, str]) -> None:
    since = now() - WINDOW
    rows.forget_failures_before(s, since)
    for limit in LIMITS:
        failed, first = rows.failures(s, since, **{column: who[column] for column in limit.by})
        if failed >= limit.most and first is not None:
            raise TooManyAttempts(first + WINDOW)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
