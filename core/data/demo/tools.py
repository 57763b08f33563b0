"""Recipes of small tools that lie on a desk; see `catalogue`."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from core.data.demo.palette import DARK, GOLD, METAL, VIVID, mix, pick, rgb, tint
from core.data.demo.sheets import (
    BRUSHED,
    GLAZE,
    MATT,
    PLASTIC,
    STEEL,
    Sheet,
    curve,
    lathe,
    place,
    ring,
    rounded,
    strip,
    tube,
)

Sheets = list[Sheet]


def scissors(rng: Generator) -> Sheets:
    """Two crossing blades with ring handles, more or less open."""
    colour, steel = pick(rng, VIVID, VIVID, DARK), pick(rng, METAL)
    opened, long, wide = rng.uniform(9, 24), rng.uniform(1.0, 1.35), rng.uniform(0.13, 0.19)
    hole, thick = (rng.uniform(0.2, 0.27), rng.uniform(0.26, 0.36)), rng.uniform(0.065, 0.09)
    shank = rng.uniform(0.25, 0.45)
    parts = []
    for side, depth in ((1, 0.035), (-1, -0.035)):
        along = np.linspace(-0.2, long, 14)
        taper = wide * np.clip((long - along) / long * 1.25, 0.03, 1) ** 0.7
        blade = strip(along, -taper * 0.45, taper * 0.55, 0.05, steel, STEEL, bevel=0.35)
        loop = ring(hole, thick, colour, PLASTIC)
        if rng.random() < 0.5:
            hole = (hole[0], hole[1] * rng.uniform(1.0, 1.25))
        start = np.array([-0.1, 0, 0])
        centre = np.array([-0.35 - shank - hole[1], side * -(hole[0] + thick * 0.2), 0])
        bend = curve([start, (-0.3, -0.03 * side, 0), np.add(centre, (hole[1] * 0.93, side * hole[0] * 0.25, 0))], 8)
        grip = tube(bend, np.linspace(wide * 0.48, thick * 1.1, 8), colour, PLASTIC, flat=0.75)
        handle = place([loop], turn=[("z", 90 + side * 8)], at=centre)
        half = [*place([blade], scale=(1, side, 1)), grip, *handle]
        parts += place(half, turn=[("z", side * opened)], at=(0, 0, depth))
    screw = place(
        [lathe(rounded([(0.075, -0.08), (0.075, 0.08), (0, 0.09)], 0.02), steel * 0.8, STEEL)], turn=[("x", 90)]
    )
    return place([*parts, *screw], turn=[("z", 90)])


def key(rng: Generator) -> Sheets:
    """A house key with a cut blade, or an old key with a bit."""
    return (_old_key if rng.random() < 0.45 else _house_key)(rng)


def _house_key(rng: Generator) -> Sheets:
    metal = pick(rng, METAL, GOLD, GOLD)
    bow = rng.uniform(0.38, 0.48)
    hole = bow * rng.uniform(0.28, 0.4)
    flat = rounded([(hole, -0.05), (bow, -0.05), (bow, 0.05), (hole, 0.05), (hole, -0.05)], 0.02)
    colour = pick(rng, VIVID, DARK) if rng.random() < 0.3 else metal
    head = place(
        [lathe(flat, colour, PLASTIC if colour is not metal else STEEL, sides=40 if rng.random() < 0.6 else 6)],
        scale=(1, 1, rng.uniform(0.9, 1.2)),
        turn=[("x", 90)],
        at=(-bow, 0, 0),
    )
    if rng.random() < 0.4:
        inner = mix(metal, rgb("000000"), 0.35)
        head += place([ring(bow * 0.75, 0.025, inner, STEEL)], at=(-bow, 0, 0.045))
    long, wide = rng.uniform(1.15, 1.45), rng.uniform(0.2, 0.26)
    teeth = rng.uniform(0.15, 0.95, 7)
    x = np.concatenate(
        [
            [-0.12, 0.12, 0.14, 0.26],
            np.repeat(np.linspace(0.34, long - 0.12, 7), 2) + np.tile([-0.035, 0.035], 7),
            [long],
        ]
    )
    low = np.concatenate([[-1.35, -1.35, -1, -1], np.repeat(-teeth, 2), [0.3]]) * wide
    high = np.concatenate([[1.35, 1.35], np.full(len(x) - 3, 1.0), [0.55]]) * wide
    blade = strip(x, low, high, 0.07, metal, STEEL, bevel=0.12)
    groove = [
        tube([(0.1, wide * 0.35, z), (long - 0.12, wide * 0.35, z)], 0.03, metal * 0.55, BRUSHED, inked=False)
        for z in (0.03, -0.03)
    ]
    return place([*head, blade, *groove], turn=[("z", rng.choice([0, 90, -90]))])


def _old_key(rng: Generator) -> Sheets:
    metal = pick(rng, GOLD, METAL, ["8a6a45", "6d5a48"])
    long, thick = rng.uniform(1.3, 1.6), rng.uniform(0.06, 0.085)
    kind, size = rng.integers(3), rng.uniform(0.24, 0.32)
    if kind == 0:
        bow = place([ring((size * 1.25, size * 1.05), thick * 1.2, metal, STEEL)], at=(-size * 1.25, 0, 0))
    elif kind == 1:
        spots = [(-0.25, 0.24), (-0.25, -0.24), (-0.55, 0)]
        bow = [sheet for x, y in spots for sheet in place([ring(size * 0.78, thick, metal, STEEL)], at=(x, y, 0))]
    else:
        heart = [
            (0, 0),
            (-0.2, 0.32),
            (-0.5, 0.36),
            (-0.62, 0.17),
            (-0.45, 0),
            (-0.62, -0.17),
            (-0.5, -0.36),
            (-0.2, -0.32),
            (0, 0),
        ]
        bow = [tube(np.pad(curve(heart, 40), ((0, 0), (0, 1))), thick, metal, STEEL)]
    shaft = tube([(-0.03, 0, 0), (long, 0, 0)], thick, metal, STEEL, sides=14)
    collars = [
        place(
            [
                lathe(
                    rounded([(0.02, -0.05), (thick * 1.9, -0.05), (thick * 1.9, 0.05), (0.02, 0.05)], 0.04),
                    metal,
                    STEEL,
                )
            ],
            turn=[("z", 90)],
            at=(x, 0, 0),
        )[0]
        for x in (0.08, 0.24)
    ]
    depth, notch = rng.uniform(0.38, 0.5), rng.uniform(0.3, 0.6)
    x = long - 0.05 - np.array([0.42, 0.3, 0.29, 0.2, 0.19, 0.12, 0.11, 0.0])
    low = -depth * np.array([1, 1, notch, notch, 1, 1, notch * 1.2, notch * 1.2])
    bit = strip(x, low, np.zeros(8), 0.09, metal, STEEL, bevel=0.12)
    return place([*bow, shaft, *collars, bit], turn=[("z", rng.choice([0, 90, -90]))])


def pencil(rng: Generator) -> Sheets:
    """One sharpened pencil, or two or three side by side, most with a rubber."""
    count = rng.choice([1, 1, 1, 2, 3])
    rubber, parts = rng.random() < 0.7, []
    long, thick = rng.uniform(1.6, 2.1), rng.uniform(0.085, 0.12) * (1.25 if count == 1 else 1.0)
    for k in range(count):
        parts += place(
            _one_pencil(rng, long * rng.uniform(0.85, 1), thick, rubber),
            turn=[("y", rng.uniform(0, 360)), ("z", 0 if count == 1 else rng.uniform(-9, 9) + (k - 1) * 9)],
            at=(k * thick * 3.2, 0, 0),
        )
    return parts


def _one_pencil(rng: Generator, long: float, thick: float, rubber: bool) -> Sheets:
    coat, tip = pick(rng, VIVID, ["eda52d", "f0c93a"]), long - thick * rng.uniform(3.2, 4.2)
    lead = rgb("2b2b30") if rubber or rng.random() < 0.5 else coat
    cone = (long - tip) / thick
    body = lathe([(thick, 0), (thick, tip)], coat, GLAZE, sides=6)
    wood = lathe(
        [(thick, tip), (thick * 0.99, tip + 0.01), (thick * 0.3, tip + cone * thick * 0.72)],
        tint(rgb("e3c08f"), rng),
        MATT,
        sides=18,
    )
    point = lathe([(thick * 0.31, tip + cone * thick * 0.7), (0.012, long), (0, long)], lead, PLASTIC, sides=18)
    parts = [body, wood, point]
    if not rubber:
        return [
            *parts,
            lathe([(thick, 0), (thick * 0.35, 0), (thick * 0.34, -0.005), (0, -0.005)], rgb("e3c08f"), MATT, sides=6),
        ]
    bands = [(thick * (1.02 + 0.1 * (k % 2)), 0.05 - 0.05 * k) for k in range(6)]
    ferrule = lathe(bands, pick(rng, METAL, GOLD), STEEL, sides=18)
    end = lathe(
        rounded([(thick * 0.98, -0.2), (thick * 0.98, -0.4), (0, -0.42)], 0.06),
        pick(rng, ["e58aa6", "d9706f", "f1ece4"]),
        MATT,
        sides=18,
    )
    return [*parts, ferrule, end]
