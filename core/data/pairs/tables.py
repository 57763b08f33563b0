"""Image–text pairs from a CSV file: a column that names the image, and one or more of texts."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from core.data.pairs.items import Broken, Item, Pair
from core.errors import InputError

FILE_COLUMNS = ("file_name", "filepath", "file", "image", "path")
TEXT_COLUMNS = ("caption", "text", "title")
CLASS_COLUMNS = ("class_index", "class_name")  # of labels.csv: an image and its ImageNet class
CLASS_TEXT = "a photo of a {}"


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file (or one with tabs) whose rows are pairs; paths in it are relative to its folder or to images/ there.

    The text is the column caption, text or title; without one of these the last column that is not empty, which of
    captions from general to specific is the most specific. `hold_out`: so many last rows are left out.
    """

    path: Path
    hold_out: int = 0

    @property
    def identity(self) -> str:
        about = self.path.stat()
        return f"{self.path.resolve()} {about.st_size} {about.st_mtime_ns} {self.hold_out}"

    def expected(self) -> int:
        """How many rows there are: exact, one read of the file."""
        return max(0, sum(1 for _ in self._rows()) - self.hold_out)

    def items(self, skip: int) -> Iterator[Item | None]:
        """One item a row. Raises InputError where the file is no such table."""
        rows = islice(self._rows(), self.expected() if self.hold_out else None)
        for number, row in enumerate(rows):
            yield None if number < skip else self._item(number, row)

    def _item(self, number: int, row: Mapping[str, str]) -> Item:
        name = next((row[column] for column in FILE_COLUMNS if column in row), "")
        if not name:
            return Broken(f"{self.path.name}, row {number + 1}", "it names no image")
        text = _text(row)
        return Pair(name, text, locate(self.path.parent, name)) if text else Broken(name, "it has no caption")

    def _rows(self) -> Iterator[dict[str, str]]:
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                header = file.readline(65536)
                file.seek(0)
                reader = csv.DictReader(file, delimiter="\t" if header.count("\t") > header.count(",") else ",")
                reader.fieldnames = [name.strip().lower() for name in reader.fieldnames or ()]
                self._check(reader.fieldnames)
                for row in reader:
                    yield {name: text.strip() for name, text in row.items() if name and isinstance(text, str)}
        except (csv.Error, UnicodeDecodeError) as error:
            raise InputError(f"{self.path} is no CSV file in UTF-8 ({error}): save it as one") from error

    def _check(self, columns: list[str]) -> None:
        if not set(columns) & set(FILE_COLUMNS) or len(columns) < 2:
            raise InputError(
                f"{self.path} has the columns {', '.join(columns) or '(none)'}: it needs file_name and caption"
            )


def locate(folder: Path, name: str) -> Path:
    """Where `name` of a table in `folder` lies: under images/ there, else in the folder itself."""
    inside = (folder / "images" / name, folder / name)
    return next((path for path in inside if os.path.exists(path)), inside[-1])


def _text(row: Mapping[str, str]) -> str:
    if CLASS_COLUMNS[1] in row:
        return CLASS_TEXT.format(row[CLASS_COLUMNS[1]]) if row[CLASS_COLUMNS[1]] else ""
    named = [row[column] for column in TEXT_COLUMNS if column in row]
    texts = named or [text for column, text in row.items() if column not in FILE_COLUMNS]
    return next(filter(None, reversed(texts)), "")
