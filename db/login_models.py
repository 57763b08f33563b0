"""The tables behind a login: who is signed in where, and which attempts failed."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from db.base import Base, now


class Login(Base):
    """One browser that is signed in; the cookie holds what hashes to `token_hash`, the database never does."""

    __tablename__ = "login"
    __table_args__ = (Index("login_by_person", "person_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)  # SHA-256, hexadecimal
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]  # signed out, or the password was changed


class LoginFailure(Base):
    """An attempt that failed, or is being tried: counted for a while, then deleted."""

    __tablename__ = "login_failure"
    __table_args__ = (Index("login_failure_by_address", "address", "at"), Index("login_failure_by_name", "name", "at"))

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100))  # as typed, case folded; whether there is such a person or not
    address: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime] = mapped_column(default=now)
