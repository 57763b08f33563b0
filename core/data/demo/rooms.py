"""The room behind a scene: a wall and a table or floor, drawn flat and seen in perspective.

Axes: R pixels of the coarse picture · W texture side.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray as Array
from PIL import Image, ImageDraw, ImageFilter

from core.data.demo.noise import smooth_noise
from core.data.demo.palette import DARK, PALE, SOFT, VIVID, WOOD, mix, pick, rgb, tint

SPAN, TEXTURE = 9.0, 448  # units and pixels along a texture's side


def _ink(colour: Array) -> tuple[int, ...]:
    return tuple(int(v) for v in np.clip(colour, 0, 1) * 255)


@lru_cache(maxsize=1)
def _grain() -> Array:
    """Fine streaks [W, W] for wood, the same for all."""
    rng = np.random.default_rng(11)
    streaks = Image.fromarray(rng.normal(0, 1, (TEXTURE // 2, 12)).astype(np.float32))
    return np.asarray(streaks.resize((TEXTURE, TEXTURE), Image.Resampling.BICUBIC))


def look_up(texture: Image.Image, x: Array, y: Array) -> Array:
    """Colours [R, 3] in 0..1 at places in units about the texture's middle."""
    scale = TEXTURE / SPAN
    column = np.clip(x * scale + TEXTURE / 2, 0, TEXTURE - 1).astype(np.int32)
    row = np.clip(TEXTURE / 2 - y * scale, 0, TEXTURE - 1).astype(np.int32)
    return np.asarray(texture).reshape(-1, 3)[row * TEXTURE + column] * np.float32(1 / 255)


def floor(rng: Generator) -> Image.Image:
    """Boards, a chequered or plain cloth, tiles or a bare top."""
    return (_boards, _boards, _cloth, _tiles, _bare)[rng.integers(5)](rng)


def _toned(dark: Array, light: Array, share: Array) -> Image.Image:
    """Each pixel so much of the way from one colour to the other; `share` [W, W] in 0..1."""
    steps = np.linspace(0, 1, 256)[:, None]
    table = (np.clip(mix(dark, light, steps), 0, 1) * 255).astype(np.uint8)
    return Image.fromarray(table[(np.clip(share, 0, 1) * 255).astype(np.uint8)])


def _boards(rng: Generator) -> Image.Image:
    wood, wide = pick(rng, WOOD, WOOD, ["5a4334", "cbb79a", "8d8479"]), int(rng.uniform(18, 44))
    board = np.arange(TEXTURE) // wide
    share = (
        0.5 + rng.normal(0, 0.16, board[-1] + 1)[board][:, None] + 0.13 * np.roll(_grain(), rng.integers(TEXTURE), 0)
    )
    share[np.arange(TEXTURE) % wide < 1] -= 0.8
    return _toned(wood * 0.6, wood * 1.4, share.T if rng.random() < 0.4 else share)


def _cloth(rng: Generator) -> Image.Image:
    ground, colour = pick(rng, PALE), pick(rng, VIVID, SOFT)
    band = (np.arange(TEXTURE) // int(rng.uniform(13, 34))) % 2
    down, across = (band, 0 * band) if rng.random() < 0.35 else (band, band)
    return _toned(ground, colour, (down[:, None] + across[None]) / 2 * rng.uniform(0.6, 0.95))


def _tiles(rng: Generator) -> Image.Image:
    colour, wide = pick(rng, SOFT, PALE), int(rng.uniform(36, 72))
    image = Image.new("RGB", (TEXTURE, TEXTURE), _ink(colour * 0.7))
    draw = ImageDraw.Draw(image)
    for x in range(0, TEXTURE, wide):
        for y in range(0, TEXTURE, wide):
            draw.rectangle((x + 1, y + 1, x + wide - 1, y + wide - 1), fill=_ink(tint(colour, rng, 0.01)))
    return image


def _bare(rng: Generator) -> Image.Image:
    colour = pick(rng, SOFT, DARK, PALE, VIVID)
    cloud = smooth_noise(rng, TEXTURE, 20) + smooth_noise(rng, TEXTURE, 120)
    return _toned(colour * 0.8, colour * 1.2, 0.5 + 0.13 * cloud)


def wall(rng: Generator) -> Image.Image:
    """Paint, stripes or bricks with a window, pictures or a shelf on it."""
    colour = pick(rng, SOFT, PALE, SOFT, DARK)
    image = Image.new("RGB", (TEXTURE, TEXTURE), _ink(colour))
    draw = ImageDraw.Draw(image)
    style = rng.integers(5)
    if style == 0:
        for x in range(0, TEXTURE, 26):
            draw.rectangle((x, 0, x + 12, TEXTURE), fill=_ink(colour * 0.93))
    if style == 1:
        _bricks(draw, rng, mix(colour, rgb("a8583f"), rng.choice([0.0, 0.6])))
    for middle in rng.permutation([70, 170, 275, 375])[: rng.integers(2, 4)]:
        (_window, _picture, _shelf)[rng.integers(3)](draw, rng, int(middle + rng.integers(-18, 18)))
    draw.rectangle((0, TEXTURE // 2 - 10, TEXTURE, TEXTURE // 2), fill=_ink(mix(colour, rgb("ffffff"), 0.5)))
    return image


def _bricks(draw: ImageDraw.ImageDraw, rng: Generator, colour: Array) -> None:
    draw.rectangle((0, 0, TEXTURE, TEXTURE), fill=_ink(mix(colour, rgb("ffffff"), 0.35)))
    for row, y in enumerate(range(0, TEXTURE // 2, 13)):
        for x in range(-28 + 14 * (row % 2), TEXTURE, 28):
            draw.rectangle((x, y, x + 26, y + 11), fill=_ink(tint(colour, rng, 0.012)))


def _window(draw: ImageDraw.ImageDraw, rng: Generator, x: int) -> None:
    w, h, base = rng.integers(64, 98), rng.integers(84, 134), TEXTURE // 2 - rng.integers(35, 64)
    frame, sky, land = (
        pick(rng, PALE, WOOD),
        pick(rng, ["bfe0f5", "a8cdea", "f3d9b8"]),
        pick(rng, ["7fa56b", "9bb58a", "8aa0a8"]),
    )
    x0, x1, y0 = x - w // 2, x + w // 2, base - h
    draw.rectangle((x0 - 5, y0 - 5, x1 + 5, base + 5), fill=_ink(frame))
    for y in range(y0, base):
        draw.line((x0, y, x1, y), fill=_ink(mix(sky, rgb("ffffff"), (y - y0) / h * 0.7) * 1.1))
    draw.ellipse((x0 + 4, base - h * 0.32, x1 - 2, base + h * 0.1), fill=_ink(land))
    draw.rectangle((x0, base - h * 0.12, x1, base), fill=_ink(land * 0.9))
    draw.rectangle((x - 2, y0, x + 2, base), fill=_ink(frame))
    draw.rectangle((x0, y0 + h // 2 - 2, x1, y0 + h // 2 + 2), fill=_ink(frame))
    draw.rectangle((x0 - 10, base + 5, x1 + 10, base + 11), fill=_ink(frame * 0.9))
    if rng.random() < 0.5:
        cloth = pick(rng, VIVID, SOFT)
        for fold in range(4):
            for left in (x0 - 15, x1 - 2):
                stripe = (left + fold * 4, y0 - 10, left + fold * 4 + 3, base + 28)
                draw.rectangle(stripe, fill=_ink(cloth * (0.85 + 0.1 * (fold % 2))))


def _picture(draw: ImageDraw.ImageDraw, rng: Generator, x: int) -> None:
    w, h, base = rng.integers(42, 77), rng.integers(42, 84), TEXTURE // 2 - rng.integers(50, 98)
    draw.rectangle((x - w // 2 - 4, base - h - 4, x + w // 2 + 4, base + 4), fill=_ink(pick(rng, WOOD, DARK)))
    draw.rectangle((x - w // 2, base - h, x + w // 2, base), fill=_ink(pick(rng, PALE)))
    for _ in range(rng.integers(2, 6)):
        r, cx, cy = (
            rng.integers(4, 15),
            x + rng.integers(-w // 4, w // 4),
            base - h // 2 + rng.integers(-h // 4, h // 4),
        )
        shape = draw.ellipse if rng.random() < 0.5 else draw.rectangle
        shape((cx - r, cy - r, cx + r, cy + r), fill=_ink(pick(rng, VIVID, SOFT)))


def _shelf(draw: ImageDraw.ImageDraw, rng: Generator, x: int) -> None:
    base, w = TEXTURE // 2 - rng.integers(56, 105), rng.integers(70, 112)
    left = x - w // 2 + 4
    while left < x + w // 2 - 10:
        thick, tall = rng.integers(5, 11), rng.integers(26, 45)
        draw.rectangle((left, base - tall, left + thick - 1, base), fill=_ink(pick(rng, VIVID, DARK, SOFT)))
        left += thick + (rng.integers(4, 20) if rng.random() < 0.15 else 0)
    draw.rectangle((x - w // 2, base, x + w // 2, base + 5), fill=_ink(pick(rng, WOOD)))


def sunbeams(rng: Generator) -> Image.Image:
    """Slanted patches of light from a window; 0.6 where there are none, up to 1."""
    image = Image.new("RGB", (TEXTURE, TEXTURE), _ink(np.full(3, 0.6)))
    draw = ImageDraw.Draw(image)
    x, y, w, slant = rng.integers(105, 265), rng.integers(125, 230), rng.integers(38, 63), rng.integers(-63, 63)
    for column in range(2):
        for row in range(2):
            left, top = x + column * (w + 8) + row * slant, y + row * 63
            shift = slant * 0.85
            corners = [(left, top), (left + w, top), (left + w + shift, top + 54), (left + shift, top + 54)]
            draw.polygon(corners, fill=_ink(np.array([1, 0.95, 0.85])))
    return image.filter(ImageFilter.BoxBlur(3))
