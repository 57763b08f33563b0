"""Texts as people give them: typed one a line, or in a .txt or .csv file; what was left out is said."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO

from core.errors import InputError
from pages.parts.text import count

MOST_TEXTS = 2000
MOST_CHARACTERS = 10_000  # of one text: far beyond what any text tower reads
MOST_MEGABYTES = 2
NAMES = ("text", "caption", "prompt", "sentence", "title")  # columns that most likely hold the texts
BYTE_ORDERS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


@dataclass(frozen=True, slots=True)
class Typed:
    """Distinct texts in the order they came, how often each came, and what was done to get there."""

    texts: tuple[str, ...]
    times: tuple[int, ...]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


def listed(lines: Iterable[str]) -> Typed:
    """Blank lines go, white space within a text becomes one space, a text that comes twice is taken once."""
    cleaned = [" ".join(line.split()) for line in lines]
    given = [text for text in cleaned if text]
    counted = Counter(text[:MOST_CHARACTERS] for text in given)
    texts = list(counted)[:MOST_TEXTS]
    return Typed(tuple(texts), tuple(counted[text] for text in texts), tuple(_notes(given, counted)))


def _notes(given: list[str], counted: Counter[str]) -> Iterable[str]:
    if repeated := len(given) - len(counted):
        yield f"{count(repeated, 'line')} said again what another says: each text is shown once, with its count."
    if (left := len(counted) - MOST_TEXTS) > 0:
        yield f"Only the first {MOST_TEXTS:,} texts are read; {left:,} more are left out."
    if long := sum(len(text) > MOST_CHARACTERS for text in given):
        yield f"{count(long, 'text')} had more than {MOST_CHARACTERS:,} characters and was shortened to that."


def decoded(data: bytes) -> tuple[str, str]:
    """A file's text and what is to be said about its encoding, "" for UTF-8. Raises InputError for what is no text."""
    if len(data) > MOST_MEGABYTES * 10**6:
        raise InputError(f"the file has {len(data) / 1e6:.1f} MB, at most {MOST_MEGABYTES} are read: give a part of it")
    marked = next((name for mark, name in BYTE_ORDERS.items() if data.startswith(mark)), None)
    for encoding, note in (
        (marked or "utf-8", ""),
        ("cp1252", "This file is not UTF-8; it was read as Windows-1252. Look whether accents came out right."),
    ):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text, note
    raise InputError("this file holds no text that could be read: save it as UTF-8 text or CSV")


def columns(text: str) -> dict[str, list[str]]:
    """The columns of a CSV by name, the likeliest to hold the texts first; a nameless or double column has a number.

    Raises InputError where there is nothing, or no CSV.
    """
    try:
        dialect = csv.Sniffer().sniff(text[:8192], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel  # one column: nothing to sniff
    try:
        header, *rows = [row for row in csv.reader(StringIO(text), dialect) if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise InputError(f"this is no CSV that could be read ({error}): save it again, or give a .txt") from error
    except ValueError as error:
        raise InputError("this file has no line in it: give one text a line") from error
    named: dict[str, list[str]] = {}
    for number, cell in enumerate(header):
        name = cell.strip()
        name = f"column {number + 1}" if not name or name in named else name
        named[name] = [row[number] if number < len(row) else "" for row in rows]
    return dict(sorted(named.items(), key=lambda item: item[0].casefold() not in NAMES))


def from_file(name: str, data: bytes) -> tuple[dict[str, list[str]], str]:
    """Columns of lines in a .csv, or the one column of a .txt; and what is to be said. Raises InputError."""
    text, note = decoded(data)
    if not text.strip():
        raise InputError("this file has no line in it: give one text a line")
    return (columns(text) if name.lower().endswith(".csv") else {"lines": text.splitlines()}), note
