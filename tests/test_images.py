"""Claims about core/images.py, checked on files made here with known pixels."""

import os
import warnings

import numpy as np
import pytest
from PIL import Image, ImageCms

from core.images import probe, read_image, sha256_file, thumbnail
from tests.pictures import BLUE, GREEN, RED, SUFFIXES, WHITE, corners, near, noise, quarters

# ── orientation ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "tiff"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_exif_orientation_comes_out_upright(tmp_path, suffix, orientation):
    undo = {1: None, 2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}[orientation]  # Image.Transpose that the camera applied
    stored = quarters() if undo is None else quarters().transpose(undo)
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"photo.{suffix}"
    stored.save(path, exif=exif, quality=95)
    upright = read_image(path)
    assert upright.size == (64, 32)
    assert near(corners(upright), [RED, GREEN, BLUE, WHITE], tolerance=24)
    assert (probe(path).width, probe(path).height) == (64, 32)


def test_an_upright_image_keeps_no_orientation_to_be_applied_twice(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    quarters().save(tmp_path / "photo.jpg", exif=exif)
    image = read_image(tmp_path / "photo.jpg")
    assert type(image) is Image.Image
    assert not image.getexif()


def test_broken_exif_beside_sound_pixels_counts_as_upright(tmp_path):
    quarters().save(tmp_path / "photo.jpg", exif=b"Exif\0\0II*\0garbage")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert read_image(tmp_path / "photo.jpg").size == (64, 32)


# ── colour ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("suffix", ["jpg", "tiff"])
def test_cmyk_keeps_its_colours(tmp_path, suffix):
    quarters().convert("CMYK").save(tmp_path / f"print.{suffix}", quality=95)
    assert near(corners(read_image(tmp_path / f"print.{suffix}")), [RED, GREEN, BLUE, WHITE], tolerance=24)


@pytest.mark.parametrize(
    ("name", "dtype"), [("grey.png", np.uint16), ("grey.tiff", np.uint16), ("long.tiff", np.int32)]
)
def test_16_bit_greys_are_scaled_not_clipped_to_white(tmp_path, name, dtype):
    ramp = np.tile(np.linspace(0, 65535, 256).astype(dtype), (8, 1))
    Image.fromarray(ramp).save(tmp_path / name)
    grey = np.asarray(read_image(tmp_path / name))
    assert np.abs(grey[0, :, 0].astype(int) - np.arange(256)).max() <= 1
    assert (grey[..., 0] == grey[..., 2]).all()


@pytest.mark.parametrize("scale", [1.0, 255.0, 1e6])
def test_floats_are_scaled_by_the_range_that_holds_them_and_nan_is_black(tmp_path, scale):
    ramp = np.tile(np.linspace(0, scale, 256, dtype=np.float32), (8, 1))
    ramp[1, 5] = np.nan
    Image.fromarray(ramp).save(tmp_path / "depth.tiff")
    grey = np.asarray(read_image(tmp_path / "depth.tiff"))[..., 0]
    assert np.abs(grey[0].astype(int) - np.arange(256)).max() <= 1
    assert grey[1, 5] == 0


def transparent_palette(path):
    image = quarters().quantize(4)
    clear = image.getpixel((1, 1))
    image.save(path, transparency=clear)


def transparent_palette_by_bytes(path):
    image = quarters().quantize(4)
    alpha = bytes(0 if index == image.getpixel((1, 1)) else 255 for index in range(4))
    image.save(path, transparency=alpha)


def transparent_rgba(path):
    image = quarters().convert("RGBA")
    image.paste((255, 0, 0, 0), (0, 0, 32, 16))
    image.save(path)


def transparent_colour(path):
    quarters().save(path, transparency=RED)


@pytest.mark.parametrize(
    ("write", "suffix"),
    [
        (transparent_palette, "png"),
        (transparent_palette, "gif"),
        (transparent_palette_by_bytes, "png"),
        (transparent_rgba, "png"),
        (transparent_rgba, "tiff"),
        (transparent_colour, "png"),
    ],
)
def test_what_is_transparent_turns_white_and_the_rest_keeps_its_colour(tmp_path, write, suffix):
    write(tmp_path / f"logo.{suffix}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image = read_image(tmp_path / f"logo.{suffix}")
    assert near(corners(image), [WHITE, GREEN, BLUE, WHITE])


def test_half_transparent_black_is_grey(tmp_path):
    Image.new("LA", (8, 8), (0, 128)).save(tmp_path / "shade.png")
    assert near(read_image(tmp_path / "shade.png").getpixel((4, 4)), (127, 127, 127))


def test_one_bit_is_black_and_white(tmp_path):
    Image.fromarray(np.array([[True, False]] * 2)).save(tmp_path / "fax.png")
    assert [read_image(tmp_path / "fax.png").getpixel((x, 0)) for x in (0, 1)] == [WHITE, (0, 0, 0)]


def test_lab_is_converted(tmp_path):
    srgb, lab = ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB")
    ImageCms.profileToProfile(quarters(), srgb, lab, outputMode="LAB").save(tmp_path / "lab.tiff")
    assert near(corners(read_image(tmp_path / "lab.tiff")), [RED, GREEN, BLUE, WHITE], tolerance=24)


@pytest.mark.parametrize("suffix", ["gif", "png", "webp", "tiff"])
def test_the_first_frame_of_an_animation_is_taken(tmp_path, suffix):
    frames = [Image.new("RGB", (16, 16), colour) for colour in (RED, BLUE)]
    path = tmp_path / f"moving.{suffix}"
    frames[0].save(path, save_all=True, append_images=frames[1:], **({"lossless": True} if suffix == "webp" else {}))
    assert near(read_image(path).getpixel((8, 8)), RED)


# ── size ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_max_side_bounds_the_longer_side_and_never_enlarges(tmp_path, suffix):
    path = tmp_path / f"wide.{suffix}"
    quarters((900, 450)).save(path)
    assert read_image(path, max_side=100).size == (100, 50)
    assert near(corners(read_image(path, max_side=100)), [RED, GREEN, BLUE, WHITE], tolerance=24)
    assert read_image(path, max_side=5000).size == (900, 450)


def test_a_line_of_pixels_shrinks_to_one_pixel_of_width(tmp_path):
    Image.new("RGB", (1, 30_000), "red").save(tmp_path / "line.png")
    assert read_image(tmp_path / "line.png", max_side=100).size == (1, 100)


def test_strips_leave_no_seams(tmp_path):
    image = noise((1400, 1800)).convert("RGBA")  # more than one strip of a million pixels
    image.save(tmp_path / "noise.png", compress_level=1)
    assert (np.asarray(read_image(tmp_path / "noise.png")) == np.asarray(image.convert("RGB"))).all()
    small = read_image(tmp_path / "noise.png", max_side=600)
    assert np.abs(np.asarray(small, int) - np.asarray(image.convert("RGB").reduce(3), int)).max() <= 1


# ── hashes and thumbnails ────────────────────────────────────────────────────────────────────────────────────────────


def test_probe_gives_the_hash_of_the_bytes_and_the_size_in_the_header(tmp_path):
    noise((1000, 700)).save(tmp_path / "a.jpg")
    info = probe(tmp_path / "a.jpg")
    assert (info.sha256, info.width, info.height) == (sha256_file(tmp_path / "a.jpg"), 1000, 700)


def test_sha256_is_the_published_value(tmp_path):
    (tmp_path / "abc").write_bytes(b"abc")
    assert sha256_file(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_thumbnail_is_made_once_and_outlives_its_source(tmp_path):
    source, cache = tmp_path / "a.png", tmp_path / "cache"
    quarters((900, 450)).save(source)
    digest = sha256_file(source)
    path = thumbnail(source, digest, cache, 256)
    source.unlink()
    assert path == thumbnail(source, digest, cache, 256) == cache / "256" / digest[:2] / f"{digest}.jpg"
    with Image.open(path) as image:
        assert image.size == (256, 128)
    assert [file for file in cache.rglob("*") if file.is_file()] == [path]


def test_a_thumbnail_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    quarters().save(tmp_path / "a.png")

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        thumbnail(tmp_path / "a.png", "ab" * 32, tmp_path / "cache", 256)
    assert not [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]
