"""A new folder that is filled file by file: nothing outside it, no link, no surprise; complete or not there at all.

Names are data: one that leads out of the folder, or that no file can have, is left out and said.
"""

from __future__ import annotations

import lzma
import os
import re
import shutil
import uuid
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from core.data.scan import HIDDEN, SYSTEM_NAMES, Ignored
from core.errors import InputError

PIECE = 1 << 20  # bytes
ARCHIVES = frozenset({".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".rar", ".zst"})
TABLES = frozenset({".csv", ".tsv", ".json", ".jsonl", ".parquet", ".txt"})  # what says how a folder is to be read
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
)
LONGEST_PATH = 2000  # bytes; systems take 4,096 with the folders above
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


@dataclass(frozen=True, slots=True)
class Limits:
    """What an archive may hold, in files and bytes; `ratio`: bytes out for each byte in, beyond the first 64 MiB."""

    files: int = 500_000
    file_bytes: int = 512 * 2**20
    total_bytes: int = 64 * 2**30
    ratio: int = 200
    index_bytes: int = 64 * 2**20  # of the archive's list of files, which is read at once
    spare_bytes: int = 2**30  # that stay free on the disk


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The folder to read, and what of the archive is not in it.

    `folder` is the one that all files lie in where an archive wraps them in one; below the folder asked for.
    """

    folder: Path
    left_out: tuple[Ignored, ...]


class Shelf:
    """A new folder that is being filled, and what was left out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._left_out: dict[tuple[str, str], Ignored] = {}

    @property
    def left_out(self) -> tuple[Ignored, ...]:
        return tuple(self._left_out.values())

    def leave(self, name: str, reason: str) -> None:
        key = (reason, "" if reason.startswith(HIDDEN) else name)
        first = self._left_out.get(key)
        self._left_out[key] = Ignored(first.path if first else _shown(name), reason, first.count + 1 if first else 1)

    def take(self, name: str, content: IO[bytes], most: int) -> int:
        """The bytes written of a file, 0 where it was left out."""
        reason = refusal(name)
        if reason is None:
            try:
                return self._write(name, content, most)
            except LeftOut as left:
                reason = str(left)
        self.leave(name, reason)
        return 0

    def _write(self, name: str, content: IO[bytes], most: int) -> int:
        path = self.folder.joinpath(*_parts(name))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                try:
                    return _copy(content, file, most)
                except BaseException:
                    path.unlink()
                    raise
        except FileExistsError:
            raise LeftOut("another file or folder has the same name") from None
        except NotADirectoryError:
            raise LeftOut("its folder has the name of a file") from None


class LeftOut(Exception):
    """Why one file is not taken, while the others go on."""


def refusal(name: str) -> str | None:
    """Why a file of this name, with / between the folders, is not written; None where it may be."""
    parts = _parts(name)
    if not parts or name.startswith(("/", "\\")) or _DRIVE.match(name) or ".." in name.replace("\\", "/").split("/"):
        return "its name leads out of the folder: it was not written"
    if "\0" in name:
        return "its name holds a zero byte: it was not written"
    if name != name.encode(errors="replace").decode():
        return "its name is no text: rename it"
    if any(part.startswith(".") or part.lower() in SYSTEM_NAMES for part in parts):
        return f"{HIDDEN}, or kept by the system"
    if any(len(part.encode()) > 255 for part in parts) or len(name.encode()) > LONGEST_PATH:
        return "its name is longer than 255 bytes: shorten it"
    if Path(parts[-1]).suffix.lower() in ARCHIVES:
        return "an archive within the archive: unpack it and add its files"
    return None


def _copy(content: IO[bytes], file: IO[bytes], most: int) -> int:
    size = 0
    while True:
        try:
            piece = content.read(PIECE)
        except DAMAGE as error:  # of the source, or of what unpacks it
            raise LeftOut(why(error)) from error
        if not piece:
            return size
        size += len(piece)
        if size > most:
            raise LeftOut(f"it has more than {most:,} bytes, which no image needs")
        file.write(piece)


@contextmanager
def staging(folder: Path) -> Iterator[Shelf]:
    """A shelf beside `folder` that becomes it at the end; whatever is raised inside leaves nothing behind."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise InputError(f"{folder} holds something already: name a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.with_name(f".{uuid.uuid4().hex}.unpacking")
    unfinished.mkdir()
    try:
        yield Shelf(unfinished)
        os.replace(unfinished, folder)
    except OSError as error:
        raise InputError(f"the files could not be written ({error.strerror or error}): is the disk full?") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def check_room(folder: Path, more: int, limits: Limits) -> None:
    free = shutil.disk_usage(folder).free - more
    if free < limits.spare_bytes:
        raise InputError(f"the disk has no room for this ({free:,} bytes would stay free): free some first")


def inner(folder: Path) -> Path:
    """The folder that all lies in, where an archive wraps several folders or a table in one; else `folder`."""
    inside = list(folder.iterdir())
    if len(inside) != 1 or not inside[0].is_dir():
        return folder
    below = list(inside[0].iterdir())
    wraps = sum(each.is_dir() for each in below) >= 2 or any(each.suffix.lower() in TABLES for each in below)
    return inside[0] if wraps else folder


def _parts(name: str) -> list[str]:
    return [part for part in name.split("/") if part not in ("", ".")]


def _shown(name: str) -> str:
    return name.replace("\0", "\\0").encode(errors="backslashreplace").decode()[:300]


def why(error: Exception) -> str:
    return f"it is damaged, or packed in a way that is not read ({error or type(error).__name__})"
