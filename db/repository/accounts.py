"""Who may sign in, who is signed in, and which attempts failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, delete, exists, func, or_, select, update
from sqlalchemy.orm import Session

from db.base import Role, now
from db.login_models import Login, LoginFailure
from db.models import Person

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
    return [_account(person) for person in s.scalars(select(Person).where(_IS_ACCOUNT).order_by(Person.name))]


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
    """Ids of the accounts that are owners and not disabled."""
    return list(s.scalars(select(Person.id).where(_IS_ACCOUNT, Person.role == Role.OWNER, ~Person.disabled)))


def add_login(s: Session, token_hash: str, person_id: int, expires_at: datetime) -> None:
    """Sign a browser in; what has long expired goes."""
    s.execute(delete(Login).where(Login.expires_at < now()))
    s.add(Login(token_hash=token_hash, person_id=person_id, expires_at=expires_at))


def login(s: Session, token_hash: str) -> LoginRow | None:
    """The login of this token, if it stands: not expired, not ended, and its account not disabled."""
    open_ = (Login.token_hash == token_hash, Login.ended_at.is_(None), Login.expires_at > now())
    query = select(Login.id, Login.expires_at, Person).join(Person, Person.id == Login.person_id)
    row = s.execute(query.where(*open_, ~Person.disabled)).one_or_none()
    return None if row is None else LoginRow(row[0], _account(row[2]), row[1])


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
    s.execute(delete(LoginFailure).where(LoginFailure.at < moment))


def _account(person: Person) -> AccountRow:
    has_password = person.password_hash is not None
    return AccountRow(person.id, person.name, person.role, person.email, has_password, person.disabled)


def _one(s: Session, condition, missing: str) -> AccountRow:
    person = s.scalar(select(Person).where(_IS_ACCOUNT, condition))
    if person is None:
        raise LookupError(missing)
    return _account(person)
