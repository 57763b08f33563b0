"""Who is at the other end of a connection, and which of Streamlit's sessions is whose."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from db.repository.accounts import LoginRow

MOST = 10_000  # sessions remembered


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody signed in (`login`), or one of those below; `key` is the same for the same login."""

    key: str
    login: LoginRow | None = None

    @classmethod
    def of(cls, login: LoginRow | None) -> Visitor:
        return cls(f"login {login.id}", login) if login else GUEST


ANYBODY = Visitor("anybody")  # at a server without accounts, on its own machine
GUEST = Visitor("guest")  # not signed in: may sign in
CLOSED = Visitor("closed")  # from elsewhere, at a server without accounts: may nothing
UNSURE = Visitor("unsure")  # the database did not answer: may nothing now

_sessions: OrderedDict[str, str] = OrderedDict()


def bind(session: str, visitor: Visitor) -> None:
    """Remember whose this session of Streamlit's is."""
    _sessions[session] = visitor.key
    while len(_sessions) > MOST:
        _sessions.popitem(last=False)


def belongs(session: str, visitor: Visitor) -> bool:
    """A session of a time without accounts is anybody's, as long as that lasts."""
    return _sessions.get(session, ANYBODY.key) == visitor.key
