"""Passwords as they are kept: scrypt of the standard library, at OWASP's cost (32 MiB, a quarter of a second).

Kept is `scrypt$n$r$p$salt$digest`, so that a later cost can stand beside an earlier one.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import unicodedata
from base64 import b64decode, b64encode
from dataclasses import dataclass

from core.errors import InputError

SHORTEST, LONGEST = 10, 200  # characters; the longest bounds the work of one attempt
SALT_BYTES, DIGEST_BYTES = 16, 32


@dataclass(frozen=True, slots=True)
class Cost:
    """scrypt's parameters (RFC 7914): memory is 128·n·r bytes, time grows with n·r·p."""

    n: int = 2**15
    r: int = 8
    p: int = 3

    def digest(self, password: str, salt: bytes) -> bytes:
        memory = 128 * self.r * (self.n + self.p + 2)
        return hashlib.scrypt(
            _bytes(password), salt=salt, n=self.n, r=self.r, p=self.p, maxmem=memory, dklen=DIGEST_BYTES
        )


COST = Cost()


def checked(password: str, name: str) -> str:
    """The password, if it may be one for `name`. Raises InputError that says what is missing."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InputError(f"a password has {SHORTEST} to {LONGEST} characters, this one has {len(password)}")
    if len(set(password)) < 4 or password.casefold() == name.casefold():
        raise InputError("this password is guessed at once: take several words, or let a password manager draw one")
    return password


def hashed(password: str, cost: Cost | None = None) -> str:
    """What to keep of a password: a new salt each time."""
    cost, salt = cost or COST, secrets.token_bytes(SALT_BYTES)
    digest = cost.digest(password, salt)
    return "$".join(
        ("scrypt", str(cost.n), str(cost.r), str(cost.p), *(b64encode(each).decode() for each in (salt, digest)))
    )


def matches(password: str, kept: str | None) -> bool:
    """Whether the password is the one kept, in the same time whether not, nearly, or nothing is kept."""
    if len(password) > LONGEST:
        return False
    cost, salt, digest = _parts(kept) if kept else (COST, bytes(SALT_BYTES), b"")
    return hmac.compare_digest(cost.digest(password, salt), digest)


def _parts(kept: str) -> tuple[Cost, bytes, bytes]:
    kind, n, r, p, salt, digest = kept.split("$")
    if kind != "scrypt":
        raise ValueError(f"a password is kept as scrypt here, not as {kind}")
    return Cost(int(n), int(r), int(p)), b64decode(salt), b64decode(digest)


def _bytes(password: str) -> bytes:
    """The same bytes from every keyboard: an accent may come as one character or as two."""
    return unicodedata.normalize("NFC", password).encode()
