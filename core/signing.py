"""What this server signs, so that it knows it again: cookies and forms. The key is a file in the data folder."""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path

from itsdangerous import BadSignature, Signer

from core.config import home
from core.errors import InputError

KEY_BYTES = 32


def signed(text: str, purpose: str) -> str:
    """`text` with a signature (HMAC-SHA-256) that is good for this purpose alone."""
    return _signer(purpose).sign(text).decode()


def unsigned(text: str | None, purpose: str) -> str | None:
    """What was signed for this purpose; None for anything else."""
    try:
        return _signer(purpose).unsign(text or "").decode()
    except (BadSignature, UnicodeError):
        return None


def _signer(purpose: str) -> Signer:
    return Signer(key(), salt=f"penumbra.{purpose}", digest_method=hashlib.sha256)


def key() -> bytes:
    """The key, drawn when first asked for. Raises InputError where others on this machine can read it."""
    file = home() / "secret.key"
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        _draw(file)
        mode = file.stat().st_mode
    if mode & 0o077:
        raise InputError(f"others can read the key that logins are signed with: chmod 600 {file}")
    return file.read_bytes()


def _draw(file: Path) -> None:
    """Whole or not at all, and once: of two processes the first one's stays."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as handle:
        handle.write(secrets.token_bytes(KEY_BYTES))
    with suppress(FileExistsError):
        os.link(draft, file)
    draft.unlink()
