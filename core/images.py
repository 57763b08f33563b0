"""Decode any image file safely: RGB, right side up, in bounded memory, or refused with a reason for a person."""

from __future__ import annotations

import hashlib
import math
import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image, ImageCms

from core.fingerprints import fingerprint
from core.image_files import decode, draft_scale, identify, one_large_at_a_time, orientation, reading

MAX_PIXELS = 38_000_000
"""Decoded pixels of one image, 4 bytes each: a decode adds less than 200 MiB; formats that need more get fewer."""

HASHED_SIDE = 64
"""Pixels that the perceptual hash is made from: twice what it needs."""

TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}  # EXIF orientation → what makes it upright


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """What is known of a file that decodes; `width` and `height` in pixels, upright and unscaled.

    `size` in bytes and `mtime_ns` are the file's; `phash` is of core/fingerprints.py.
    """

    sha256: str
    width: int
    height: int
    size: int = field(default=0, compare=False)
    mtime_ns: int = field(default=0, compare=False)
    phash: int | None = field(default=None, compare=False)


def read_image(path: Path, *, max_side: int | None = None, max_pixels: int = MAX_PIXELS) -> Image.Image:
    """The first frame of `path` as RGB, upright, transparency on white, at most `max_side` pixels long where given.

    Greys of 16 and 32 bits are scaled to 8. Memory is bounded, at about 5 bytes x `max_pixels`, before anything is
    decoded: a JPEG over `max_pixels` decodes at 1/2, 1/4 or 1/8 of its size, and any image over half of `max_pixels`
    comes back at a whole fraction of it. Any other file over `max_pixels` raises `UnreadableImage`, as does one that
    is broken or no JPEG, PNG, WebP, GIF, TIFF or BMP.
    """
    with reading(path) as handle:
        file = identify(handle)
        scale = draft_scale(file, max_side, max_pixels)
        with one_large_at_a_time(file, scale):
            image = decode(file, scale)
            turn = TURNS.get(orientation(image))
            image = _shrink(_flatten(image, _divisor(image, max_side, max_pixels)), max_side)
        return image if turn is None else image.transpose(turn)


def probe(path: Path) -> ImageInfo:
    """Hashes and size of `path` after decoding all of it, so that a file that ends early is found; one read of it.

    Raises `UnreadableImage` as `read_image` does.
    """
    with reading(path) as handle:
        state = os.fstat(handle.fileno())
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
        image = identify(handle)
        width, height = image.size
        scale = draft_scale(image, HASHED_SIDE, MAX_PIXELS)  # small, though every byte is read
        with one_large_at_a_time(image, scale):
            decoded = decode(image, scale)
            turn = TURNS.get(orientation(decoded))
            small = _shrink(_flatten(decoded, _divisor(decoded, HASHED_SIDE, MAX_PIXELS)), HASHED_SIDE)
        phash = fingerprint(small if turn is None else small.transpose(turn))
        if orientation(decoded) >= 5:
            width, height = height, width
        return ImageInfo(digest, width, height, state.st_size, state.st_mtime_ns, phash)


def sha256_file(path: Path) -> str:
    """SHA-256 of the bytes of `path` in hexadecimal, read as a stream; raises `UnreadableImage`."""
    with reading(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def thumbnail(source: Path, sha256: str, cache: Path, side: int) -> Path:
    """The file `cache/side/aa/sha256.jpg` with `source` at most `side` pixels long, made once and written atomically.

    The name is the hash of the content, so a cached file is never stale. JPEG, as it encodes far faster than WebP.
    Raises `UnreadableImage` as `read_image` does.
    """
    target = cache / str(side) / sha256[:2] / f"{sha256}.jpg"
    if target.exists():
        return target
    image = read_image(source, max_side=side)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        image.save(unfinished, "JPEG", quality=85)
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target


def _divisor(image: Image.Image, max_side: int | None, max_pixels: int) -> int:
    """The whole fraction of its size that keeps an image at `max_side` or more and under half of `max_pixels`."""
    bounded = math.ceil(math.sqrt(2 * image.width * image.height / max_pixels))
    return max(bounded, 1 if max_side is None else max(image.size) // max_side)


def _flatten(image: Image.Image, divisor: int) -> Image.Image:
    """RGB on white at 1/`divisor` of the size, strip by strip to spare a second copy in full."""
    to_rgb = _converter(image)
    flat = Image.new("RGB", (math.ceil(image.width / divisor), math.ceil(image.height / divisor)))
    for top, strip in _strips(image, divisor):
        rgb = to_rgb(strip)
        flat.paste(rgb if divisor == 1 else rgb.reduce(divisor), (0, top // divisor))
    return flat


def _shrink(image: Image.Image, max_side: int | None) -> Image.Image:
    longest = max(image.size)
    if max_side is None or longest <= max_side:
        return image
    size = [max(1, round(length * max_side / longest)) for length in image.size]
    return image.resize(size, Image.Resampling.LANCZOS)


def _strips(image: Image.Image, multiple: int = 1) -> Iterator[tuple[int, Image.Image]]:
    """(top, strip) down the image: about a million pixels each, heights a multiple of `multiple` but for the last."""
    rows = max(1, 1_000_000 // (image.width * multiple)) * multiple
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))


def _converter(image: Image.Image) -> Callable[[Image.Image], Image.Image]:
    """The way from the image's mode to RGB, for one strip."""
    if image.mode == "F" or image.mode.startswith("I"):
        low, high = _grey_range(image)
        return lambda strip: _scaled_grey(strip, low, high)
    if image.has_transparency_data:
        return _on_white
    if image.mode == "LAB":
        return _from_lab
    return lambda strip: strip.convert("RGB")


def _grey_range(image: Image.Image) -> tuple[float, float]:
    """The greys that become 0 and 255: the customary range that holds all values, else their least and greatest."""
    if image.mode.startswith("I;16"):
        return 0, 65535
    finite = [values[np.isfinite(values)] for values in (np.asarray(strip) for _, strip in _strips(image))]
    low = min((float(values.min()) for values in finite if values.size), default=0)
    high = max((float(values.max()) for values in finite if values.size), default=0)
    tops = (1, 255, 65535) if image.mode == "F" else (255, 65535)
    top = next((top for top in tops if high <= top), None)
    return (0, top) if low >= 0 and top else (low, max(high, low + 1))


def _scaled_grey(strip: Image.Image, low: float, high: float) -> Image.Image:
    values = np.nan_to_num(np.asarray(strip, dtype=np.float32), nan=low, posinf=high, neginf=low)
    grey = np.rint((np.clip(values, low, high) - low) * (255 / (high - low)))
    return Image.fromarray(grey.astype(np.uint8)).convert("RGB")


def _on_white(strip: Image.Image) -> Image.Image:
    rgba = strip.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")


def _from_lab(strip: Image.Image) -> Image.Image:
    lab, srgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
    rgb = ImageCms.profileToProfile(strip, lab, srgb, outputMode="RGB")
    assert rgb is not None  # None only where it works in place
    return rgb
