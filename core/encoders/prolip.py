"""ProLIP as an `Encoder` whose images and texts are Gaussians (MATH.md §9).

Axes: n batch · p input of a head, bias column included · D joint embedding size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from open_clip.tokenizer import HFTokenizer, SimpleTokenizer
from PIL import Image
from torch import Tensor
from torch.nn.functional import interpolate

from core.encoders.base import TextReading, gaussians
from core.encoders.heads import head_weight
from core.encoders.memory import BatchSize
from core.encoders.openclip import TEXT_BATCH, activation, digest, fingerprint
from core.encoders.tokens import read_texts
from core.prolip.model.model import Prolip
from core.prolip.model.text import TextTower
from core.prolip.model.vision import VisionTower
from core.values import Features, Heads, ProlipEmbeddings


class ProlipEncoder:
    """A ProLIP model as a `GaussianEncoder`: its mean heads are the heads, log σ² comes with the features.

    Frozen; on a GPU the towers run in half precision, and in single where half overflows, the heads always in single.
    """

    def __init__(
        self,
        name: str,
        model: Prolip,
        preprocess: Callable[[Image.Image], Tensor],
        tokenizer: HFTokenizer | SimpleTokenizer,
        device: str | torch.device = "cpu",
        made_of: str | None = None,
    ):
        """`made_of` names weights and preprocessing for good; without it the fingerprint is taken of the tensors."""
        self.name = name
        self.fingerprint = digest(made_of) if made_of else fingerprint(model, repr(preprocess) + activation(model))
        self.device = torch.device(device)
        self._model = model.eval().requires_grad_(False).to(self.device)
        self._preprocess, self._tokenizer = preprocess, tokenizer
        self._texts_at_once = BatchSize(TEXT_BATCH)
        self.heads = Heads(
            image=head_weight(model.visual.proj)[0].cpu(),
            text=head_weight(model.text.text_projection)[0].cpu(),
            scale=float(model.logit_scale.exp()),
            bias=float(model.logit_bias),
        )

    @property
    def logit_scale(self) -> float:
        return self.heads.scale

    @property
    def logit_bias(self) -> float:
        return self.heads.bias

    def preprocess(self, image: Image.Image) -> Tensor:
        return self._preprocess(image)

    def encode_images(self, pixels: Tensor) -> Features:
        return self._encode_images(pixels, None)

    def encode_texts(self, texts: Sequence[str]) -> Features:
        return self._texts_at_once.encode(self._encode_texts, list(texts))

    def image_gaussians(self, features: Features) -> ProlipEmbeddings:
        return gaussians(features, self.heads.image)

    def encode_gaussians(
        self, pixels: Tensor, keep: float | None = None, generator: torch.Generator | None = None
    ) -> ProlipEmbeddings:
        """From one state of the generator, what a smaller share keeps is a part of what a larger one does."""
        seen = 1.0 if keep is None else keep
        patches = None if seen == 1 else self._model.visual.draw_patches(len(pixels), seen, generator)
        return self.image_gaussians(self._encode_images(pixels, patches))

    def seen_pixels(self, pixels: Tensor, keep: float, generator: torch.Generator | None = None) -> Tensor:
        """Pixels [n, 3, h, w] as `encode_gaussians` sees them from one state of the generator, nan where hidden."""
        if keep == 1:
            return pixels
        tower = self._model.visual
        n, rows, columns = len(pixels), *(side // tower.config.patch_size for side in pixels.shape[2:])
        patches = tower.draw_patches(n, keep, generator)
        hidden = torch.ones(n, rows * columns, dtype=torch.bool).scatter_(1, patches, False)
        hidden = interpolate(hidden.reshape(n, 1, rows, columns).float(), pixels.shape[2:], mode="nearest").bool()
        return pixels.masked_fill(hidden, torch.nan)

    def text_gaussians(self, texts: Sequence[str]) -> ProlipEmbeddings:
        return gaussians(self.encode_texts(texts), self.heads.text)

    def read_texts(self, texts: Sequence[str]) -> list[TextReading]:
        return read_texts(self._tokenizer, texts)

    @torch.inference_mode()
    def _encode_images(self, pixels: Tensor, patches: Tensor | None) -> Features:
        tower = self._model.visual
        inputs = (pixels.to(self.device), None if patches is None else patches.to(self.device))
        hidden = self._hidden(tower, *inputs)  # [n, 2, width]
        return Features(hidden[:, 0], log_variance=tower.heads(hidden)[1]).to("cpu")

    @torch.inference_mode()
    def _encode_texts(self, texts: Sequence[str]) -> Features:
        tower = self._model.text
        hidden = self._hidden(tower, self._tokenizer(list(texts)).to(self.device))  # [n, width]
        activations = torch.cat([hidden, torch.ones_like(hidden[:, :1])], dim=1)
        return Features(activations, log_variance=tower.heads(hidden)[1]).to("cpu")

    def _hidden(self, tower: VisionTower | TextTower, *inputs: Tensor | None) -> Tensor:
        with torch.autocast(self.device.type, torch.float16, enabled=self.device.type == "cuda"):
            hidden = tower(*inputs)
        return (hidden if hidden.isfinite().all() else tower(*inputs)).float()
