"""A folder as a zip, made while it is sent: nothing is written, and memory stays the same at any size."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

from core.image_files import printable

PIECE = 1 << 20  # bytes
LARGE = 2**31 - 2**20  # bytes of a file whose size needs the longer field
FASTEST = 1  # images do not get smaller, tables get much smaller at any level


def packed(folder: Path) -> Iterator[bytes]:
    """The zip of all files below `folder`, sorted by name, piece by piece. Links are left out."""
    out = _Pieces()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=FASTEST) as archive:
        for path in _files(folder):
            name, large = printable(path.relative_to(folder).as_posix()), path.stat().st_size > LARGE
            with path.open("rb") as source, archive.open(name, "w", force_zip64=large) as target:
                while piece := source.read(PIECE):
                    target.write(piece)
                    yield out.take()
    yield out.take()


def _files(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(where, name)
            if path.is_file() and not path.is_symlink():
                yield path


class _Pieces(io.RawIOBase):
    """Takes what is written until it is taken away."""

    def __init__(self) -> None:
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        self._held += data
        return len(data)

    def take(self) -> bytes:
        taken, self._held = bytes(self._held), bytearray()
        return taken
