"""Both towers with their logit map: images and texts as Gaussians.

Axes: n images or texts · K patches kept · L tokens · D joint embedding size.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from core.prolip.model.configs import ProlipConfig
from core.prolip.model.text import TextTower
from core.prolip.model.vision import VisionTower
from core.values import ProlipEmbeddings


class Prolip(nn.Module):
    """ProLIP as published: the official weights load into it strictly, and it gives their outputs."""

    def __init__(self, config: ProlipConfig):
        super().__init__()
        self.config = config
        self.visual = VisionTower(config.vision, config.embed_dim, config.quick_gelu)
        self.text = TextTower(config.text, config.embed_dim, config.quick_gelu)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))
        self.logit_bias = nn.Parameter(torch.tensor(float(config.init_logit_bias)))

    def encode_images(self, pixels: Tensor, patches: Tensor | None = None) -> ProlipEmbeddings:
        """Pixels [n, 3, h, w] → Gaussians; `patches` [K] or [n, K] are seen, None: all."""
        return _gaussians(*self.visual.heads(self.visual(pixels, patches)))

    def encode_texts(self, tokens: Tensor) -> ProlipEmbeddings:
        """Tokens [n, L] → Gaussians."""
        return _gaussians(*self.text.heads(self.text(tokens)))

    def forward(
        self, pixels: Tensor, tokens: Tensor, patches: Tensor | None = None
    ) -> tuple[ProlipEmbeddings, ProlipEmbeddings]:
        """Images and texts in one call, as a distributed wrapper needs."""
        return self.encode_images(pixels, patches), self.encode_texts(tokens)


def _gaussians(mean: Tensor, log_variance: Tensor) -> ProlipEmbeddings:
    return ProlipEmbeddings(normalize(mean, dim=1), log_variance)
