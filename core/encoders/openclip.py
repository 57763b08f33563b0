"""Any open_clip model as an `Encoder`: one class for CLIP, SigLIP, CoCa and towers from timm and Hugging Face.

Axes: n batch · p input of a head, bias column included.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial

import torch
from PIL import Image
from torch import Tensor, nn

from core.encoders.heads import IMAGE_HEADS, TEXT_HEADS, Tower
from core.encoders.memory import BatchSize
from core.values import Features, Heads

TEXT_BATCH = 256


class OpenClipEncoder:
    """An open_clip model (CLIP, CustomTextCLIP or CoCa, whatever its towers) as an `Encoder`.

    Frozen, channels-last; on a GPU in half precision, and in single where half overflows. Its heads are taken from
    `model`, which is not to be used by itself afterwards. Raises NoLinearHead, naming the model.
    """

    def __init__(
        self,
        name: str,
        model: nn.Module,
        preprocess: Callable[[Image.Image], Tensor],
        tokenizer: Callable[[list[str]], Tensor],
        device: str | torch.device = "cpu",
        made_of: str | None = None,
    ):
        """`made_of` names weights and preprocessing for good; without it the fingerprint is taken of the tensors."""
        self.name = name
        self.fingerprint = digest(made_of) if made_of else fingerprint(model, repr(preprocess) + activation(model))
        self.device = torch.device(device)
        model = model.eval().requires_grad_(False).to(self.device, memory_format=torch.channels_last)
        bias = getattr(model, "logit_bias", None)
        self._preprocess, self._tokenizer = preprocess, tokenizer
        self._image = Tower(name, model, partial(model.encode_image, normalize=False), IMAGE_HEADS)
        self._text = Tower(name, model, partial(model.encode_text, normalize=False), TEXT_HEADS)
        self._texts_at_once = BatchSize(TEXT_BATCH)
        self.heads = Heads(
            image=self._image.weight.cpu(),
            text=self._text.weight.cpu(),
            scale=float(model.logit_scale.detach().exp()),
            bias=0.0 if bias is None else float(bias),
        )

    def preprocess(self, image: Image.Image) -> Tensor:
        return self._preprocess(image)

    def encode_images(self, pixels: Tensor) -> Features:
        return self._run(self._image, pixels.to(self.device, memory_format=torch.channels_last))

    def encode_texts(self, texts: Sequence[str]) -> Features:
        return self._texts_at_once.encode(self._encode_texts, list(texts))

    def _encode_texts(self, texts: Sequence[str]) -> Features:
        return self._run(self._text, self._tokenizer(list(texts)).to(self.device))

    @torch.inference_mode()
    def _run(self, tower: Tower, inputs: Tensor) -> Features:
        if self.device.type != "cuda":
            return tower(inputs).to("cpu")
        with torch.autocast("cuda", torch.float16):
            features = tower(inputs)
        return (features if finite(features) else tower(inputs)).to("cpu")


def finite(features: Features) -> bool:
    """Whether every number of `features` is."""
    return all(bool(torch.isfinite(part).all()) for part in features.parts().values())


def activation(model: nn.Module) -> str:
    """What the weights do not show: that they work through QuickGELU, "" for any other activation."""
    return "QuickGELU" if any(type(module).__name__ == "QuickGELU" for module in model.modules()) else ""


def fingerprint(model: nn.Module, preprocessing: str) -> str:
    """Sixteen hex digits that stand for weights and preprocessing."""
    hashed = hashlib.sha256(preprocessing.encode())
    for key, tensor in sorted(model.state_dict().items()):
        hashed.update(key.encode())
        hashed.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return hashed.hexdigest()[:16]


def digest(text: str) -> str:
    """Sixteen hex digits that stand for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
