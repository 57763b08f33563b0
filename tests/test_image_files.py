"""Claims about core/image_files.py: what is decoded within bounded memory, and what is refused with which reason."""

import contextlib
import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from PIL import PngImagePlugin

from core import image_files
from core.errors import UnreadableImage
from core.images import MAX_PIXELS, probe, read_image
from tests.conftest import ROOT
from tests.pictures import (
    BLUE,
    GREEN,
    RED,
    SUFFIXES,
    WHITE,
    corners,
    huge_jpeg,
    huge_png,
    jpeg,
    noise,
    quarters,
    resized,
)


def refusal(path):
    with pytest.raises(UnreadableImage) as caught:
        read_image(path)
    with pytest.raises(UnreadableImage, match=r".") as probed:
        probe(path)
    assert str(probed.value) == str(caught.value)
    assert str(caught.value).startswith(f"{path.name}: ")
    return str(caught.value).removeprefix(f"{path.name}: ")


# ── memory ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_over_the_limit_a_jpeg_decodes_smaller_and_a_png_is_refused_with_the_numbers(tmp_path):
    image = quarters((400, 200))
    image.save(tmp_path / "a.jpg", quality=95)
    image.save(tmp_path / "a.png")
    assert read_image(tmp_path / "a.jpg", max_pixels=40_000).size == (200, 100)
    with pytest.raises(UnreadableImage, match=r"a\.png: 400 x 200 pixels is over the limit of 0\.02 megapixels"):
        read_image(tmp_path / "a.png", max_pixels=20_000)


PEAK = """
import re, sys
from pathlib import Path
from core.errors import UnreadableImage
from core.images import probe, read_image, thumbnail
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
path, before = Path(sys.argv[1]), peak()
try:
    info = probe(path)
    sizes = [read_image(path).size, read_image(path, max_side=1600).size]
    thumbnail(path, info.sha256, path.parent, 256)
    print(info.width, info.height, *sizes)
except UnreadableImage as error:
    print(error)
print(peak() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="peak memory is read from Linux's /proc")
@pytest.mark.parametrize(
    ("write", "name", "expected"),
    [
        (huge_jpeg, "huge.jpg", "20000 20000 "),
        (huge_png, "huge.png", f"20,000 x 20,000 pixels is over the limit of {MAX_PIXELS / 1e6:g} megapixels"),
    ],
)
def test_20000_by_20000_pixels_take_less_than_200_mb_without_a_warning(tmp_path, write, name, expected):
    write(tmp_path / name)
    command = [sys.executable, "-W", "error", "-c", PEAK, tmp_path / name]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    said, growth = run.stdout.splitlines()
    assert expected in said
    assert run.stderr == ""
    assert float(growth) < 200


def test_a_huge_jpeg_of_several_scans_is_refused_as_its_coefficients_stay_in_memory(tmp_path):
    baseline = resized(jpeg(noise()), 20_000)
    scan = baseline.index(b"\xff\xda")
    one_component = baseline[:scan] + bytes.fromhex("ffda 0008 01 0100 003f00") + baseline[scan + 14 :]
    for data in (resized(jpeg(noise(), progressive=True), 20_000, frame=b"\xff\xc2"), one_component):
        (tmp_path / "huge.jpg").write_bytes(data)
        assert refusal(tmp_path / "huge.jpg").startswith("20,000 x 20,000 pixels is over the limit of 4")
    huge_jpeg(tmp_path / "huge.jpg")
    assert probe(tmp_path / "huge.jpg").width == 20_000  # one scan: decodes at 1/8


def test_large_images_decode_one_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(image_files, "_LARGE_PIXELS", 100)
    noise().save(tmp_path / "a.png")
    done = threading.Event()
    reader = threading.Thread(target=lambda: (read_image(tmp_path / "a.png"), done.set()))
    with image_files._one_large:
        reader.start()
        assert not done.wait(0.1)
    assert done.wait(5)
    reader.join()


# ── refusals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"Dear team,\nthe photos follow.\n", "not an image: it is text"),
        (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>', "it is an SVG drawing: export it as PNG"),
        (b"<!DOCTYPE html><html></html>", "not an image: it is a web page"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "it is a HEIC, AVIF or video file: save it as JPEG"),
        (b"%PDF-1.7\n\0", "not an image: it is a PDF"),
        (b"PK\x03\x04\x14\0", "not an image: it is a zip archive"),
        (bytes(100), "not a JPEG, PNG, WebP, GIF, TIFF or BMP image"),
    ],
)
def test_what_is_no_image_says_what_it_is_without_its_content(tmp_path, content, reason):
    path = tmp_path / "photo.jpg"
    path.write_bytes(content)
    assert refusal(path) == reason


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.98])
def test_a_truncated_file_is_refused(tmp_path, suffix, kept):
    path = tmp_path / f"cut.{suffix}"
    noise().save(path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    assert refusal(path) == "the file ends early"


def test_a_jpeg_without_its_last_bytes_or_its_scan_is_refused(tmp_path):
    data = jpeg(noise())
    for cut in (len(data) - 3, data.index(b"\xff\xda"), data.index(b"\xff\xc0") + 30):
        (tmp_path / "cut.jpg").write_bytes(data[:cut])
        assert refusal(tmp_path / "cut.jpg") == "the file ends early"


WAYS = ({}, {"restart_marker_rows": 1}, {"subsampling": "4:4:4", "optimize": True})


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9])
def test_a_jpeg_cut_short_is_refused_though_an_end_marker_closes_it(tmp_path, mode, options, kept):
    data = jpeg(noise((200, 150)).convert(mode), **options)
    scan = data.index(b"\xff\xda")
    cut = data[: scan + int(kept * (len(data) - scan))].rstrip(b"\xff")
    (tmp_path / "cut.jpg").write_bytes(cut + b"\xff\xd9")
    assert refusal(tmp_path / "cut.jpg") == "the file ends early"


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("options", [*WAYS, {"progressive": True}], ids=str)
def test_a_whole_jpeg_that_ends_in_grey_is_read_whatever_follows_it(tmp_path, mode, options):
    """Grey is what a decoder fills in for missing data, and what some pictures are."""
    for size in ((8, 8), (37, 61), (200, 150)):
        picture = noise(size)
        picture.paste((128, 128, 128), (size[0] // 3, size[1] // 3, *size))
        data = jpeg(picture.convert(mode), **options)
        for end in (b"", b"a trailer\xff\xd8\xff\xe0", b"\xff\xd9"):
            (tmp_path / "grey.jpg").write_bytes(data + end)
            assert probe(tmp_path / "grey.jpg").width == size[0]
            assert read_image(tmp_path / "grey.jpg").size == size


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_flipped_bytes_never_raise_anything_else(tmp_path, suffix):
    path, rng = tmp_path / f"flipped.{suffix}", np.random.default_rng(0)
    noise().save(path)
    data = path.read_bytes()
    for _ in range(40):
        damaged = np.frombuffer(data, np.uint8).copy()
        damaged[rng.integers(0, min(len(data), 400), 3)] = rng.integers(0, 256, 3)
        path.write_bytes(damaged.tobytes())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(UnreadableImage):
                read_image(path, max_side=16)


def test_a_huge_text_chunk_in_a_png_is_refused(tmp_path):
    text = PngImagePlugin.PngInfo()
    text.add_text("bomb", "0" * 80_000_000, zip=True)
    noise().save(tmp_path / "bomb.png", pnginfo=text)
    assert refusal(tmp_path / "bomb.png")


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "folder.jpg").mkdir()
    assert refusal(tmp_path / "pipe.jpg") == "it is not a file"
    assert refusal(tmp_path / "folder.jpg") == "it is not a file"
    assert refusal(tmp_path / "missing.jpg") == "the file is gone"


def test_the_content_decides_not_the_extension(tmp_path):
    quarters().save(tmp_path / "really_png.jpg", "PNG")
    assert corners(read_image(tmp_path / "really_png.jpg")) == [RED, GREEN, BLUE, WHITE]
