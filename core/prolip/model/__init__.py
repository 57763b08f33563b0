"""ProLIP's network: a ViT behind [CLS] and [UNC], a text transformer before [UNC] and [CLS] (MATH.md §9)."""

from __future__ import annotations

from core.prolip.model.configs import PUBLISHED, ProlipConfig, TextConfig, VisionConfig
from core.prolip.model.model import Prolip

__all__ = ["PUBLISHED", "Prolip", "ProlipConfig", "TextConfig", "VisionConfig"]
