"""Pictures for tests: small ones with known pixels, huge ones made cheaply."""

import io
import zlib

import numpy as np
from PIL import Image

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)
SUFFIXES = ("jpg", "png", "webp", "bmp", "tiff", "gif")


def corners(image):
    """Colours one pixel in from the corners: top left, top right, bottom left, bottom right."""
    right, bottom = image.width - 2, image.height - 2
    return [image.getpixel(place) for place in ((1, 1), (right, 1), (1, bottom), (right, bottom))]


def quarters(size=(64, 32)):
    """Red, green above blue, white: each turn of it looks different."""
    image = Image.new("RGB", (2, 2))
    image.putdata([RED, GREEN, BLUE, WHITE])
    return image.resize(size, Image.Resampling.NEAREST)


def near(colours, expected, tolerance=6):
    return np.abs(np.subtract(colours, expected)).max() <= tolerance


def noise(size=(60, 40)):
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8))


def huge_png(path, side=20_000):
    """A sound 1-bit PNG, written row by row."""

    def chunk(kind, data):
        return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)

    header = side.to_bytes(4) * 2 + bytes([1, 0, 0, 0, 0])
    packer = zlib.compressobj(1)
    rows = b"".join(packer.compress(bytes(1 + side // 8)) for _ in range(side)) + packer.flush()
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


def jpeg(image, **options):
    file = io.BytesIO()
    image.save(file, "JPEG", **options)
    return file.getvalue()


def huge_jpeg(path, side=20_000):
    """A sound JPEG of one colour: rows of blocks stand alone between restart markers, so one serves for all."""
    data = resized(jpeg(Image.new("RGB", (side, 32), "red"), restart_marker_rows=1, subsampling="4:2:0"), side)
    start = data.index(b"\xff\xda")
    start += 2 + int.from_bytes(data[start + 2 : start + 4])
    row = data[start : data.index(b"\xff\xd0", start)]
    rows = b"".join(row + bytes([0xFF, 0xD0 + number % 8]) for number in range(side // 16 - 1))
    path.write_bytes(data[:start] + rows + row + b"\xff\xd9")


def resized(data, side, frame=b"\xff\xc0"):
    """The JPEG `data` with a header that claims `side` x `side` pixels."""
    place = data.index(frame) + 5
    return data[:place] + side.to_bytes(2) * 2 + data[place + 4 :]
