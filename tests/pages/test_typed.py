"""Texts as people give them: lines, files in any encoding, CSV columns."""

import pytest

from core.errors import InputError
from pages.parts import typed


def test_lines_are_cleaned_counted_and_kept_in_order():
    found = typed.listed(["  b  dog", "", "a", "b dog", "\t"])
    assert (found.texts, found.times) == (("b dog", "a"), (2, 1))
    assert found.notes == ("1 line said again what another says: each text is shown once, with its count.",)
    assert len(typed.listed([])) == 0


def test_what_is_too_much_is_left_out_and_said():
    found = typed.listed([*(f"text {i}" for i in range(2003)), "x" * 20_000])
    assert len(found) == 2000
    assert any("4 more are left out" in note for note in found.notes)
    assert any("10,000 characters" in note for note in found.notes)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_marked_or_utf8_file_is_read_without_a_word(encoding):
    assert typed.decoded("ein Hund läuft 🐶".encode(encoding)) == ("ein Hund läuft 🐶", "")


def test_an_old_windows_file_is_read_and_it_is_said():
    text, note = typed.decoded("ein Hund läuft".encode("cp1252"))
    assert text == "ein Hund läuft"
    assert "Windows-1252" in note


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0\0", b"\xff\xfe\x00", b"\x81\x8d"])
def test_what_is_no_text_is_refused(data):
    with pytest.raises(InputError, match="no text that could be read"):
        typed.decoded(data)


def test_too_large_a_file_is_refused_before_it_is_decoded():
    with pytest.raises(InputError, match="MB"):
        typed.decoded(b"a" * 3_000_000)


def test_the_likeliest_column_of_a_csv_comes_first():
    found = typed.columns('id;caption;\n1;"a dog; runs";x\n2;a cat\n')
    assert list(found) == ["caption", "id", "column 3"]
    assert found["caption"] == ["a dog; runs", "a cat"]
    assert found["column 3"] == ["x", ""]


def test_a_csv_of_one_column_needs_no_delimiter():
    assert typed.columns("text\na dog\na cat") == {"text": ["a dog", "a cat"]}


@pytest.mark.parametrize("name", ["a.csv", "a.txt"])
def test_an_empty_file_says_what_to_give(name):
    with pytest.raises(InputError, match="no line"):
        typed.from_file(name, b" \n\n")


def test_a_csv_that_is_broken_says_so():
    with pytest.raises(InputError, match="no CSV that could be read"):
        typed.columns("text\na\rb")


def test_a_text_file_is_its_lines():
    assert typed.from_file("A.TXT", b"a dog\r\na cat\r\n")[0] == {"lines": ["a dog", "a cat"]}
