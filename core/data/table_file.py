"""Tables in text files as people have them: the delimiter, the encoding and the byte order mark are found out.

A cell that a spreadsheet would take for a formula is written with an apostrophe before it (OWASP, CSV injection), as is
one that begins with an apostrophe, so that reading gives every cell back.
"""

from __future__ import annotations

import codecs
import csv
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import InputError

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_SAMPLE = 1 << 16
_LONGEST_CELL = 16 << 20
csv.field_size_limit(_LONGEST_CELL)  # the module has one limit for all; its own is less than a long history takes


@dataclass(frozen=True, slots=True)
class Look:
    """How a table's file is written."""

    delimiter: str
    encoding: str

    @property
    def about(self) -> tuple[tuple[str, str], ...]:
        """For people."""
        mark = {"utf-8-sig": "UTF-8 with a byte order mark", "utf-8": "UTF-8", "cp1252": "Windows-1252 (a guess)"}
        return (
            ("Delimiter", DELIMITERS.get(self.delimiter, repr(self.delimiter))),
            ("Encoding", mark.get(self.encoding, self.encoding.upper())),
        )


def look(file: Path) -> Look:
    """What delimiter and encoding the file has. Raises InputError for one that cannot be opened or is no text."""
    try:
        with file.open("rb") as handle:
            start = handle.read(_SAMPLE)
        encoding = _encoding(file, start)
    except OSError as error:
        raise InputError(f"{file} cannot be opened: {error.strerror}") from error
    sample = codecs.getincrementaldecoder(encoding)(errors="replace").decode(start)
    if "\0" in sample[:1000] and "\0" not in sample[:1]:
        raise InputError(f"{file} is not a text file: save the table as CSV in UTF-8")
    return Look(_delimiter(sample, file.suffix.lower()), encoding)


def rows(file: Path, found: Look) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) of each row that is not empty. Raises InputError with the line where the file breaks off."""
    line = 0
    try:
        with file.open(encoding=found.encoding, newline="") as handle:
            reader = csv.reader(handle, delimiter=found.delimiter)
            for cells in reader:
                first, line = line + 1, reader.line_num
                if any(cells):
                    yield first, cells
    except OSError as error:
        raise InputError(f"{file} cannot be opened: {error.strerror}") from error
    except (UnicodeError, csv.Error) as error:
        raise InputError(f"{file} cannot be read after line {line}: {error}") from error


def neutral(cell: str) -> str:
    """The cell as it may stand in a spreadsheet."""
    return f"'{cell}" if cell.startswith((*FORMULA, "'")) else cell


def restored(cell: str, exactly: bool) -> str:
    """The cell as it was. Only of our own files, read `exactly`, is it known that any apostrophe was put there."""
    starts = ("'", *FORMULA) if exactly else FORMULA
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(starts) else cell


def write_rows(file: Path, columns: Sequence[str], cells: Iterator[Sequence[str]], delimiter: str = ",") -> None:
    """A new file in UTF-8 with these columns."""
    with file.open("x", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(cells)


def _encoding(file: Path, start: bytes) -> str:
    for bom, name in BOMS.items():
        if start.startswith(bom):
            return name
    if b"\0" in start[:200]:
        return "utf-16-le" if start[1:2] == b"\0" else "utf-16-be"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with file.open("rb") as handle:
            for piece in iter(lambda: handle.read(1 << 20), b""):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "cp1252" if _decodes(start, "cp1252") else "latin-1"
    return "utf-8"


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _delimiter(sample: str, suffix: str) -> str:
    """The one that cuts the first rows into the most cells, as many in each; a comma where there is one column."""
    scores = {each: _columns(sample, each) for each in DELIMITERS}
    best = max(scores, key=lambda each: scores[each])
    return best if scores[best] > 1 else ("\t" if suffix == ".tsv" else ",")


def _columns(sample: str, delimiter: str) -> int:
    lines = sample.splitlines(keepends=True)
    whole = lines[:-1] if len(lines) > 1 and len(sample) >= _SAMPLE else lines
    try:
        found = [len(row) for row in itertools.islice(csv.reader(whole, delimiter=delimiter), 20) if row]
    except csv.Error:
        return 0
    if not found:
        return 0
    like_first = sum(count == found[0] for count in found)
    return found[0] if like_first * 2 > len(found) else min(found)
