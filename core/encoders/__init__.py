"""Vision–language models: `load_encoder("mini")`, any open_clip model or ProLIP by name."""

from __future__ import annotations

from core.encoders.base import Encoder, GaussianEncoder, TextReading
from core.encoders.loading import SCHEMES, is_prolip, load_openclip, load_prolip
from core.encoders.mini import load_mini

__all__ = ["Encoder", "GaussianEncoder", "TextReading", "load_encoder"]


def load_encoder(name: str = "mini", device: str | None = None) -> Encoder:
    """An encoder by name: "mini", "mini-prolip", "architecture/pretrained", "architecture@/local/checkpoint",
    "hf-hub:owner/name" or "local-dir:/folder" with open_clip_config.json, or a ProLIP's config.json.

    `device` None takes the GPU where there is one. Raises ModelUnavailable, NoLinearHead.
    """
    import torch

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if name == "mini":
        return load_mini(device)
    if name == "mini-prolip":
        from core.encoders.mini_prolip import load_mini_prolip

        return load_mini_prolip(device)
    architecture, checkpoint = (name, "") if name.startswith(SCHEMES) else _parts(name)
    load = load_prolip if is_prolip(architecture) else load_openclip
    return load(architecture, checkpoint or None, device)


def _parts(name: str) -> tuple[str, str]:
    """ "architecture@/local/checkpoint" → both; the checkpoint is empty where none is named."""
    architecture, _, checkpoint = name.partition("@")
    return architecture, checkpoint
