"""ProLIP's network: a ViT with [CLS] and [UNC] in front, a text transformer with [UNC] and [CLS] behind (MATH.md §9)."""

from __future__ import annotations

from core.prolip.model.configs import PUBLISHED, ProlipConfig, TextConfig, VisionConfig
from core.prolip.model.model import Prolip

__all__ = ["PUBLISHED", "Prolip", "ProlipConfig", "TextConfig", "VisionConfig"]
