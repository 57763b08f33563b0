"""Colours, sRGB in 0..1, [3]."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray as Array


def rgb(code: str) -> Array:
    """The colour of six hex digits."""
    return np.array([int(code[k : k + 2], 16) for k in (0, 2, 4)]) / 255


VIVID = [
    "d1382c",
    "e2672b",
    "eda52d",
    "f0c93a",
    "5a9e3d",
    "2f8f6b",
    "1f8fa3",
    "2f6fc0",
    "3a4fa8",
    "7a4aa5",
    "c44a86",
    "e58aa6",
]
SOFT = ["e9dcc3", "d9b99b", "c98f77", "a9b18f", "8fb0a9", "8aa5c0", "b7a3c4", "e4b5b0", "f2e3b0", "cfd8dc"]
DARK = ["2a2c33", "33404d", "3b2f2f", "1f3a4d", "45323f", "2e4034", "4a4a4f"]
PALE = ["f4f1ea", "e9ecef", "f7ead9", "e3eef0", "f3e6ea"]
WOOD = ["b88a57", "9b6b3f", "c9a06b", "7a4f2e", "d9b582", "8a5a3a"]
METAL = ["c9cbd0", "b9bdc4", "d3cfc6", "a9adb5"]
GOLD = ["d3ae5a", "c79a45", "b58a4a", "d8bd7a"]


def pick(rng: Generator, *palettes: list[str]) -> Array:
    """One colour of the palettes, a little off so that no two are alike."""
    codes = [code for palette in palettes for code in palette]
    colour = rgb(codes[rng.integers(len(codes))])
    return tint(colour, rng, 0.008 + 0.03 * float(np.ptp(colour)))


def tint(colour: Array, rng: Generator, spread: float = 0.035) -> Array:
    """`colour` a little lighter or darker and a little off in hue."""
    return np.clip(colour * rng.uniform(0.93, 1.07) + rng.normal(0, spread, 3), 0.02, 0.98)


def mix(one: Array, other: Array, share: float) -> Array:
    """`share` of the way from one colour to the other."""
    return one + (other - one) * share
