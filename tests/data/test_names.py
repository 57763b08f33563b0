"""Names as folders and files: whatever a class or a file is called, it is one name of its own on every system."""

import os
import unicodedata
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.data.names import FILE_BYTES, FOLDER_BYTES, FileNames, FolderNames, escaped, folded

HOSTILE = ["TV/Monitor", "..", ".", "CON", "con.txt", "NUL ", "COM1.png", "Mug", "mug", "Mug ", "x" * 120, "é" * 120]
HOSTILE += ["trailing.", "caf\u00e9", "cafe\u0301", "\u200b", "\u00a0", "\u3164", " ", "=1+1", "<b>", "😀" * 90, "a\\b"]
HOSTILE += ["%2F", "a/b", "a%2Fb", "Thumbs.db", "__MACOSX", "line\nbreak", "nul\0", "K", "\u212a", "ſ", "S", "ß", "SS"]


def is_portable(name):
    """Whether Windows, macOS and Linux all keep it, and a scan of the folder sees it."""
    assert 0 < len(name.encode()) <= 255
    assert not set(name) & set('<>:"/\\|?*')
    assert all(ord(letter) >= 32 for letter in name)
    assert name[-1] not in ". "
    assert name[0] not in ". "
    assert name.split(".")[0].lower() not in ("con", "nul", "com1", "thumbs", "__macosx")
    return True


@given(st.lists(st.text(min_size=1, max_size=60), unique=True, max_size=12))
@example(HOSTILE)
def test_every_name_has_a_folder_of_its_own_on_every_system(names):
    folders = FolderNames(tuple(names), reserved=frozenset({"train"}))
    given_out = [folders.of(name) for name in names]
    assert all(is_portable(folder) and len(folder.encode()) <= FOLDER_BYTES for folder in given_out)
    assert len({folded(folder) for folder in given_out} | {"train"}) == len(names) + 1
    assert [folders.of(name) for name in names] == given_out, "the same again"
    for name, folder in zip(names, given_out, strict=True):
        assert "%~" in folder or unquote(folder) == name, "reversible"


def test_plain_names_stay_as_they_are():
    names = ("Alarm Clock", "Mug", "été", "日本", "a.b", "=1+1", "it's", "don't-know_yet")
    assert tuple(FolderNames(names).folders.values()) == names


@pytest.mark.parametrize(("name", "folder"), [("TV/Monitor", "TV%2FMonitor"), ("..", "%2E%2E"), ("CON", "%43ON")])
def test_what_is_escaped(name, folder):
    assert escaped(name) == folder
    assert unquote(folder) == name


def test_of_twins_the_later_one_is_written_differently():
    folders = FolderNames(("Mug", "mug", "mUg", "caf\u00e9", "cafe\u0301"))
    assert list(folders.folders.values()) == ["Mug", "%6Dug", "%6D%55%67", "caf\u00e9", "%63afe\u0301"]


def test_folders_that_differ_by_name_are_kept_apart_by_the_file_system(tmp_path):
    for folder in FolderNames(tuple(HOSTILE)).folders.values():
        (tmp_path / folder).mkdir()
    assert len(os.listdir(tmp_path)) == len(set(HOSTILE))


@given(st.lists(st.text(min_size=1, max_size=80), unique=True, max_size=10), st.booleans())
def test_every_path_has_a_file_of_its_own(paths, by_stem):
    names = FileNames(by_stem)
    given_out = [names.of("folder", path + ending) for path in paths for ending in (".jpg", ".JPG", ".png")]
    assert all(is_portable(name) and len(name.encode()) <= FILE_BYTES for name in given_out)
    keys = [folded(os.path.splitext(name)[0] if by_stem else name) for name in given_out]
    assert len(set(keys)) == len(keys)


def test_the_same_name_in_two_folders_is_told_apart_and_keeps_its_ending():
    names = FileNames()
    first, second, other = names.of("c", "a/1.jpg"), names.of("c", "b/1.jpg"), names.of("d", "b/1.jpg")
    assert (first, other) == ("1.jpg", "1.jpg")
    assert second.startswith("1%~")
    assert second.endswith(".jpg")
    assert FileNames().of("c", "b/" + "x" * 251 + ".jpg") == "x" * 251 + ".jpg", "255 bytes are a name"
    assert len(FileNames().of("c", "?" * 251 + ".jpg").encode()) <= 255
    assert names.of("c", "z/.jpg") != ".jpg", "a name without a stem would be hidden"


def test_names_that_unicode_folds_are_one():
    assert folded("CAF\u00c9") == folded("cafe\u0301") == folded(unicodedata.normalize("NFC", "café"))
