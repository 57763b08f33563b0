"""The offline ProLIP: mini's towers, with heads for the mean and small networks for log σ² that ship here.

Trained by `python -m core train-mini-prolip`; see mini_prolip/CARD.md. Axes: n batch · p input of a head · D = 256.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from PIL import Image
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import interpolate

from core.encoders.base import TextReading, gaussians
from core.encoders.mini import (
    EMBEDDING_SIZE,
    IMAGE_HEAD_KEY,
    LOGIT_SCALE_KEY,
    TEXT_HEAD_KEY,
    build_mini,
    made_of,
)
from core.encoders.openclip import OpenClipEncoder
from core.encoders.tokens import read_texts
from core.values import Features, Heads, ProlipEmbeddings

NAME = "mini-prolip"
SHIPPED = Path(__file__).parent / "mini_prolip"
HEADS_FILE = SHIPPED / "heads.safetensors"
CURVATURE_FILE = SHIPPED / "curvature.safetensors"
LOGIT_BIAS_KEY = "logit_bias"
SPREADS = ("log_variance.image.", "log_variance.text.")  # what the tensors of the two networks are called


class Spread(nn.Module):
    """log σ² [n, D] from what enters the mean head [n, p], by one hidden layer; `size` is the inputs' usual one."""

    def __init__(self, inputs: int, hidden: int, size: float = 1.0):
        super().__init__()
        self.size = nn.Buffer(torch.tensor(size))
        self.hidden = nn.Linear(inputs, hidden)
        self.output = nn.Linear(hidden, EMBEDDING_SIZE)

    def forward(self, activations: Tensor) -> Tensor:
        return self.output(nn.functional.gelu(self.hidden(activations / self.size)))


class MiniProlip:
    """Mini's towers as a `GaussianEncoder`. Of a masked image it sees a crop: its tower has no patches to drop."""

    def __init__(self, heads: Path, device: str = "cpu"):
        model, preprocess, tokenizer = build_mini()
        tensors = {name: tensor.float() for name, tensor in load_file(heads).items()}
        model.load_state_dict({key: tensors[key] for key in (IMAGE_HEAD_KEY, TEXT_HEAD_KEY, LOGIT_SCALE_KEY)}, False)
        self._towers = OpenClipEncoder(NAME, model, preprocess, tokenizer, device, made_of=made_of(heads))
        self._tokenizer = tokenizer.inner
        self._image, self._text = (_spread(tensors, prefix) for prefix in SPREADS)
        self.name, self.fingerprint, self.device = NAME, self._towers.fingerprint, self._towers.device
        self.heads: Heads = replace(self._towers.heads, bias=float(tensors[LOGIT_BIAS_KEY]))

    @property
    def logit_scale(self) -> float:
        return self.heads.scale

    @property
    def logit_bias(self) -> float:
        return self.heads.bias

    def preprocess(self, image: Image.Image) -> Tensor:
        return self._towers.preprocess(image)

    def encode_images(self, pixels: Tensor) -> Features:
        return _with(self._towers.encode_images(pixels), self._image)

    def encode_texts(self, texts: Sequence[str]) -> Features:
        return _with(self._towers.encode_texts(texts), self._text)

    def image_gaussians(self, features: Features) -> ProlipEmbeddings:
        return gaussians(features, self.heads.image)

    def encode_gaussians(
        self, pixels: Tensor, keep: float | None = None, generator: torch.Generator | None = None
    ) -> ProlipEmbeddings:
        """From one state of the generator, what a smaller share keeps is a part of what a larger one does."""
        seen = pixels if keep is None or keep == 1 else cropped(pixels, keep, generator)
        return self.image_gaussians(self.encode_images(seen))

    def text_gaussians(self, texts: Sequence[str]) -> ProlipEmbeddings:
        return gaussians(self.encode_texts(texts), self.heads.text)

    def read_texts(self, texts: Sequence[str]) -> list[TextReading]:
        return read_texts(self._tokenizer, texts)


def load_mini_prolip(device: str = "cpu", heads: Path = HEADS_FILE) -> MiniProlip:
    """The offline ProLIP with its shipped heads; raises ModelUnavailable without its towers."""
    return MiniProlip(heads, device)


def cropped(pixels: Tensor, keep: float, generator: torch.Generator | None = None) -> Tensor:
    """A square of each image [n, 3, h, h] with a share `keep` of its area, drawn anywhere, at the full size again.

    From one state of the generator a smaller square lies within a larger one. Raises ValueError for keep ∉ (0, 1].
    """
    if not 0 < keep <= 1:
        raise ValueError(f"a share of an image in (0, 1] can be kept, not {keep}")
    full = pixels.shape[-1]
    side = max(1, round(full * keep**0.5))
    corners = (torch.rand(len(pixels), 2, generator=generator) * (full - side + 1)).long().tolist()
    parts = [image[:, y : y + side, x : x + side] for image, (y, x) in zip(pixels, corners, strict=True)]
    return interpolate(torch.stack(parts), (full, full), mode="bilinear", antialias=True)


@torch.inference_mode()
def _with(features: Features, spread: Spread) -> Features:
    return replace(features, log_variance=spread(features.activations))


def _spread(tensors: dict[str, Tensor], prefix: str) -> Spread:
    own = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    hidden, inputs = own["hidden.weight"].shape
    spread = Spread(inputs, hidden)
    spread.load_state_dict(own)
    return spread.eval().requires_grad_(False)
