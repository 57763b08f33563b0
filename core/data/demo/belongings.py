"""Recipes of things one carries about; see `catalogue`."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from core.data.demo.palette import DARK, GOLD, METAL, PALE, SOFT, VIVID, WOOD, mix, pick, rgb
from core.data.demo.sheets import (
    GLAZE,
    MATT,
    PLASTIC,
    STEEL,
    Finish,
    Sheet,
    arc,
    box,
    curve,
    disc,
    lathe,
    panel,
    place,
    ring,
    rounded,
    tube,
)

Sheets = list[Sheet]


def laptop(rng: Generator) -> Sheets:
    """An open laptop with keys, trackpad and something on the screen."""
    shell = pick(rng, METAL, METAL, DARK, SOFT)
    w, d, opened = rng.uniform(1.8, 2.1), rng.uniform(1.2, 1.4), rng.uniform(98, 122)
    finish = Finish(0.3, rng.choice([0, 1]))
    keys_colour, frame = pick(rng, DARK, DARK, PALE), rgb("17181c")
    base = place([box((w, 0.09, d), shell, finish, edge=0.03, corner=0.1)], at=(0, 0.045, 0))
    keys = [panel((-w * 0.43, w * 0.43), (-0.02, d * 0.4), 0.003, mix(shell, frame, 0.35))]
    for row in range(4):
        for column in range(11):
            x, y = -w * 0.415 + column * w * 0.0755, 0.005 + row * d * 0.098
            keys.append(panel((x, x + w * 0.062), (y, y + d * 0.08), 0.008, keys_colour, PLASTIC))
    keys.append(panel((-w * 0.16, w * 0.16), (-d * 0.42, -d * 0.08), 0.004, mix(shell, frame, 0.25), PLASTIC))
    deck = place(keys, turn=[("x", -90)], at=(0, 0.091, 0))
    lid = [*place([box((w, d, 0.06), shell, finish, edge=0.05)], at=(0, d / 2, 0))]
    lid.append(panel((-w * 0.485, w * 0.485), (0.03, d * 0.98), 0.033, frame, PLASTIC, inked=True))
    lid += place(_screen(rng, w * 0.46, d * 0.44), at=(0, d * 0.52, 0.036))
    return [*base, *deck, *place(lid, turn=[("x", 90 - opened)], at=(0, 0.1, -d / 2 + 0.03))]


def _screen(rng: Generator, w: float, h: float) -> Sheets:
    top, bottom = pick(rng, VIVID, SOFT), pick(rng, VIVID, DARK)
    glow = Finish(0.3, 0, 0.45)
    rows = np.linspace(h, -h, 9)
    grid = np.stack(np.broadcast_arrays(np.linspace(-w, w, 13)[None], rows[:, None], 0.0), -1)
    shares = np.linspace(0, 1, 8)[:, None, None] + np.zeros((8, 12, 1))
    parts = [Sheet(grid, mix(top, bottom, shares), glow, inked=True)]
    for depth in range(rng.integers(1, 4)):
        x, y, wide, tall = (
            rng.uniform(-0.75, 0.1) * w,
            rng.uniform(-0.7, 0.1) * h,
            rng.uniform(0.6, 1.1) * w,
            rng.uniform(0.6, 0.9) * h,
        )
        z = 0.004 * (depth + 1)
        right, up = min(x + wide, w * 0.94), min(y + tall, h * 0.9)
        parts.append(panel((x, right), (y, up), z, pick(rng, PALE, DARK), glow))
        parts.append(panel((x, right), (up - 0.06, up), z + 0.001, pick(rng, VIVID), glow))
        for line in np.arange(up - 0.16, y + 0.06, -0.09):
            end = x + 0.05 + (right - x - 0.1) * rng.uniform(0.4, 1)
            parts.append(panel((x + 0.05, end), (line - 0.035, line), z + 0.001, pick(rng, SOFT), glow))
    return parts


def headphones(rng: Generator) -> Sheets:
    """Two padded cups on a band."""
    colour, pad = pick(rng, VIVID, DARK, PALE), pick(rng, DARK, SOFT)
    trim = pick(rng, METAL, GOLD, VIVID)
    w, tall, cup = rng.uniform(0.62, 0.72), rng.uniform(0.85, 1.05), rng.uniform(0.36, 0.46)
    path = arc((w, tall), -12, 192, 30)
    band = tube(path, rng.uniform(0.1, 0.15), colour, PLASTIC, flat=1.0, face=(0, 0, 1))
    band = place([band], scale=(1, 1, 1.5))
    lining = place([tube(arc((w - 0.09, tall - 0.09), 40, 140, 16), 0.1, pad, MATT)], scale=(1, 1, 1.5))
    parts = [*band, *lining]
    stretch = rng.uniform(1.0, 1.3)
    for s in (-1, 1):
        shell = lathe(
            rounded([(0, 0.2), (cup * 0.8, 0.17), (cup, 0.05), (cup, -0.02), (0.1, -0.02)], 0.08), colour, GLAZE
        )
        logo = disc(cup * 0.5, 0.196, trim, STEEL)
        rim = lathe([(cup * 1.01, 0.0), (cup * 1.02, 0.04)], trim, STEEL, inked=False)
        cushion = place([ring(cup * 0.72, cup * 0.32, pad, MATT)], turn=[("x", 90)], scale=(1, 1, 0.8), at=(0, -0.1, 0))
        half = place(
            [shell, logo, rim, *cushion], scale=(1, 1, stretch), turn=[("z", -90 * s), ("y", s * rng.uniform(0, 10))]
        )
        parts += place(half, at=(s * (w + 0.02), -0.2 - tall * 0.18, 0))
    return parts


def umbrella(rng: Generator) -> Sheets:
    """An open umbrella with ribs and a crook, seldom a furled one."""
    one, two = pick(rng, VIVID, VIVID, DARK), pick(rng, VIVID, PALE)
    handle = pick(rng, WOOD, DARK)
    panels, dome, wide = int(rng.choice([6, 8, 8, 10])), rng.uniform(0.45, 0.75), rng.uniform(1.05, 1.3)
    angle = np.linspace(0, 2 * np.pi, panels * 6 + 1)
    share = np.linspace(0, 1, 12)[:, None]
    within = np.abs(((angle * panels / (2 * np.pi)) % 1) - 0.5) * 2
    scallop = 1 - 0.09 * (1 - within**2) * share**2
    radius, y = (
        wide * np.sin(share * np.pi / 2 * 0.96) * scallop,
        dome * np.cos(share * np.pi / 2) + 0.07 * (1 - within**2) * share**3,
    )
    canopy = np.stack([radius * np.sin(angle), y + 0 * radius, radius * np.cos(angle)], -1)
    number = (np.arange(panels * 6) // 6)[None, :, None]
    style = rng.integers(3)
    colours = [
        one + 0 * number,
        np.where(number % 2 == 0, one, two),
        np.where(np.arange(11)[:, None, None] > 8, two, one + 0 * number),
    ][style]
    cloth = Sheet(canopy, np.broadcast_to(colours, (11, panels * 6, 3)), Finish(0.2))
    ribs = [
        tube(
            canopy[:, 6 * k] + (0, 0.006, 0),
            0.014,
            one * 0.7,
            MATT,
            sides=4,
            face=(np.cos(angle[6 * k]), 0, -np.sin(angle[6 * k])),
            inked=False,
        )
        for k in range(panels)
    ]
    down = rng.uniform(1.1, 1.35)
    pole = tube([(0, dome + 0.16, 0), (0, -down, 0)], [0.02, 0.03], pick(rng, METAL), STEEL)
    crook = arc(0.16, 0, -190, 14, at=(-0.16, 0, 0))
    hook = tube(np.concatenate([[(0, 0.25, 0), (0, 0.1, 0)], crook]) - (0, down, 0), 0.055, handle, GLAZE)
    return [cloth, *ribs, pole, hook]


def backpack(rng: Generator) -> Sheets:
    """A rucksack with front pocket, zips, straps and a loop to carry it by."""
    colour = pick(rng, VIVID, DARK)
    second = pick(rng, VIVID, SOFT) if rng.random() < 0.5 else mix(colour, rgb("000000"), 0.25)
    strap, zip_ = mix(colour, rgb("101014"), 0.6), pick(rng, PALE, METAL, GOLD)
    w, h, d = rng.uniform(1.1, 1.3), rng.uniform(1.55, 1.8), rng.uniform(0.55, 0.7)
    body = _bag(w, h, d, colour)
    pw, ph = w * rng.uniform(0.7, 0.82), h * rng.uniform(0.36, 0.46)
    pocket = place([_bag(pw, ph, 0.34, second)], at=(0, 0.08, d / 2))
    parts = [body, *pocket]
    front = d / 2 + 0.03
    seam = np.array(
        [
            (-w * 0.42, h * 0.62, d * 0.3),
            (-w * 0.36, h * 0.84, d * 0.36),
            (0, h * 0.9, d * 0.42),
            (w * 0.36, h * 0.84, d * 0.36),
            (w * 0.42, h * 0.62, d * 0.3),
        ]
    )
    parts.append(tube(curve(seam, 20), 0.022, zip_, PLASTIC, sides=6))
    y = 0.08 + ph * 0.8
    parts.append(tube([(-pw * 0.36, y, front + 0.13), (pw * 0.36, y, front + 0.13)], 0.02, zip_, PLASTIC, sides=6))
    parts += place([box((0.07, 0.16, 0.03), zip_, PLASTIC, edge=0.015)], at=(pw * 0.3, y - 0.08, front + 0.15))
    loop = arc((0.17, 0.2), 0, 180, 12, at=(0, h * 0.96, -d * 0.15))
    parts.append(tube(loop, 0.045, strap, MATT, flat=1.5))
    for s in (-1, 1):
        line = [
            (s * w * 0.25, h * 0.95, -d * 0.3),
            (s * w * 0.5, h * 0.9, -d * 0.62),
            (s * w * 0.62, h * 0.5, -d * 0.7),
            (s * w * 0.5, 0.12, -d * 0.4),
        ]
        parts += [tube(curve(line, 16), 0.085, strap, MATT, flat=0.5, face=(s, 0, 0.6))]
        parts += place([_bag(0.2, h * 0.36, d * 0.62, second)], at=(s * w * 0.5, 0.06, 0))
    if rng.random() < 0.5:
        for s in (-0.22, 0.22):
            parts += place([box((0.08, h * 0.5, 0.03), strap, MATT, edge=0.012)], at=(s * w, h * 0.56, front + 0.01))
    return parts


def _bag(w: float, h: float, d: float, colour) -> Sheet:
    """A stuffed bag that stands on y = 0, rounder and slimmer at its top."""
    y = np.array([0, 0.0, 0.03, 0.1, 0.3, 0.5, 0.65, 0.78, 0.88, 0.95, 0.99, 1.0, 1.0])
    size = np.array([0, 0.86, 0.96, 1, 1, 0.98, 0.96, 0.91, 0.82, 0.67, 0.48, 0.3, 0])
    thin = size * np.linspace(1.0, 0.82, len(size))
    angle = np.linspace(0, 2 * np.pi, 33)
    cos, sin = np.cos(angle), np.sin(angle)
    x, z = np.sign(cos) * np.abs(cos) ** 0.5, np.sign(sin) * np.abs(sin) ** 0.5
    return Sheet(
        np.stack([size[:, None] * x * w / 2, (y * h)[:, None] + 0 * angle, thin[:, None] * z * d / 2], -1),
        colour,
        Finish(0.12),
    )
