"""Open an image file and decode it within bounded memory, or say why not: what core/images.py stands on.

Pillow's readers are called directly, by the first bytes of the file: its `Image.open` guards the size through a global
(`MAX_IMAGE_PIXELS`) that would also refuse a huge JPEG which decodes well at a fraction of its size.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import IO

from PIL import Image
from PIL.BmpImagePlugin import BmpImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

from core.errors import UnreadableImage

READERS: dict[re.Pattern[bytes], type[ImageFile]] = {
    re.compile(rb"\xff\xd8\xff"): JpegImageFile,
    re.compile(rb"\x89PNG\r\n\x1a\n"): PngImageFile,
    re.compile(rb"RIFF....WEBP", re.DOTALL): WebPImageFile,
    re.compile(rb"GIF8[79]a"): GifImageFile,
    re.compile(rb"II[*+]\0|MM\0[*+]"): TiffImageFile,
    re.compile(rb"BM"): BmpImageFile,
}
FOREIGN: dict[re.Pattern[bytes], str] = {
    re.compile(rb"\s*(<\?xml.*)?(<!.*)?<svg", re.DOTALL | re.IGNORECASE): "it is an SVG drawing: export it as PNG",
    re.compile(rb"....ftyp", re.DOTALL): "it is a HEIC, AVIF or video file: save it as JPEG",
    re.compile(rb"\0\0\0\x0cjP  |\xff\x4f\xff\x51"): "it is a JPEG 2000 file: save it as JPEG",
    re.compile(rb"8BPS"): "it is a Photoshop file: export it as PNG",
    re.compile(rb"%PDF"): "not an image: it is a PDF",
    re.compile(rb"PK\x03\x04"): "not an image: it is a zip archive",
    re.compile(rb"\s*<(!doctype html|html)", re.IGNORECASE): "not an image: it is a web page",
    re.compile(rb"[\t\n\r\x20-\x7e\x80-\xff]+\Z"): "not an image: it is text",
}

_ORIENTATION, _ROWS_PER_STRIP = 0x0112, 0x0116  # EXIF and TIFF tags
_WEBP_WEIGHT = 3.1  # libwebp holds two canvases and two copies pass through Python: 16.6 bytes a pixel measured
_LARGE_PIXELS = 16_000_000
_one_large = threading.Lock()
_GREY = (127, 128)  # what libjpeg, with a warning that Pillow drops, fills in where a JPEG's data end early
_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")  # that ends a scan's data
_MORE_DATA = b"".join(b"\0" + bytes(range(1, 255)) + bytes([0xFF, 0xD0 + number]) for number in range(8))
_LARGE_FILE = 100_000_000  # bytes; larger ones are not looked at twice


@contextmanager
def reading(path: Path) -> Iterator[BufferedReader]:
    """The open file; whatever goes wrong with it inside the block becomes `UnreadableImage` with name and reason."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UnreadableImage("it is not a file")  # opening a pipe would wait for ever
        with path.open("rb") as handle:
            try:
                yield handle
            except Exception as error:  # a broken file makes Pillow's readers raise almost anything
                raise UnreadableImage(_reason(error, handle)) from error
    except (UnreadableImage, OSError, ValueError) as error:
        reason = str(error) if isinstance(error, UnreadableImage) else _system_reason(error)
        raise UnreadableImage(f"{printable(path.name)}: {reason}") from error


def identify(handle: BufferedReader) -> ImageFile:
    """The reader that fits the first bytes, its header read and nothing decoded."""
    handle.seek(0)
    head = handle.read(1024)
    handle.seek(0)
    if not head:
        raise UnreadableImage("the file is empty")
    for kind, reason in FOREIGN.items():
        if kind.match(head):
            raise UnreadableImage(reason)
    reader = next((reader for start, reader in READERS.items() if start.match(head)), None)
    if reader is None:
        raise UnreadableImage("not a JPEG, PNG, WebP, GIF, TIFF or BMP image")
    return reader(handle)


def draft_scale(image: ImageFile, max_side: int | None, max_pixels: int) -> int:
    """The divisor 1, 2, 4 or 8 that a JPEG decodes at, 1 for all else: sharp at `max_side`, within `max_pixels`.

    Raises `UnreadableImage` if none is within the limit.
    """
    width, height = image.size
    scales = (1, 2, 4, 8) if image.format == "JPEG" else (1,)
    fitting = [scale for scale in scales if width * height * _weight(image, scale) <= max_pixels]
    if not fitting:
        limit = max_pixels / _weight(image, scales[-1]) / 1e6
        kind = f"{'progressive ' if _coefficients(image) else ''}{image.format}"
        raise UnreadableImage(
            f"{width:,} x {height:,} pixels is over the limit of {limit:.3g} megapixels for {kind} files: scale it down"
        )
    if max_side is None:
        return fitting[0]
    sharp = [scale for scale in fitting if max(width, height) >= 2 * max_side * scale]  # as Pillow's reducing_gap=2
    return max(sharp, default=fitting[0])


def one_large_at_a_time(image: ImageFile, scale: int) -> AbstractContextManager:
    """Held while decoding: small images pass, of the large ones a process decodes one at a time."""
    large = image.width * image.height * _weight(image, scale) > _LARGE_PIXELS
    return _one_large if large else nullcontext()


def decode(image: ImageFile, scale: int) -> Image.Image:
    """The pixels of the first frame in the file's own mode, a JPEG at 1/`scale` of its size.

    Raises EOFError for a JPEG that was cut short even where an end marker closes it; not for a progressive one that
    lacks no more than its finer scans.
    """
    file, scan = image.fp, 0 if image.fp is None else image.fp.tell()
    if scale > 1:
        image.draft(image.mode, (max(1, image.width // scale), max(1, image.height // scale)))
    if not image.tile and image.format != "WEBP":
        raise EOFError  # Pillow takes a header without pixels for a black image
    image.load()
    if isinstance(image, JpegImageFile) and _ends_grey(image) and file is not None and _lacks_data(file, scan):
        raise EOFError
    return image.copy() if image.format == "WEBP" else image  # the copy lets go of libwebp's canvases


def _ends_grey(image: Image.Image) -> bool:
    """Whether the last pixel is what libjpeg fills in, which honest pictures may have too."""
    last = image.getpixel((image.width - 1, image.height - 1))
    return all(value in _GREY for value in (last if isinstance(last, tuple) else (last,)))


def _lacks_data(file: IO[bytes], scan: int) -> bool:
    """Whether the JPEG's first scan, whose data begin at `scan`, needs more data than there are.

    More are put behind them: where none are missing, they are passed over and change no pixel.
    """
    file.seek(0, os.SEEK_END)
    if file.tell() > _LARGE_FILE:
        return False
    file.seek(0)
    data = file.read()
    end = _MARKER.search(data, scan)
    return end is not None and _eighth(data) != _eighth(data[: end.start()] + _MORE_DATA + data[end.start() :])


def _eighth(data: bytes) -> bytes:
    """The pixels of a JPEG at 1/8 of its size."""
    image = JpegImageFile(BytesIO(data))
    image.draft(image.mode, (max(1, image.width // 8), max(1, image.height // 8)))
    return image.tobytes()


def orientation(image: Image.Image) -> int:
    """EXIF orientation of a decoded image, 1 (upright) if there is none or it is broken; TIFF turns itself."""
    try:
        return image.getexif().get(_ORIENTATION, 1)
    except Exception:  # broken EXIF beside sound pixels
        return 1


def printable(name: str) -> str:
    """`name` as valid UTF-8: bytes of a file name that are none become \\xNN."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _reason(error: Exception, handle: BufferedReader) -> str:
    """What a person should know of `error`, raised while `handle` was read."""
    if isinstance(error, UnreadableImage):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory to decode it: scale it down"
    if isinstance(error, Image.DecompressionBombError | Image.DecompressionBombWarning):
        return "it has too many pixels: scale it down"
    if isinstance(error, OSError) and error.errno:
        return _system_reason(error)
    if isinstance(error, EOFError) or "truncated" in str(error).lower() or _at_end(handle):
        return "the file ends early"
    return "the file is damaged"


def _at_end(handle: BufferedReader) -> bool:
    return handle.tell() >= os.fstat(handle.fileno()).st_size


def _system_reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "the file is gone"
    if isinstance(error, PermissionError):
        return "there is no permission to read it"
    return f"the system cannot read it ({getattr(error, 'strerror', None) or error})"


def _weight(image: ImageFile, scale: int) -> float:
    """Memory to decode a pixel of the file at 1/scale, in decoded pixels of 4 bytes."""
    if isinstance(image, JpegImageFile):
        return 1 / scale**2 + _coefficients(image) / 4
    if isinstance(image, TiffImageFile):
        return 1 + _tiff_extra(image)
    return _WEBP_WEIGHT if image.format == "WEBP" else 1


def _tiff_extra(image: TiffImageFile) -> float:
    """A turned copy where the file is turned; libtiff's map of the file and one strip where it is compressed."""
    turned = float(image.tag_v2.get(_ORIENTATION, 1) != 1)
    if image.info.get("compression") == "raw":
        return turned
    return turned + 0.25 + min(1, image.tag_v2.get(_ROWS_PER_STRIP, image.height) / image.height)


def _coefficients(image: ImageFile) -> float:
    """Bytes a pixel that libjpeg keeps until the last scan of a JPEG with several, whatever the scale."""
    if not isinstance(image, JpegImageFile) or not image.layer or not _several_scans(image):
        return 0
    horizontal, vertical = (max(layer[axis] for layer in image.layer) for axis in (1, 2))
    return 2 * sum(h * v for _, h, v, _ in image.layer) / (horizontal * vertical)


def _several_scans(image: JpegImageFile) -> bool:
    """Whether the JPEG is progressive or its first scan, whose header Pillow has just read, lacks a component."""
    file = image.fp
    assert file is not None  # Pillow lets go of it after decoding
    position = file.tell()
    file.seek(max(0, position - 8 - 2 * image.layers))
    has_all = file.read(2) == b"\xff\xda"
    file.seek(position)
    return not has_all or bool(image.info.get("progressive"))
