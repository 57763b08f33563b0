"""Files from a zip or from a browser, put into a new folder within limits; core/data/shelf.py says what is left out."""

from __future__ import annotations

import stat
import struct
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from core.data.shelf import DAMAGE, Limits, Shelf, Unpacked, check_room, inner, refusal, staging, why
from core.errors import InputError
from core.image_files import printable
from core.values import Progress, silent

__all__ = ["Limits", "Unpacked", "save_uploads", "unpack"]

FREE_BYTES = 64 * 2**20  # that an archive may unpack to whatever its own size
_END, _END_SIZE = b"PK\5\6", 22
_LOCATOR, _LOCATOR_SIZE = b"PK\6\7", 20
_END64, _END64_SIZE = b"PK\6\6", 56
_LONGEST_COMMENT = 1 << 16
_MS_DOS = 0  # the system that writes names with backslashes


def unpack(
    archive: Path,
    folder: Path,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    on_progress: Progress = silent,
) -> Unpacked:
    """The files of a zip in `folder`, which is new or empty.

    Left out, each with its reason: names that lead out, links, devices, files behind a password, damaged ones, archives
    within. Raises InputError for what is no zip or is over a limit, with nothing written.
    """
    entries = _entries(archive, limits)
    with staging(folder) as shelf, _open(archive) as file:
        check_room(shelf.folder, sum(entry.file_size for entry in entries), limits)
        for done, entry in enumerate(entries):
            on_progress(done, len(entries), "unpacking")
            if not entry.is_dir():
                _take(shelf, file, entry, limits)
        on_progress(len(entries), len(entries), "unpacking")
    return Unpacked(inner(folder), shelf.left_out)


def save_uploads(
    files: Sequence[tuple[str, IO[bytes]]],
    folder: Path,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    on_progress: Progress = silent,
) -> Unpacked:
    """(name, content) of files that a browser sent, in `folder`, which is new or empty; a name may have folders in it.

    Raises InputError where they are over a limit, with nothing written.
    """
    if len(files) > limits.files:
        raise InputError(f"{len(files):,} files came: upload {limits.files:,} at most at once, or import a folder")
    total = 0
    with staging(folder) as shelf:
        for done, (name, content) in enumerate(files):
            on_progress(done, len(files), "saving files")
            check_room(shelf.folder, 0, limits)
            total += shelf.take(name, content, limits.file_bytes)
            if total > limits.total_bytes:
                raise InputError(f"the files have more than {limits.total_bytes:,} bytes: upload them in parts")
        on_progress(len(files), len(files), "saving files")
    return Unpacked(inner(folder), shelf.left_out)


def _take(shelf: Shelf, file: zipfile.ZipFile, entry: zipfile.ZipInfo, limits: Limits) -> None:
    name, mode = _name(entry), entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return shelf.leave(name, "a link: add what it leads to" if stat.S_ISLNK(mode) else "not a file but a device")
    if entry.flag_bits & 1:
        return shelf.leave(name, "it is protected by a password: make the archive without one")
    if (reason := refusal(name)) is not None:  # before it is opened, which may fail for reasons of its own
        return shelf.leave(name, reason)
    try:
        content = file.open(entry)
    except DAMAGE as error:
        return shelf.leave(name, why(error))
    with content:
        shelf.take(name, content, limits.file_bytes)


def _entries(archive: Path, limits: Limits) -> list[zipfile.ZipInfo]:
    """What the archive says that it holds, once that is found to be within the limits."""
    size = archive.stat().st_size
    if (index := _index_bytes(archive, size)) > limits.index_bytes:
        raise InputError(f"the archive's list of files has {index:,} bytes: split it, {limits.index_bytes:,} are read")
    with _open(archive) as file:
        entries = file.infolist()
    total = sum(entry.file_size for entry in entries)
    most = min(limits.total_bytes, limits.ratio * size + FREE_BYTES)
    if len(entries) > limits.files:
        raise InputError(f"the archive holds {len(entries):,} files: split it, {limits.files:,} are read at once")
    if total > most:
        raise InputError(
            f"the archive of {size:,} bytes unpacks to {total:,}: over the limit of {most:,}, so nothing was unpacked"
        )
    return entries


def _index_bytes(archive: Path, size: int) -> int:
    """How much of the archive zipfile takes for its list of files and reads at once; 0 where it finds none."""
    with archive.open("rb") as file:
        file.seek(max(0, size - _LONGEST_COMMENT - _END_SIZE - _LOCATOR_SIZE - _END64_SIZE))
        tail = file.read()
    last = len(tail) - _END_SIZE
    at = last if tail[last : last + 4] == _END and tail.endswith(b"\0\0") else tail.rfind(_END)
    if at < 0 or len(tail) < at + _END_SIZE:
        return 0
    said = struct.unpack_from("<L", tail, at + 12)[0]
    start = at - _LOCATOR_SIZE - _END64_SIZE
    if start < 0 or tail[at - _LOCATOR_SIZE :][:4] != _LOCATOR or tail[start : start + 4] != _END64:
        return min(said, size)
    return min(struct.unpack_from("<Q", tail, start + 40)[0], size)


@contextmanager
def _open(archive: Path) -> Iterator[zipfile.ZipFile]:
    try:
        file = zipfile.ZipFile(archive)
    except (*DAMAGE, struct.error) as error:
        raise InputError(f"{printable(archive.name)} is no zip archive, or a damaged one ({error})") from error
    with file:
        yield file


def _name(entry: zipfile.ZipInfo) -> str:
    """The name as its writer meant it: UTF-8 that is not marked as such is frequent, backslashes come from DOS."""
    name = entry.orig_filename
    if not entry.flag_bits & 0x800:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/") if entry.create_system == _MS_DOS else name
