"""An encoder of Gaussians without towers: images by their colours, texts by their letters, longer texts narrower."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor
from torch.nn.functional import normalize

from core.encoders.base import TextReading, gaussians
from core.values import Features, Heads, ProlipEmbeddings
from tests.toy import ToyEncoder

D, LIMIT = 16, 10


class ToyGaussians(ToyEncoder):
    name = fingerprint = "toy-gaussians"
    logit_scale, logit_bias = 10.0, -1.0

    def __init__(self) -> None:
        super().__init__()
        self.heads = Heads(self.heads.image, torch.eye(D), self.logit_scale, self.logit_bias)
        self.read = 0  # texts that were encoded

    def encode_images(self, pixels: Tensor) -> Features:
        features = super().encode_images(pixels)
        return Features(features.activations, log_variance=features.activations[:, :D] - 5)

    def encode_texts(self, texts) -> Features:
        self.read += len(texts)
        means = torch.stack([self._mean(text) for text in texts])
        lengths = torch.tensor([float(min(LIMIT, len(text.split()))) for text in texts])
        wide = means[:, 0] / 100 - 4 - lengths / 4  # no two alike
        return Features(means, log_variance=wide[:, None].expand(-1, D).clone())

    def _mean(self, text: str) -> Tensor:
        seed = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)
        return normalize(torch.randn(D, generator=torch.Generator().manual_seed(seed)), dim=0)

    def image_gaussians(self, features: Features) -> ProlipEmbeddings:
        return gaussians(features, self.heads.image)

    def encode_gaussians(self, pixels: Tensor, keep: float | None = None, generator=None) -> ProlipEmbeddings:
        found = self.image_gaussians(self.encode_images(pixels))
        return ProlipEmbeddings(found.mean, found.log_variance - torch.tensor(keep or 1.0).log())

    def text_gaussians(self, texts) -> ProlipEmbeddings:
        return gaussians(self.encode_texts(texts), self.heads.text)

    def read_texts(self, texts) -> list[TextReading]:
        return [self._reading(text) for text in texts]

    def _reading(self, text: str) -> TextReading:
        words = [word for word in text.split() if any(letter.isalnum() for letter in word)]
        return TextReading(text, " ".join(words[:LIMIT]), len(words), LIMIT, len(words) > LIMIT)
