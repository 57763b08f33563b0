"""Image–text pairs from webdataset tars: `key.jpg` beside `key.txt` or `key.json`, read as a stream.

Nothing is written to disk and no name in an archive is ever a path: hostile ones can only look odd in a message. Memory
is one pair's, whatever the archive claims about its sizes.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, islice
from pathlib import Path, PurePosixPath
from typing import IO, cast

from core.data.pairs.items import Broken, Item, Pair
from core.image_files import printable

SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
NAME_LENGTH = 200  # characters of a member's name that a message shows
PROBED = 100  # pairs from whose mean size the number of all is estimated


class Kind(StrEnum):
    """What a member is to its pair."""

    IMAGE = "image"
    TEXT = "text"
    JSON = "json"


KINDS = {ext: Kind.IMAGE for ext in ("jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff")}
KINDS |= {"txt": Kind.TEXT, "json": Kind.JSON}
LIMITS = {Kind.IMAGE: 64 * 2**20, Kind.TEXT: 2**20, Kind.JSON: 4 * 2**20}  # bytes of one member
JSON_TEXTS = ("caption", "text", "txt")
OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
DAMAGED = (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError, ValueError, RecursionError)


@dataclass(frozen=True, slots=True)
class Tar:
    """One archive of pairs."""

    path: Path

    @property
    def identity(self) -> str:
        about = self.path.stat()
        return f"{self.path.resolve()} {about.st_size} {about.st_mtime_ns}"

    def expected(self) -> int:
        """The number of pairs, if all are as large as the first hundred."""
        try:
            with _opened(self.path) as archive:
                seen = sum(1 for _ in islice(groupby(_members(archive), _key), PROBED))
                return round(seen * max(1.0, self.path.stat().st_size / max(archive.offset, 1)))
        except DAMAGED:
            return 0

    def items(self, skip: int) -> Iterator[Item | None]:
        """One item a key; what follows a damaged place in the archive is lost, and said so once."""
        number = 0
        try:
            with _opened(self.path) as archive:
                for key, members in groupby(_members(archive), _key):
                    found: dict[Kind, bytes | None] = {}
                    for member in members:
                        kind = KINDS[_suffix(member)]
                        if kind not in found:
                            found[kind] = _content(archive, member, kind) if number >= skip else b""
                    yield self._item(key, found) if number >= skip else None
                    number += 1
        except DAMAGED as error:
            reason = f"the archive is damaged after {number} pairs ({error or type(error).__name__})"
            yield Broken(self.path.name, reason) if number >= skip else None

    def _item(self, key: str, found: dict[Kind, bytes | None]) -> Item:
        name = f"{self.path.name}:{printable(key)[:NAME_LENGTH]}"
        for kind, content in found.items():
            if content is None:
                return Broken(name, f"its {kind} is over the limit of {LIMITS[kind] // 2**20} MiB")
        image, text = found.get(Kind.IMAGE), _text(found)
        if image is None or text is None:
            return Broken(name, "it has no image" if image is None else "it has no caption in UTF-8")
        return Pair(name, text, image)


class _Guard:
    """A file that gives no more than the largest limit in one read: an archive's headers may claim any size."""

    def __init__(self, file: IO[bytes]):
        self.seek, self.tell, self._read = file.seek, file.tell, file.read

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= max(LIMITS.values()):
            raise tarfile.ReadError(f"a header that claims {size} bytes")
        return self._read(size)


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    with path.open("rb") as file:
        start = file.read(6)
    opener = next((opener for magic, opener in OPENERS.items() if start.startswith(magic)), open)
    with opener(path, "rb") as file, tarfile.TarFile(fileobj=cast(IO[bytes], _Guard(file))) as archive:
        yield archive


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The regular files that are part of a pair; links, devices, hidden and foreign files are passed over."""
    reached = -1
    while (member := archive.next()) is not None:
        archive.members.clear()  # tarfile would remember every member
        if member.size < 0 or archive.offset <= reached:
            raise tarfile.ReadError("a header that points backwards")
        reached = archive.offset
        if member.isreg() and not PurePosixPath(member.name).name.startswith(".") and _suffix(member) in KINDS:
            yield member


def _key(member: tarfile.TarInfo) -> str:
    folder, _, name = member.name.rpartition("/")
    return f"{folder}/{name.partition('.')[0]}"


def _suffix(member: tarfile.TarInfo) -> str:
    return member.name.rpartition(".")[2].lower()


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo, kind: Kind) -> bytes | None:
    if member.size > LIMITS[kind]:
        return None
    file = archive.extractfile(member)
    assert file is not None  # only links and folders have none
    content = file.read(member.size)
    if len(content) < member.size:
        raise EOFError("it ends early")
    return content


def _text(found: dict[Kind, bytes | None]) -> str | None:
    """The caption, from the text file or else from the JSON file; None where there is none."""
    try:
        if text := (found.get(Kind.TEXT) or b"").decode("utf-8").strip():
            return text
        about = json.loads(found.get(Kind.JSON) or b"null")
    except (ValueError, RecursionError):
        return None
    texts = [about.get(name) for name in JSON_TEXTS] if isinstance(about, dict) else []
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), None)
