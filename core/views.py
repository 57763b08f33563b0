"""Other views of an image for test-time augmentation: flipped and cropped, each encoded once and kept like an image."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial

from PIL import Image, ImageOps
from torch import Tensor

from core.encoders import Encoder
from core.features import FeatureStore, encode_files
from core.storage import Place
from core.values import Features, Progress, silent

CROP = 7 / 8  # of each side: what a photographer could have left out


def _crop(left: float, top: float) -> Callable[[Image.Image], Image.Image]:
    """A crop of CROP of each side; `left` and `top` 0 to 1 say where the free rest lies."""

    def view(image: Image.Image) -> Image.Image:
        width, height = (max(1, round(CROP * side)) for side in image.size)
        x, y = round(left * (image.width - width)), round(top * (image.height - height))
        return image.crop((x, y, x + width, y + height))

    return view


VIEWS: dict[str, Callable[[Image.Image], Image.Image]] = {
    "flipped": ImageOps.mirror,
    "crop 7/8 centre": _crop(0.5, 0.5),
    "crop 7/8 top left": _crop(0, 0),
    "crop 7/8 top right": _crop(1, 0),
    "crop 7/8 bottom left": _crop(0, 1),
    "crop 7/8 bottom right": _crop(1, 1),
}


class ViewEncoder:
    """An encoder that sees one view of every image; itself an `Encoder`."""

    def __init__(self, encoder: Encoder, view: Callable[[Image.Image], Image.Image]):
        self.name, self.fingerprint, self.heads = encoder.name, encoder.fingerprint, encoder.heads
        self._encoder, self._view = encoder, view

    def preprocess(self, image: Image.Image) -> Tensor:
        return self._encoder.preprocess(self._view(image))

    def encode_images(self, pixels: Tensor) -> Features:
        return self._encoder.encode_images(pixels)

    def encode_texts(self, texts: Sequence[str]) -> Features:
        return self._encoder.encode_texts(texts)


def view_key(sha256: str, view: str) -> str:
    """What a view of an image is stored under: no image's own hash, and another for every view."""
    return hashlib.sha256(f"{sha256} {view}".encode()).hexdigest()


def encode_views(
    store: FeatureStore, encoder: Encoder, files: Sequence[tuple[str, Place]], on_progress: Progress = silent
) -> list[tuple[Place, str]]:
    """Encode those views of (sha256, path) that the store lacks; returns (path, reason) of files not readable."""
    problems: list[tuple[Place, str]] = []
    for name, view in VIEWS.items():
        key = partial(view_key, view=name)
        problems += encode_files(store, ViewEncoder(encoder, view), files, key=key, on_progress=on_progress)
    return problems


def load_views(store: FeatureStore, sha256s: Sequence[str]) -> list[Features]:
    """Features of every view, each in the order of `sha256s`. Raises NotReady when some were never encoded."""
    return [store.load([view_key(sha, name) for sha in sha256s]) for name in VIEWS]
