"""Uploaded texts: a .csv of one column keeps its commas, and its first line where that is no header."""

import pytest

from core.errors import InputError
from pages.parts.texts_file import _read


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        ("a red apple\na dog, a cat\n", ["a red apple", "a dog, a cat"]),
        ("Text\na dog, a cat\na bus", ["a dog, a cat", "a bus"]),
        ('caption\n"a dog, a cat"\n\na bus', ["a dog, a cat", "a bus"]),
    ],
)
def test_one_column_has_every_text_whole(data, lines):
    found, note = _read("some.CSV", data.encode())
    assert list(found.values()) == [lines]
    assert note == ""


def test_more_columns_have_their_headers():
    assert _read("a.csv", b"id;caption\n1;a bus\n")[0] == {"caption": ["a bus"], "id": ["1"]}


def test_a_txt_is_lines_whatever_they_hold():
    assert _read("a.txt", b"text\na, b")[0] == {"lines": ["text", "a, b"]}


def test_a_header_alone_says_so():
    with pytest.raises(InputError, match="a header, 'text', and no text"):
        _read("a.csv", b"text\n")
