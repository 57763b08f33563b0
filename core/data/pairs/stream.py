"""Many sources of image–text pairs as one stream that can be taken up again at any item."""

from __future__ import annotations

import glob
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from core.data.pairs.items import Item, Source
from core.data.pairs.tables import Table
from core.data.pairs.tars import SUFFIXES, Tar
from core.errors import InputError

NAMED = "labels.csv"  # images with the names of their classes: every one is needed
TABLES = ("captions.csv", NAMED, "metadata.csv")  # what a folder of pairs calls its CSV file
MOST_FILES = 100_000
_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")


@dataclass(frozen=True, slots=True)
class PairStream:
    """The items of all `sources`, one after the other."""

    sources: tuple[Source, ...]

    @property
    def identity(self) -> str:
        """Sixteen hex digits that change when a source is added or a CSV file or tar was written to."""
        return hashlib.sha256("\n".join(source.identity for source in self.sources).encode()).hexdigest()[:16]

    def expected(self) -> int:
        """About how many items come."""
        return sum(source.expected() for source in self.sources)

    def items(self, skip: int = 0) -> Iterator[Item]:
        """All items but the first `skip`."""
        for source in self.sources:
            for item in source.items(skip):
                if item is None:
                    skip -= 1
                else:
                    yield item


def open_pairs(sources: Sequence[str | Path], hold_out: int = 0) -> PairStream:
    """The pairs of folders, CSV files, tars, and patterns of these (`shard-{000000..000031}.tar`, `part-*.tar`).

    `hold_out`: so many last rows of each CSV file of captions are left out. Raises InputError for anything else.
    """
    if hold_out < 0:
        raise InputError(f"rows to hold out are 0 or more, {hold_out} came")
    paths = [path for source in sources for path in _expand(str(source))]
    found = tuple(one for path in paths for one in _sources(path, hold_out))
    if hold_out and any(isinstance(source, Tar) for source in found):
        raise InputError("rows can be held out of CSV files only: leave a tar out instead")
    if not found:
        raise InputError("name a folder, a CSV file or tars of image–text pairs")
    return PairStream(found)


def _sources(path: Path, hold_out: int) -> list[Source]:
    if path.is_dir():
        tables = [path / name for name in TABLES if (path / name).exists()] or sorted(path.glob("*.csv"))
        if tables:
            return [Table(tables[0], 0 if tables[0].name == NAMED else hold_out)]
        if tars := sorted(each for each in path.iterdir() if each.name.lower().endswith(SUFFIXES)):
            return [Tar(each) for each in tars]
        raise InputError(f"{path} has neither captions.csv (file_name, captions…), labels.csv (class names) nor tars")
    if not path.is_file():
        raise InputError(f"there is no file or folder {path}")
    if path.name.lower().endswith(SUFFIXES):
        return [Tar(path)]
    if path.suffix.lower() in (".csv", ".tsv"):
        return [Table(path, hold_out)]
    raise InputError(f"{path} is neither a folder, a CSV file nor a tar ({', '.join(SUFFIXES)})")


def _expand(pattern: str) -> list[Path]:
    """The paths that a pattern of braces and wildcards stands for, in the order of their names."""
    if "://" in pattern or pattern.startswith("pipe:"):
        raise InputError(f"{pattern}: pairs are read from files on this machine; fetch the shards first")
    if Path(pattern).exists():
        return [Path(pattern)]
    paths = []
    for name in _braces(pattern):
        matches = sorted(glob.glob(name)) if glob.has_magic(name) else [name]
        if not matches:
            raise InputError(f"no file matches {name}")
        paths += [Path(match) for match in matches]
    return paths


def _braces(pattern: str) -> list[str]:
    choices = [_choices(inside) for inside in _BRACES.findall(pattern)]
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > MOST_FILES:
        raise InputError(f"{pattern} stands for {count:,} files, over the limit of {MOST_FILES:,}")
    pieces = _BRACES.sub("{}", pattern).split("{}")
    return ["".join(a + b for a, b in zip(pieces, (*chosen, ""), strict=True)) for chosen in product(*choices)]


def _choices(inside: str) -> Sequence[str]:
    """`000..031` counts, keeping the zeros; `a,b` lists."""
    if not (span := _RANGE.fullmatch(inside)):
        return inside.split(",")
    first, last = span.groups()
    if int(last) - int(first) >= MOST_FILES or int(last) < int(first):
        raise InputError(f"{{{inside}}} counts no range of 1 to {MOST_FILES:,} files")
    return [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
