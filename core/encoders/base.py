"""What Penumbra asks of a vision–language model: the inputs of its two linear heads, and the heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from PIL import Image
from torch import Generator, Tensor
from torch.nn.functional import normalize

from core.errors import ModelError
from core.values import Features, Heads, ProlipEmbeddings


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


@dataclass(frozen=True, slots=True)
class TextReading:
    """What a tokenizer makes of a text of `tokens`, special ones not counted: it `kept` the first `limit` of them."""

    text: str
    kept: str
    tokens: int
    limit: int
    cut: bool  # whether the end of the text is not seen by the model


@runtime_checkable
class GaussianEncoder(Encoder, Protocol):
    """An encoder that says of each image and text how sure it is: Gaussians in the joint space (MATH.md §9).

    Its `Features` carry `log_variance`, so that an image's Gaussian too is encoded once.
    """

    logit_scale: float  # a = exp of the model's logit scale
    logit_bias: float

    def image_gaussians(self, features: Features) -> ProlipEmbeddings:
        """Encoded images → their Gaussians: the mean by the head, of unit length."""

    def encode_gaussians(
        self, pixels: Tensor, keep: float | None = None, generator: Generator | None = None
    ) -> ProlipEmbeddings:
        """Pixels [n, 3, h, w] → Gaussians; of each image only a share `keep` of its patches is seen, by `generator`."""

    def text_gaussians(self, texts: Sequence[str]) -> ProlipEmbeddings:
        """Texts → their Gaussians."""

    def read_texts(self, texts: Sequence[str]) -> list[TextReading]:
        """What the tokenizer makes of each text."""


def gaussians(features: Features, weight: Tensor) -> ProlipEmbeddings:
    """The Gaussians of encoded images or texts under a mean head `weight` [D, p]; raises ModelError without log σ²."""
    if features.log_variance is None:
        raise ModelError("these features hold no uncertainty: encode them with a ProLIP model")
    return ProlipEmbeddings(normalize(features.embed(weight), dim=1), features.log_variance)
