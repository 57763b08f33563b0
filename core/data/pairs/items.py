"""What a source of image–text pairs gives: an item for each row or key, sound or not, always in the same order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from PIL import Image

from core.errors import UnreadableImage
from core.image_files import printable
from core.images import read_image


@dataclass(frozen=True, slots=True)
class Pair:
    """One image, undecoded, with its text; `name` is for messages only."""

    name: str
    text: str
    image: Path | bytes

    def read(self, max_side: int) -> Image.Image:
        """The image as `read_image` gives it; UnreadableImage carries the reason alone, without the name."""
        if isinstance(self.image, Path):
            return _read(self.image, max_side)
        with _in_memory(self.image) as path:
            return _read(path, max_side)


@dataclass(frozen=True, slots=True)
class Broken:
    """What cannot be used, and why."""

    name: str
    reason: str


Item = Pair | Broken


class Source(Protocol):
    """One file of pairs."""

    @property
    def identity(self) -> str:
        """Changes when the file does."""

    def expected(self) -> int:
        """About how many items there are; cheap."""

    def items(self, skip: int) -> Iterator[Item | None]:
        """All items in order; the first `skip` of them come as None and cost little."""


def _read(path: Path, max_side: int) -> Image.Image:
    try:
        return read_image(path, max_side=max_side)
    except UnreadableImage as error:
        raise UnreadableImage(str(error).removeprefix(f"{printable(path.name)}: ")) from error


@contextmanager
def _in_memory(content: bytes) -> Iterator[Path]:
    """A path that reads as `content`, which lies in memory and on no disk (Linux)."""
    with open(os.memfd_create("image"), "wb") as file:
        file.write(content)
        file.flush()
        yield Path(f"/proc/self/fd/{file.fileno()}")
