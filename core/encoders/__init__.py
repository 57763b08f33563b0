"""Vision–language models: `load_encoder("mini")`, or any open_clip model by name."""

from __future__ import annotations

from core.encoders.base import Encoder
from core.encoders.mini import load_mini
from core.encoders.openclip import load_openclip

__all__ = ["Encoder", "load_encoder"]


def load_encoder(name: str = "mini", device: str | None = None) -> Encoder:
    """An encoder by name: "mini", "architecture/pretrained", "architecture@/local/checkpoint" or "hf-hub:owner/name".

    `device` None takes the GPU where there is one. Raises ModelUnavailable.
    """
    import torch

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if name == "mini":
        return load_mini(device)
    architecture, at, checkpoint = name.partition("@")
    return load_openclip(architecture if at else name, checkpoint or None, device)
