"""JSON piece by piece is the same JSON, wherever the pieces end."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data import json_stream
from core.data.json_stream import Cursor, keys, members, write_array
from core.errors import InputError

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9)
)
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=3))


class Slow(io.StringIO):
    """A file that gives a few characters at a time, however many are asked for."""

    def read(self, size=-1):
        return super().read(3)


@given(st.lists(VALUES, max_size=5), st.sampled_from([None, 1]))
def test_the_elements_of_an_array(values, indent):
    cursor = Cursor(Slow(f" {json.dumps(values, indent=indent)} "))
    assert list(cursor.elements()) == values
    assert cursor.peek() == ""


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
def test_the_members_of_an_object(values):
    cursor = Cursor(Slow(json.dumps(values)))
    assert {key: cursor.value() for key in cursor.members()} == values
    cursor = Cursor(Slow(json.dumps([values, 7])))
    cursor.skip()
    assert cursor.peek() == ""


@given(st.lists(VALUES, max_size=5))
def test_an_array_is_written_as_json_on_lines(values):
    out = io.StringIO()
    write_array(out, values)
    assert json.loads(out.getvalue()) == values


def test_members_that_are_wanted_come_element_by_element(tmp_path):
    file = tmp_path / "a.json"
    file.write_text('{"a": [1, {"b": 2}], "skipped": [[1], {"c": []}], "d": "x", "e": 12345}')
    assert list(members(file, "a", "d", "e")) == [("a", 1), ("a", {"b": 2}), ("d", "x"), ("e", 12345)]
    assert keys(file, ("d",)) == ("a", "skipped", "d")


@pytest.mark.parametrize("text", ["[1, 2", "[1 2]", "[1,]", '{"a" 1}', '{"a": }', "nonsense", "", '["half'])
def test_what_is_broken_is_an_error_with_the_file(tmp_path, text):
    file = tmp_path / "broken.json"
    file.write_text(text)
    with pytest.raises(InputError, match=r"broken\.json is not whole JSON"), json_stream.reading(file) as cursor:
        cursor.skip()


def test_a_file_that_is_no_text_is_an_error(tmp_path):
    (tmp_path / "a.json").write_bytes(b"[\xff\xfe]")
    with pytest.raises(InputError, match="not UTF-8"), json_stream.reading(tmp_path / "a.json") as cursor:
        list(cursor.elements())
    with pytest.raises(InputError, match="cannot be opened"), json_stream.reading(tmp_path / "none.json") as cursor:
        cursor.peek()


def test_long_files_are_not_kept(tmp_path):
    file = tmp_path / "long.json"
    with file.open("w") as handle:
        write_array(handle, ({"n": n, "text": "x" * 1000} for n in range(2000)))
    with json_stream.reading(file) as cursor:
        held = [len(cursor._text) for _ in cursor.elements()]
    assert len(held) == 2000
    assert max(held) < 300_000


@pytest.mark.parametrize("value", [3.734442018161979e16, -0.5, 12, True, "x"])
def test_a_value_at_the_end_is_whole_and_passed(value):
    cursor = Cursor(Slow(f"  {json.dumps(value)}"))
    assert cursor.value() == value
    assert cursor.peek() == ""
