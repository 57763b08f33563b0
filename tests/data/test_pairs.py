"""Pairs from CSV files and tars: every row or key once, in order, whatever the files hold."""

import gzip
import io
import json
import tarfile

import pytest
from PIL import Image

from core.data.pairs import Broken, Pair, open_pairs
from core.data.pairs.tars import LIMITS, Kind
from core.errors import InputError, UnreadableImage


def png(color: str = "red") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (8, 6), color).save(out, "PNG")
    return out.getvalue()


def shard(path, members, mode="w"):
    """A tar of (name, bytes) or ready TarInfo members, as it comes."""
    with tarfile.open(path, mode) as archive:
        for name, content in members:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            if not isinstance(name, tarfile.TarInfo):
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def pairs_of(*sources, hold_out=0):
    items = list(open_pairs(sources, hold_out).items())
    return [(item.name, item.text) if isinstance(item, Pair) else item for item in items]


# --- CSV files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("file_name,caption\na.png,one\nb.png,two\n", ["one", "two"]),
        ("id,caption,width,file_name\n1,one,3,a.png\n2,two,4,b.png\n", ["one", "two"]),
        ("filepath\ttitle\na.png\tone, with a comma\nb.png\ttwo\n", ["one, with a comma", "two"]),
        ("\ufeffFile_Name,general,specific\na.png,g,one\nb.png,two,\n", ["one", "two"]),
        ("file_name,class_index,class_name\na.png,0,tench\nb.png,1,cat\n", ["a photo of a tench", "a photo of a cat"]),
    ],
)
def test_columns_are_found_by_name_wherever_they_stand(tmp_path, content, texts):
    (tmp_path / "any.csv").write_text(content)
    assert pairs_of(tmp_path / "any.csv") == [("a.png", texts[0]), ("b.png", texts[1])]


def test_images_lie_beside_the_csv_in_its_images_folder_or_anywhere(tmp_path):
    (tmp_path / "images").mkdir()
    places = {"in.png": tmp_path / "images" / "in.png", "beside.png": tmp_path / "beside.png"}
    places[str(tmp_path / "far.png")] = tmp_path / "far.png"
    for path in places.values():
        path.write_bytes(png())
    (tmp_path / "captions.csv").write_text("file_name,caption\n" + "".join(f"{name},x\n" for name in places))
    assert [item.image for item in open_pairs([tmp_path]).items()] == list(places.values())
    assert all(item.read(64).size == (8, 6) for item in open_pairs([tmp_path]).items())


def test_rows_without_an_image_or_a_text_are_said(tmp_path):
    (tmp_path / "t.csv").write_text("file_name,caption\n,text\na.png,\n" + "x" * 500 + ".png,long\n\0.png,zero\n")
    found = pairs_of(tmp_path / "t.csv")
    assert found[:2] == [Broken("t.csv, row 1", "it names no image"), Broken("a.png", "it has no caption")]
    for item in list(open_pairs([tmp_path / "t.csv"]).items())[2:]:
        with pytest.raises(UnreadableImage):
            item.read(64)


def test_rows_held_out_are_the_last_ones(tmp_path):
    (tmp_path / "t.csv").write_text("file_name,caption\na.png,one\nb.png,two\nc.png,three\n")
    assert [name for name, _ in pairs_of(tmp_path / "t.csv", hold_out=2)] == ["a.png"]
    assert pairs_of(tmp_path / "t.csv", hold_out=9) == []


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"file_name\na.png\n", b"file_name,caption\n\xff\xfe,x\n"])
def test_a_file_that_is_no_such_table_is_refused(tmp_path, content):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"t\.csv"):
        pairs_of(tmp_path / "t.csv")


# --- tars --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_key_is_a_pair_with_its_text_from_txt_or_json(tmp_path, mode):
    members = [
        ("a.txt", b" one \n"),
        ("a.png", png()),
        ("sub/b.png", png("blue")),
        ("sub/b.json", json.dumps({"caption": "two", "url": 3}).encode()),
        ("c.d.png", png()),
        ("c.json", b'{"caption": "of json"}'),
        ("c.txt", b"of txt"),
    ]
    path = shard(tmp_path / "shard.tar", members, mode)
    assert pairs_of(path) == [("shard.tar:/a", "one"), ("shard.tar:sub/b", "two"), ("shard.tar:/c", "of txt")]
    images = [item.read(64) for item in open_pairs([path]).items()]
    assert [image.getpixel((0, 0)) for image in images] == [(255, 0, 0), (0, 0, 255), (255, 0, 0)]


def test_keys_that_are_no_pair_are_said_and_foreign_files_are_not(tmp_path):
    members = [
        ("a.png", png()),
        ("b.txt", b"no image"),
        ("c.png", png()),
        ("c.txt", b"\xff\xfe"),
        ("d.png", png()),
        ("d.json", b"[" * 100_000),
        ("e.png", png()),
        ("e.json", b'{"caption": null}'),
        ("README.md", b"hello"),
        ("._f.png", png()),
    ]
    found = pairs_of(shard(tmp_path / "s.tar", members))
    assert [item.name[-1] for item in found] == list("abcde")
    assert [item.reason.split()[3] for item in found] == ["caption", "image", "caption", "caption", "caption"]


def test_hostile_names_links_and_devices_touch_nothing(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    link, device, folder = tarfile.TarInfo("l.png"), tarfile.TarInfo("d.png"), tarfile.TarInfo("f.png")
    link.type, link.linkname, device.type, folder.type = (
        tarfile.SYMTYPE,
        "/etc/passwd",
        tarfile.CHRTYPE,
        tarfile.DIRTYPE,
    )
    members = [(link, b""), (device, b""), (folder, b"")]
    for name in ("../../escape", "/absolute", "nul\x01\x1b[31m", "very" * 500):
        members += [(f"{name}.png", png()), (f"{name}.txt", b"text")]
    found = pairs_of(shard(inside / "s.tar", members))
    assert len(found) == 4
    assert all(len(name) < 300 and text == "text" for name, text in found)
    assert [path.name for path in tmp_path.rglob("*")] == ["inside", "s.tar"]


def test_members_over_the_limit_are_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setitem(LIMITS, Kind.IMAGE, 2**20)
    path = shard(
        tmp_path / "s.tar", [("a.png", b"\0" * (2**20 + 1)), ("a.txt", b"x"), ("b.png", png()), ("b.txt", b"y")]
    )
    assert pairs_of(path) == [Broken("s.tar:/a", "its image is over the limit of 1 MiB"), ("s.tar:/b", "y")]


def test_a_header_that_claims_gigabytes_is_not_believed(tmp_path):
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 7 * 2**30
    with gzip.open(tmp_path / "s.tar.gz", "wb") as file:
        file.write(header.tobuf() + b"\0" * 2**16)
    (found,) = pairs_of(tmp_path / "s.tar.gz")
    assert "claims 7516192768 bytes" in found.reason


@pytest.mark.parametrize("content", [b"", b"no tar at all " * 100, b"\x1f\x8bbroken", b"\xff" * 2000])
def test_what_is_no_tar_is_said_and_the_next_one_is_read(tmp_path, content):
    (tmp_path / "a.tar").write_bytes(content)
    shard(tmp_path / "b.tar", [("a.png", png()), ("a.txt", b"x")])
    *broken, sound = pairs_of(tmp_path / "a.tar", tmp_path / "b.tar")
    assert sound == ("b.tar:/a", "x")
    assert [item.name for item in broken] == ["a.tar"]


def test_a_tar_that_ends_early_gives_what_it_has(tmp_path):
    members = [(f"{i}.{kind}", content) for i in range(5) for kind, content in (("txt", b"x"), ("bmp", b"B" * 5000))]
    whole = shard(tmp_path / "s.tar", members).read_bytes()
    (tmp_path / "s.tar").write_bytes(whole[: 3 * 7168 + 2000])
    *sound, last = pairs_of(tmp_path / "s.tar")
    assert [name for name, _ in sound] == ["s.tar:/0", "s.tar:/1", "s.tar:/2"]
    assert "damaged after 3 pairs" in last.reason


def test_a_stream_is_taken_up_at_any_item(tmp_path):
    for number in range(2):
        members = [(f"{number}{i}.{ext}", body) for i in range(3) for ext, body in (("png", png()), ("txt", b"x"))]
        shard(tmp_path / f"{number}.tar", [*members, ("z.txt", b"no image")])
    (tmp_path / "2.tar").write_bytes(b"broken")
    (tmp_path / "t.csv").write_text("file_name,caption\na.png,one\n,\n")
    stream = open_pairs([tmp_path / "{0..2}.tar", tmp_path / "t.csv"])
    everything = list(stream.items())
    assert len(everything) == 4 + 4 + 1 + 2
    for skip in range(len(everything) + 2):
        assert list(stream.items(skip)) == everything[skip:]


def test_the_number_of_pairs_is_estimated_without_reading_all(tmp_path):
    members = [(f"{i:04d}.{kind}", content) for i in range(400) for kind, content in (("txt", b"x"), ("png", png()))]
    shard(tmp_path / "s.tar", members)
    (tmp_path / "t.csv").write_text("file_name,caption\n" + "a.png,x\n" * 7)
    assert open_pairs([tmp_path / "t.csv"]).expected() == 7
    assert abs(open_pairs([tmp_path / "s.tar"]).expected() - 400) < 20


# --- which files -------------------------------------------------------------------------------------------------


def test_braces_wildcards_and_folders_name_many_tars(tmp_path):
    for name in ("s-008.tar", "s-009.tar", "s-010.tar", "t-a.tar"):
        shard(tmp_path / name, [(f"{name[:-4]}.png", png()), (f"{name[:-4]}.txt", b"x")])

    def names(pattern):
        return [source.path.name for source in open_pairs([f"{tmp_path}/{pattern}"]).sources]

    assert names("s-{008..010}.tar") == names("s-*.tar") == ["s-008.tar", "s-009.tar", "s-010.tar"]
    assert names("{t-a,s-008}.tar") == ["t-a.tar", "s-008.tar"]
    assert len(names("")) == 4


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nowhere", "no file or folder"),
        ("s-*.tar", "no file matches"),
        ("s-{0..9999999999}.tar", "counts no range"),
        ("s-{0..9999}-{0..9999}.tar", "over the limit"),
        ("pipe:cat /etc/passwd", "files on this machine"),
        ("https://example.org/s.tar", "files on this machine"),
    ],
)
def test_what_names_no_pairs_is_refused(tmp_path, monkeypatch, source, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=said):
        open_pairs([source])


def test_a_folder_or_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    for source in (tmp_path, tmp_path / "a.txt"):
        with pytest.raises(InputError):
            open_pairs([source])
    with pytest.raises(InputError):
        open_pairs([])
    with pytest.raises(InputError, match="CSV files only"):
        open_pairs([shard(tmp_path / "s.tar", [("a.txt", b"x")])], hold_out=1)


def test_the_identity_follows_the_files(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("file_name,caption\na.png,one\n")
    before = open_pairs([path]).identity
    assert open_pairs([path]).identity == before
    assert open_pairs([path], hold_out=1).identity != before
    path.write_text("file_name,caption\na.png,one\nb.png,two\n")
    assert open_pairs([path]).identity != before
