"""What Penumbra asks of a vision–language model: the inputs of its two linear heads, and the heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from PIL import Image
from torch import Tensor

from core.values import Features, Heads


class Encoder(Protocol):
    """Two frozen towers, each ending in a linear head that everything else works on (MATH: g = Pφ + residual).

    One on a GPU says so by a `device`: the first batch of images is sized by the memory that is free there.
    """

    name: str
    fingerprint: str  # of weights and preprocessing: features of one fingerprint are interchangeable
    heads: Heads

    def preprocess(self, image: Image.Image) -> Tensor:
        """One RGB image → pixels [3, h, w]."""

    def encode_images(self, pixels: Tensor) -> Features:
        """Pixels [n, 3, h, w] → what enters the image head, float32 on the CPU.

        May raise torch.OutOfMemoryError: whoever calls with many images halves them (core/encoders/memory.py).
        """

    def encode_texts(self, texts: Sequence[str]) -> Features:
        """Texts → what enters the text head, float32 on the CPU."""
