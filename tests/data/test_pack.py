"""A folder goes out as a zip that others' programs open, in pieces."""

import io
import os
import tracemalloc
import zipfile

from core.data.pack import packed


def test_all_files_come_back_under_their_names(tmp_path):
    names = ("manifest.json", "Mug/a.1.jpg", "Mug/a#?.jpg", "TV∕Monitor/🙂.jpg", "leer/ü.csv", "x" * 250 + ".jpg")
    for number, name in enumerate(names):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(bytes([number]) * number * 10)
    (tmp_path / "out.jpg").symlink_to("/etc/hostname")
    with zipfile.ZipFile(io.BytesIO(b"".join(packed(tmp_path)))) as archive:
        assert archive.testzip() is None
        assert {each: archive.read(each) for each in archive.namelist()} == {
            name: (tmp_path / name).read_bytes() for name in names
        }


def test_memory_stays_the_same_at_any_size(tmp_path):
    for number in range(12):
        (tmp_path / f"{number}.jpg").write_bytes(os.urandom(4 << 20))
    tracemalloc.start()
    try:
        size = sum(len(piece) for piece in packed(tmp_path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size > 48 << 20
    assert peak < 12 << 20


def test_an_old_date_and_an_empty_folder_are_no_trouble(tmp_path):
    assert zipfile.ZipFile(io.BytesIO(b"".join(packed(tmp_path)))).namelist() == []
    (tmp_path / "a").write_text("x")
    os.utime(tmp_path / "a", (0, 0))
    assert zipfile.ZipFile(io.BytesIO(b"".join(packed(tmp_path)))).read("a") == b"x"
