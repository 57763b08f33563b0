"""Smooth random textures."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray as Array
from PIL import Image


def smooth_noise(rng: Generator, side: int, cells: int) -> Array:
    """Clouds [side, side] about 0, most within -1..1, some `cells` across."""
    coarse = Image.fromarray(rng.normal(0, 0.5, (cells + 1, cells + 1)).astype(np.float32))
    return np.asarray(coarse.resize((side, side), Image.Resampling.BICUBIC))
