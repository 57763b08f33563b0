"""Archives and uploads: what a hostile one holds stays out, is said, and leaves nothing behind."""

import io
import os
import stat
import struct
import zipfile
import zlib

import pytest

from core.data.unpack import Limits, save_uploads, unpack
from core.errors import Cancelled, InputError

LINK, PIPE, FILE = ((kind | 0o644) << 16 for kind in (stat.S_IFLNK, stat.S_IFIFO, stat.S_IFREG))


def make(path, files, mode=0, method=zipfile.ZIP_DEFLATED):
    """A zip of {name: content}; `mode` as in a unix archive."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr, entry.compress_type = mode, method
            archive.writestr(entry, content)
    return path


def all_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def reasons(unpacked):
    return {each.path: each.reason for each in unpacked.left_out}


def test_files_come_out_as_they_went_in(tmp_path):
    files = {"a/Übung 🐸.jpg": b"1" * 3_000_000, "b/#?%.jpg": b"2", "b/a.1.jpg": b"3", "b/a.2.jpg": b"", "é": b"4"}
    said = []
    out = unpack(make(tmp_path / "x.zip", files), tmp_path / "out", on_progress=lambda *each: said.append(each))
    assert {name: (out.folder / name).read_bytes() for name in files} == files
    assert out.left_out == ()
    assert said[-1] == (5, 5, "unpacking")


OUT = ["../x", "a/../../x", "/etc/x", "C:/x", "C:\\x", "a\\..\\..\\x", "..", "//server/x", "./..//x"]


@pytest.mark.parametrize("name", OUT)
def test_a_name_that_leads_out_is_left_out_and_the_others_come(name, tmp_path):
    (tmp_path / "in").mkdir()
    archive = make(tmp_path / "in" / "x.zip", {name: b"evil", "good.jpg": b"good"})
    out = unpack(archive, tmp_path / "in" / "out")
    assert all_below(tmp_path) == ["in/out/good.jpg", "in/x.zip"]
    assert list(reasons(out).values()) == ["its name leads out of the folder: it was not written"]


@pytest.mark.parametrize(("mode", "said"), [(LINK, "a link"), (PIPE, "device")])
def test_no_link_and_no_device_is_made(mode, said, tmp_path):
    out = unpack(make(tmp_path / "x.zip", {"passwd": b"/etc/passwd"}, mode), tmp_path / "out")
    assert not os.listdir(out.folder)
    assert said in reasons(out)["passwd"]


def test_a_link_cannot_lend_its_name_to_a_folder(tmp_path):
    archive = make(tmp_path / "x.zip", {"way": str(tmp_path).encode()}, LINK)
    with zipfile.ZipFile(archive, "a") as more:
        more.writestr("way/x.jpg", b"inside")
    out = unpack(archive, tmp_path / "out")
    assert all_below(tmp_path) == ["out/way/x.jpg", "x.zip"]
    assert list(reasons(out)) == ["way"]


def test_names_that_no_file_can_have_are_said(tmp_path):
    names = {"x" * 300 + ".jpg": b"", "a" * 100 + "/" + "b/" * 1000 + "x": b"", "in.zip": b"PK", "in.tar.gz": b""}
    hidden = {"._x.jpg": b"", "__MACOSX/a/x.jpg": b"", ".git/config": b""}
    out = unpack(make(tmp_path / "x.zip", names | hidden | {"ok/" + "ä" * 125 + ".jpg": b""}), tmp_path / "out")
    assert len(all_below(out.folder)) == 1
    said = [(each.reason.split(":")[0], each.count) for each in out.left_out]
    assert said[:2] == [("its name is longer than 255 bytes", 1)] * 2
    assert said[2:] == [("an archive within the archive", 1)] * 2 + [("hidden, or kept by the system", 3)]
    assert [each.is_image for each in out.left_out] == [True] * 4 + [False]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_the_first_of_a_name_is_kept(tmp_path):
    archive = make(tmp_path / "x.zip", {"a": b"1", "b/c": b"2"})
    with zipfile.ZipFile(archive, "a") as more:
        for name in ("a", "a/under", "b"):
            more.writestr(name, b"3")
    out = unpack(archive, tmp_path / "out")
    assert (out.folder / "a").read_bytes() == b"1"
    assert all_below(out.folder) == ["a", "b/c"]
    assert {path: why.split(" has")[0] for path, why in reasons(out).items()} == {
        "a": "another file or folder",
        "a/under": "another file or folder",
        "b": "another file or folder",
    }


def test_names_of_older_programs_are_read(tmp_path):
    archive = make(tmp_path / "x.zip", {"aaaaa": b"1", "dir_x": b"2"}, method=zipfile.ZIP_STORED)
    raw = archive.read_bytes().replace(b"aaaaa", "aé✓"[:2].encode() + b"zz").replace(b"dir_x", b"dir\\x")
    archive.write_bytes(raw.replace(b"PK\x01\x02\x14\x03", b"PK\x01\x02\x14\x00"))  # written on MS-DOS
    out = unpack(archive, tmp_path / "out")
    assert all_below(out.folder) == ["aézz", "dir/x"]


def test_a_bomb_is_refused_before_anything_is_written(tmp_path):
    bomb = make(tmp_path / "x.zip", {f"{i}.bmp": b"\0" * 2**20 for i in range(100)})
    with pytest.raises(InputError, match=r"unpacks to 104,857,600: over the limit .* nothing was unpacked"):
        unpack(bomb, tmp_path / "out")
    with pytest.raises(InputError, match="holds 100 files"):
        unpack(bomb, tmp_path / "out", Limits(files=99))
    with pytest.raises(InputError, match="no room"):
        unpack(bomb, tmp_path / "out", Limits(ratio=2000, spare_bytes=2**60))
    assert os.listdir(tmp_path) == ["x.zip"]


def test_one_file_over_the_limit_is_left_out(tmp_path):
    out = unpack(
        make(tmp_path / "x.zip", {"a": b"1" * 1001, "b": b"2" * 1000}), tmp_path / "o", Limits(file_bytes=1000)
    )
    assert all_below(out.folder) == ["b"]
    assert "more than 1,000 bytes" in reasons(out)["a"]


def test_a_size_that_lies_unpacks_to_no_more(tmp_path):
    """zipfile stops at the size that the list of files states, which the limits were held against."""
    archive = make(tmp_path / "x.zip", {"a": b"\0" * 100_000})
    archive.write_bytes(archive.read_bytes().replace(struct.pack("<L", 100_000), struct.pack("<L", 10)))
    out = unpack(archive, tmp_path / "out")
    assert not os.listdir(out.folder)
    assert "damaged" in reasons(out)["a"]


def test_a_list_of_files_that_would_fill_the_memory_is_not_read(tmp_path, monkeypatch):
    archive = make(tmp_path / "x.zip", {f"{i}": b"" for i in range(1000)})
    limits = Limits(index_bytes=10_000)
    with pytest.raises(InputError, match="list of files has 48,890 bytes"):
        unpack(archive, tmp_path / "out", limits)
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 10)  # so that it is written as a large archive's is
    large = make(tmp_path / "large.zip", {f"{i}": b"" for i in range(1000)})
    raw = bytearray(large.read_bytes())
    struct.pack_into("<L", raw, len(raw) - 10, 0)  # a lie where small archives say it
    large.write_bytes(raw)
    with pytest.raises(InputError, match="list of files has 48,890 bytes"):
        unpack(large, tmp_path / "out", limits)
    assert unpack(make(tmp_path / "y.zip", {"a": b""}), tmp_path / "out", limits).left_out == ()


def test_damage_of_one_file_leaves_the_others(tmp_path):
    archive = make(tmp_path / "x.zip", {"a": os.urandom(5000), "b": b"good", "c": b"c" * 5000})
    raw = bytearray(archive.read_bytes())
    raw[200] ^= 255  # within a
    with zipfile.ZipFile(archive) as file:
        start = file.getinfo("c").header_offset + 31
    raw[start : start + 8] = b"\xff" * 8
    archive.write_bytes(raw)
    out = unpack(archive, tmp_path / "out")
    assert all_below(out.folder) == ["b"]
    assert all("damaged" in why for why in reasons(out).values())
    assert set(reasons(out)) == {"a", "c"}


def test_a_password_is_said(tmp_path):
    archive = make(tmp_path / "x.zip", {"a": b"1"}, method=zipfile.ZIP_STORED)
    raw = bytearray(archive.read_bytes())
    raw[raw.index(b"PK\1\2") + 8] |= 1
    archive.write_bytes(raw)
    assert "password" in reasons(unpack(archive, tmp_path / "out"))["a"]


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\3\4" + bytes(100), b"PK\5\6" + b"\xff" * 18, b"PK\5\6"])
def test_what_is_no_zip_is_said(content, tmp_path):
    (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(InputError, match=r"x\.zip is no zip archive|list of files"):
        unpack(tmp_path / "x.zip", tmp_path / "out")
    assert os.listdir(tmp_path) == ["x.zip"]


def test_what_is_there_stays_and_a_stop_leaves_nothing(tmp_path):
    archive = make(tmp_path / "x.zip", {"a": b"1", "b": b"2"})
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    os.symlink(tmp_path / "elsewhere", tmp_path / "link")
    for taken in ("full", "link", "x.zip"):
        with pytest.raises(InputError, match="holds something already"):
            unpack(archive, tmp_path / taken)

    def stop(done, *_):
        if done == 1:
            raise Cancelled("stop")

    with pytest.raises(Cancelled):
        unpack(archive, tmp_path / "out", on_progress=stop)
    assert sorted(os.listdir(tmp_path)) == ["full", "link", "x.zip"]


@pytest.mark.parametrize(
    ("names", "inner"),
    [
        (["set/cat/1.jpg", "set/dog/1.jpg", "__MACOSX/x"], "set"),
        (["set/labels.csv", "set/1.jpg"], "set"),
        (["cat/1.jpg", "cat/2.jpg"], ""),
        (["cat/1.jpg", "dog/2.jpg"], ""),
    ],
)
def test_the_folder_to_read_is_the_one_that_wraps_all(names, inner, tmp_path):
    out = unpack(make(tmp_path / "x.zip", dict.fromkeys(names, b"")), tmp_path / "out")
    assert out.folder == tmp_path / "out" / inner


def test_uploads_are_held_to_the_same(tmp_path):
    class Broken(io.BytesIO):
        def read(self, *_):
            raise zlib.error("torn")

    names = ["cat/1.jpg", "../x", "cat/1.jpg", "\ud83d.jpg", "a\0b", ".DS_Store", "cat"]
    files = [*((name, io.BytesIO(name.encode(errors="replace"))) for name in names), ("torn.jpg", Broken())]
    out = save_uploads(files, tmp_path / "out")
    assert all_below(tmp_path) == ["out/cat/1.jpg"]
    assert len(out.left_out) == 7
    for limits in (Limits(files=7), Limits(total_bytes=8), Limits(spare_bytes=2**60)):
        with pytest.raises(InputError):
            save_uploads([(f"{i}", io.BytesIO(b"12345")) for i in range(8)], tmp_path / "more", limits)
    assert os.listdir(tmp_path) == ["out"]
