"""JSON of any length, read and written piece by piece: never more than one element in memory."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from core.errors import InputError

_CHUNK = 1 << 16
_LARGEST = 64 << 20  # characters of one element
_SPACE = " \t\n\r"
_ENDS = frozenset(",]}: \t\n\r")
_decoder = json.JSONDecoder()


@contextmanager
def reading(path: Path) -> Iterator[Cursor]:
    """A cursor at the start of the file; whatever is wrong with the file becomes InputError with its name."""
    try:
        with path.open(encoding="utf-8-sig") as handle:
            yield Cursor(handle)
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8, as JSON has to be: {error}") from error
    except (ValueError, RecursionError) as error:  # also a number of more digits than Python reads
        raise InputError(f"{path} is not whole JSON: {error}") from error


class Cursor:
    """Where in a JSON text one is; raises json.JSONDecodeError where it is broken."""

    def __init__(self, handle: IO[str]) -> None:
        self._handle = handle
        self._text, self._at, self._ended = "", 0, False

    def peek(self) -> str:
        """The next character that is no space, "" at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def value(self) -> Any:
        """The next value, whole."""
        self.peek()
        while True:
            try:
                value, end = _decoder.raw_decode(self._text, self._at)
                length = end - self._at
                if self._text[end : end + 1] in _ENDS or not self._more():  # else a number might go on
                    self._at += length
                    return value
            except json.JSONDecodeError:
                if len(self._text) - self._at > _LARGEST or not self._more():
                    raise

    def elements(self) -> Iterator[Any]:
        """The elements of the array that starts here, one after the other."""
        self._expect("[")
        while self.peek() != "]":
            yield self.value()
            self._next("]")
        self._expect("]")

    def members(self) -> Iterator[str]:
        """The keys of the object that starts here; whoever goes through them takes or skips the value of each."""
        self._expect("{")
        while self.peek() != "}":
            key = self.value()
            self._expect(":")
            yield key
            self._next("}")
        self._expect("}")

    def skip(self) -> None:
        """Pass the next value over, a long one piece by piece."""
        start = self.peek()
        if start == "[":
            for _ in self.elements():
                pass
        elif start == "{":
            for _ in self.members():
                self.value()
        else:
            self.value()

    def _next(self, closing: str) -> None:
        """Pass the comma before another element; there is none before the end."""
        if self.peek() != closing:
            self._expect(",")
            if self.peek() == closing:
                raise json.JSONDecodeError("expected a value", self._text, self._at)

    def _expect(self, mark: str) -> None:
        if self.peek() != mark:
            raise json.JSONDecodeError(f"expected {mark!r}", self._text, self._at)
        self._at += 1

    def _more(self) -> bool:
        """Read on, as much again as is waiting, so that a long value is not decoded for every piece."""
        rest = self._text[self._at :]
        chunk = "" if self._ended else self._handle.read(max(_CHUNK, len(rest)))
        self._ended = not chunk
        self._text, self._at = rest + chunk, 0
        return bool(chunk)


def members(path: Path, *wanted: str) -> Iterator[tuple[str, Any]]:
    """(key, value) of each wanted member of the file's top object, as they come; of an array each element.

    Raises InputError for a file that is no such object.
    """
    with reading(path) as cursor:
        for key in cursor.members():
            if key not in wanted:
                cursor.skip()
            elif cursor.peek() == "[":
                for element in cursor.elements():
                    yield key, element
            else:
                yield key, cursor.value()


def keys(path: Path, until: Collection[str]) -> tuple[str, ...]:
    """The first keys of the file's top object, with the first one of `until` the last: what is long lies behind it.

    ("[",) for an array, () for what is neither or no JSON.
    """
    found: list[str] = []
    try:
        with reading(path) as cursor:
            if cursor.peek() != "{":
                return ("[",) if cursor.peek() == "[" else ()
            for key in cursor.members():
                found.append(str(key))
                if key in until:
                    break
                cursor.skip()
    except InputError:
        pass
    return tuple(found)


def text(value: Any) -> str:
    """`value` as JSON on one line, letters as they are but for lone surrogates; what JSON has no form for is a text."""
    made = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return made if made.isascii() or _encodes(made) else json.dumps(value, separators=(",", ":"), default=str)


def write_array(handle: IO[str], elements: Iterable[Any], indent: str = "") -> None:
    """An array with an element on each line."""
    handle.write("[")
    for number, element in enumerate(elements):
        handle.write(f"{',' if number else ''}\n{indent}{text(element)}")
    handle.write("\n]")


def _encodes(made: str) -> bool:
    try:
        made.encode()
    except UnicodeEncodeError:
        return False
    return True
