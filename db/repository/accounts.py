"""Who may sign in, who is signed in, and which attempts failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, bindparam, delete, exists, func, or_, select, update
from sqlalchemy.orm import Session

from db.base import Role, now
from db.dialect import one_at_a_time
from db.login_models import Login, LoginFailure
from db.models import Person

_COLUMNS = (Person.id, Person.name, Person.role, Person.email, Person.password_hash.is_not(None), Person.disabled)
_IS_ACCOUNT = or_(Person.password_hash.is_not(None), Person.email.is_not(None))


@dataclass(frozen=True, slots=True)
class AccountRow:
    """A person who may sign in: by a password, or by an address that a login provider vouches for."""

    id: int
    name: str
    role: Role
    email: str | None
    has_password: bool
    disabled: bool


@dataclass(frozen=True, slots=True)
class LoginRow:
    """A browser that is signed in at this moment."""

    id: int
    account: AccountRow
    expires_at: datetime


def has_accounts(s: Session) -> bool:
    """Whether there is any account; a disabled one counts, so that disabling the last opens no door."""
    return bool(s.scalar(select(exists().where(_IS_ACCOUNT))))


def accounts(s: Session) -> list[AccountRow]:
    """All accounts by name."""
    return [AccountRow(*row) for row in s.execute(select(*_COLUMNS).where(_IS_ACCOUNT).order_by(Person.name))]


def account_by_name(s: Session, name: str) -> AccountRow:
    """The account of this name. Raises LookupError where there is none."""
    return _one(s, Person.name == name.strip(), f"there is no account “{name}”")


def account_by_email(s: Session, email: str) -> AccountRow:
    """The account of this address. Raises LookupError where there is none."""
    return _one(s, Person.email == email.strip().lower(), f"there is no account for {email}")


def kept_password(s: Session, name: str) -> str | None:
    """What is kept of the password of this name; None for no such person and for one without a password."""
    return s.scalar(select(Person.password_hash).where(Person.name == name.strip()))


def set_account(s: Session, person_id: int, values: Mapping[str, object]) -> None:
    """Set role, password_hash, email or disabled. Raises ValueError for an address that another account has."""
    if unknown := set(values) - {"role", "password_hash", "email", "disabled"}:
        raise ValueError(f"an account has no {', '.join(sorted(unknown))}")
    email = values.get("email")
    if email and s.scalar(select(exists().where(Person.email == email, Person.id != person_id))):
        raise ValueError(f"another account has the address {email}")
    s.execute(update(Person).where(Person.id == person_id).values(**values))


def owners(s: Session) -> list[int]:
    """Ids of the accounts that are owners and not disabled; they stay so until this transaction ends."""
    mine = (_IS_ACCOUNT, Person.role == Role.OWNER, ~Person.disabled)
    return list(s.scalars(select(Person.id).where(*mine).order_by(Person.id).with_for_update()))


def add_login(s: Session, token_hash: str, person_id: int, expires_at: datetime) -> None:
    """Sign a browser in; what has long expired goes."""
    s.execute(delete(Login).where(Login.expires_at < now()))
    s.add(Login(token_hash=token_hash, person_id=person_id, expires_at=expires_at))


def login(s: Session, token_hash: str) -> LoginRow | None:
    """The login of this token, if it stands: not expired, not ended, and its account not disabled."""
    row = s.execute(_STANDING, {"token_hash": token_hash, "now": now()}).one_or_none()
    return None if row is None else LoginRow(row[0], AccountRow(*row[2:]), row[1])


_STANDING = (  # built once: it runs at every request
    select(Login.id, Login.expires_at, *_COLUMNS)
    .join(Person, Person.id == Login.person_id)
    .where(Login.token_hash == bindparam("token_hash"), Login.expires_at > bindparam("now"))
    .where(Login.ended_at.is_(None), ~Person.disabled)
)


def end_logins(s: Session, *, token_hash: str | None = None, person_id: int | None = None) -> None:
    """Sign out one browser, or all of a person's."""
    which = Login.token_hash == token_hash if person_id is None else Login.person_id == person_id
    s.execute(update(Login).where(which, Login.ended_at.is_(None)).values(ended_at=now()))


def add_failure(s: Session, name: str, address: str) -> None:
    s.add(LoginFailure(name=name, address=address))


def failures(s: Session, since: datetime, **where: str) -> tuple[int, datetime | None]:
    """How many attempts failed since, and when the first of them was; `where`: name, address or both."""
    query: Select = select(func.count(), func.min(LoginFailure.at)).where(LoginFailure.at > since)
    count, first = s.execute(query.filter_by(**where)).one()
    return count, first


def forget_failures(s: Session, name: str, address: str) -> None:
    """Delete those of a name and address: it was the right password after all."""
    s.execute(delete(LoginFailure).where(LoginFailure.name == name, LoginFailure.address == address))


def forget_failures_before(s: Session, moment: datetime) -> None:
    """Delete the old ones. Attempts that come at once wait here, so that each counts those before it."""
    one_at_a_time(s, "login_failure")
    s.execute(delete(LoginFailure).where(LoginFailure.at < moment))


def _one(s: Session, condition, missing: str) -> AccountRow:
    row = s.execute(select(*_COLUMNS).where(_IS_ACCOUNT, condition)).one_or_none()
    if row is None:
        raise LookupError(missing)
    return AccountRow(*row)
