"""Perceptual hashes: 64 bits of an image that stay as they are when it is scaled, recompressed or slightly changed.

N images · a hash is a whole number of 64 bits, signed, as databases keep it.
"""

from __future__ import annotations

from collections.abc import Iterator

import imagehash
import numpy as np
from PIL import Image

NEAR_BITS = 4  # of 64: two hashes that differ in no more are nearly one image
FLAT = 6  # of 255: an image whose greys differ by less has nothing to tell it by
AT_ONCE = 1024  # hashes compared with as many others


def fingerprint(image: Image.Image) -> int | None:
    """The image's pHash (64 low frequencies of a cosine transform against their median, as imagehash makes it).

    None where the image is all but flat: its hash would be noise.
    """
    low, high = image.convert("L").getextrema()
    if not isinstance(low, int | float) or not isinstance(high, int | float) or high - low < FLAT:
        return None
    bits = np.packbits(imagehash.phash(image).hash.flatten())
    return int(bits.view(">i8")[0])


def near_pairs(hashes: np.ndarray, most: int = NEAR_BITS) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions i < j of all pairs of `hashes` [N] int64 that differ in `most` bits or fewer, in runs.

    Of two such hashes cut into most + 1 bands, one band is the same: only those that share one are compared, a block
    at a time, so memory stays bounded. A pair that shares several comes from the first. O(N²/2^(64/(most+1))) where
    hashes are spread, O(N²) where all are alike.
    """
    words = np.ascontiguousarray(hashes, dtype=np.int64).view(np.uint64)
    bands = [_band(words, number, most + 1) for number in range(most + 1)]
    for number, band in enumerate(bands):
        order = np.argsort(band, kind="stable")
        for start, stop in _alike(band[order]):
            yield from _compared(words, bands[:number], order[start:stop], most)


def _band(words: np.ndarray, number: int, bands: int) -> np.ndarray:
    """Bits [from, to) of each word."""
    start, stop = number * 64 // bands, (number + 1) * 64 // bands
    return (words >> np.uint64(start)) & np.uint64((1 << (stop - start)) - 1)


def _alike(ordered: np.ndarray) -> Iterator[tuple[int, int]]:
    """(start, stop) of each run of two or more equal values."""
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else np.empty(0, int)
    stops = np.append(starts[1:], len(ordered))
    several = stops - starts > 1
    yield from zip(starts[several].tolist(), stops[several].tolist(), strict=True)


def _compared(
    words: np.ndarray, before: list[np.ndarray], members: np.ndarray, most: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for top in range(0, len(members), AT_ONCE):
        rows = members[top : top + AT_ONCE]
        for left in range(top, len(members), AT_ONCE):
            columns = members[left : left + AT_ONCE]
            near = np.bitwise_count(words[rows, None] ^ words[columns]) <= most
            if left == top:
                near = np.triu(near, 1)
            i, j = near.nonzero()
            a, b = np.minimum(rows[i], columns[j]), np.maximum(rows[i], columns[j])
            for band in before:
                fresh = band[a] != band[b]
                a, b = a[fresh], b[fresh]
            if len(a):
                yield a, b
