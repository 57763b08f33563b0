"""What a browser sends is kept as a draft inside the data folder: whole, under safe names, gone when it is dropped."""

import io
import os
import zipfile

import pytest

from core.errors import InputError
from pages.parts import uploading


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PENUMBRA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def sent(*names: str) -> list[tuple[str, io.BytesIO]]:
    return [(name, io.BytesIO(name.encode())) for name in names]


def zipped(*names: str) -> io.BytesIO:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return io.BytesIO(out.getvalue())


def files_of(source: uploading.Place) -> set[str]:
    return {path.relative_to(source.path).as_posix() for path in source.path.rglob("*") if path.is_file()}


def drafts(home) -> list:
    return list((home / "uploads").iterdir()) if (home / "uploads").exists() else []


def test_a_chosen_folder_is_its_content_and_gives_its_name():
    source = uploading.from_browser(sent("office/mug/a.jpg", "office/lamp/a.1.jpg", "office/lamp/a.2.jpg"))
    assert (source.name, files_of(source)) == ("office", {"mug/a.jpg", "lamp/a.1.jpg", "lamp/a.2.jpg"})


def test_a_folder_without_folders_makes_no_class_of_itself():
    assert files_of(uploading.from_browser(sent("heap/a.jpg", "heap/b.jpg"))) == {"a.jpg", "b.jpg"}


def test_a_table_alone_is_the_source_and_an_image_alone_is_a_folder():
    assert uploading.from_browser(sent("labels.CSV")).path.name == "labels.CSV"
    assert files_of(uploading.from_browser(sent("a.jpg"))) == {"a.jpg"}


def test_names_that_lead_out_are_left_out_with_the_reason(home):
    source = uploading.from_browser(sent("../up.jpg", "/etc/up.jpg", "ok/🙂#?.jpg", "C:\\up.jpg"))
    assert len(source.left_out) == 3
    assert [path.name for path in home.rglob("*.jpg")] == ["🙂#?.jpg"]


def test_a_zip_is_unpacked_and_not_kept(home, tmp_path):
    source = uploading.from_browser([("Office.ZIP", zipped("a/x.jpg", "b/y.jpg", "../out.jpg", "in.zip"))])
    assert (source.name, files_of(source), len(source.left_out)) == ("Office", {"a/x.jpg", "b/y.jpg"}, 2)
    assert not list(home.rglob("*.zip"))
    (tmp_path / "here.zip").write_bytes(zipped("a/x.jpg").getvalue())
    assert files_of(uploading.on_server(str(tmp_path / "here.zip"))) == {"a/x.jpg"}


@pytest.mark.parametrize("files", [[("a.zip", io.BytesIO(b"no zip"))], sent("../x.jpg")])
def test_what_cannot_be_taken_leaves_nothing(home, files):
    with pytest.raises(InputError):
        uploading.from_browser(files)
    assert not drafts(home)


def test_addresses_become_a_list_once_each():
    source = uploading.from_lines(" https://a.org/1.jpg \n\nhttps://a.org/1.jpg\ns3://bucket/2.jpg")
    assert source.path.read_text() == "https://a.org/1.jpg\ns3://bucket/2.jpg\n"


@pytest.mark.parametrize(
    "text", ["", "file:///etc/passwd", "https://a.org/1.jpg\n/etc/passwd", "https://a.org/\x1b.jpg"]
)
def test_a_line_that_is_no_address_is_refused(home, text):
    with pytest.raises(InputError, match="one address a line"):
        uploading.from_lines(text)
    assert not drafts(home)


def test_a_place_on_the_server_is_looked_up(tmp_path):
    assert uploading.on_server(str(tmp_path)).draft is None
    assert uploading.on_server("s3://bucket/office/").where == "s3://bucket/office"
    for typed in ("/no/such\0place", str(tmp_path / "nothing"), "~nobody-here/x", "https://a.org/1.jpg"):
        with pytest.raises(InputError):
            uploading.on_server(typed)


def test_a_draft_goes_when_dropped_and_stays_when_settled(home):
    dropped, kept = uploading.from_browser(sent("a.jpg")), uploading.from_browser(sent("b.jpg"))
    uploading.drop(dropped)
    with uploading.settled(kept):
        pass
    uploading.drop(kept)
    uploading.sweep(older=-1)
    assert files_of(kept) == {"b.jpg"}
    assert len(drafts(home)) == 1


def test_a_draft_that_failed_to_become_a_project_is_a_draft_again(home):
    source = uploading.from_browser(sent("a.jpg"))
    with pytest.raises(InputError), uploading.settled(source):
        raise InputError("no")
    os.utime(source.draft / uploading.MARK, (0, 0))
    uploading.sweep()
    assert not drafts(home)


def test_nothing_but_drafts_is_ever_deleted(tmp_path):
    (tmp_path / "mine").mkdir()
    uploading.drop(uploading.on_server(str(tmp_path / "mine")))
    uploading.drop(None)
    assert (tmp_path / "mine").exists()
