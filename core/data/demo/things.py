"""Other things that lie about in the scenes; none belongs to a class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from core.data.demo.palette import DARK, PALE, SOFT, VIVID, WOOD, mix, pick, rgb
from core.data.demo.sheets import (
    GLAZE,
    MATT,
    PLASTIC,
    Finish,
    Sheet,
    ball,
    box,
    curve,
    disc,
    lathe,
    place,
    rounded,
    tube,
)

Sheets = list[Sheet]


def books(rng: Generator) -> Sheets:
    """A pile of two to four books."""
    parts, y = [], 0.0
    for _ in range(rng.integers(2, 5)):
        w, h, d = rng.uniform(0.85, 1.2), rng.uniform(0.12, 0.22), rng.uniform(0.6, 0.85)
        cover, pages = pick(rng, VIVID, DARK, SOFT), pick(rng, PALE)
        book = [box((w * 0.97, h * 0.75, d * 0.97), pages, MATT, edge=0.01)]
        book += [place([box((w, h * 0.12, d), cover, MATT, edge=0.01)], at=(0, s * h * 0.43, 0))[0] for s in (-1, 1)]
        book += place([box((0.04, h, d), cover, MATT, edge=0.01)], at=(-w / 2, 0, 0))
        parts += place(book, turn=[("y", rng.uniform(-25, 25) + rng.choice([0, 180]))], at=(0, y + h / 2, 0))
        y += h
    return parts


def row_of_books(rng: Generator) -> Sheets:
    """Four to six books side by side."""
    parts, x = [], -0.5
    for _ in range(rng.integers(4, 7)):
        w, h = rng.uniform(0.12, 0.26), rng.uniform(0.85, 1.25)
        cover = pick(rng, VIVID, DARK, SOFT)
        book = [
            box((w, h, 0.8), cover, MATT, edge=0.02),
            place([box((w * 1.01, 0.1, 0.805), mix(cover, rgb("ffffff"), 0.6), MATT, edge=0.01)], at=(0, h * 0.3, 0))[
                0
            ],
        ]
        parts += place(book, at=(x + w / 2, h / 2, 0))
        x += w + 0.004
    return parts


def plant(rng: Generator) -> Sheets:
    """Leaves in a pot."""
    pot, green = pick(rng, ["b5603c", "c57a50"], PALE, SOFT), pick(rng, ["3f7d3a", "2f6b4a", "5b8f3c"])
    rim = rounded([(0, 0), (0.26, 0), (0.36, 0.5), (0.4, 0.5), (0.4, 0.62), (0.34, 0.62), (0.33, 0.52)], 0.03)
    parts = [lathe(rim, pot, MATT, sides=20), disc(0.34, 0.55, rgb("3a2a20"))]
    for k in range(rng.integers(9, 15)):
        high, out = rng.uniform(0.5, 1.1), rng.uniform(0.25, 0.75)
        path = curve([(0, 0.5, 0), (out * 0.4, 0.5 + high * 0.7, 0), (out, 0.5 + high * rng.uniform(0.6, 1), 0)], 8)
        leaf = tube(
            path,
            0.13 * np.sin(np.linspace(0.15, 3.0, 8)),
            mix(green, rgb("d8e08a"), rng.uniform(0, 0.35)),
            Finish(0.25),
            flat=0.15,
            sides=6,
            face=(0.5, 1, 0),
        )
        parts += place([leaf], turn=[("y", 137.5 * k)])
    return parts


def cactus(rng: Generator) -> Sheets:
    """A round cactus in a pot."""
    green, pot = pick(rng, ["4f8a4b", "3c7a5a"]), pick(rng, SOFT, PALE, VIVID)
    line = rounded([(0, 0), (0.28, 0), (0.34, 0.4), (0.29, 0.4)], 0.03)
    body = place([ball((0.3, 0.5, 0.3), green, MATT, sides=14)], at=(0, 0.72, 0))
    arm = tube(curve([(0.2, 0.7, 0), (0.45, 0.72, 0), (0.48, 1.05, 0)], 8), 0.1, green, MATT)
    return [lathe(line, pot, GLAZE, sides=20), *body, arm]


def fruit(rng: Generator) -> Sheets:
    """One to three apples or oranges."""
    parts = []
    for k in range(rng.integers(1, 4)):
        peel = pick(rng, ["c0352b", "7fa23a", "e08a2b", "d9b23a"])
        line = curve([(0, 0.06), (0.2, 0.0), (0.36, 0.3), (0.2, 0.58), (0, 0.52)], 18)
        one = [
            lathe(np.maximum(line, (0, -1)), peel, Finish(0.5), sides=20),
            tube([(0, 0.5, 0), (0.04, 0.68, 0)], 0.02, rgb("4a3320")),
        ]
        parts += place(one, at=(0.72 * (k % 2), 0, 0.65 * (k // 2)))
    return parts


def candle(rng: Generator) -> Sheets:
    """A lit candle on a plate."""
    wax, high = pick(rng, PALE, SOFT, VIVID), rng.uniform(0.5, 1.0)
    plate = lathe(rounded([(0, 0), (0.4, 0.02), (0.46, 0.08)], 0.02), pick(rng, SOFT, WOOD), GLAZE)
    flame = lathe(curve([(0, 0), (0.05, 0.07), (0.025, 0.16), (0, 0.22)], 10), rgb("ffd98a"), Finish(0, 0, 1), sides=10)
    return [
        plate,
        lathe(rounded([(0.2, 0.02), (0.2, high), (0, high - 0.03)], 0.04), wax, PLASTIC, sides=20),
        *place([flame], at=(0, high, 0)),
    ]


def vase(rng: Generator) -> Sheets:
    """A vase, most with flowers."""
    colour = pick(rng, VIVID, SOFT, PALE)
    line = curve([(0.2, 0), (0.36, 0.35), (0.3, 0.7), (0.13, 0.95), (0.2, 1.1)], 18)
    parts = [lathe(line, colour, GLAZE, sides=24)]
    petals = pick(rng, VIVID, PALE)
    for k in range(rng.integers(0, 6)):
        tip = np.array([0.4 * np.cos(2.4 * k), rng.uniform(1.4, 1.9), 0.4 * np.sin(2.4 * k)])
        parts += [tube(curve([(0, 1.0, 0), tip * (0.5, 0.75, 0.5), tip], 7), 0.02, rgb("4d7d3f"), sides=6)]
        parts += place([ball(0.14, petals, MATT, sides=10)], at=tip)
    return parts


def parcel(rng: Generator) -> Sheets:
    """A cardboard box with tape."""
    size = rng.uniform(0.5, 1.1, 3)
    card = pick(rng, ["b98a5a", "c49a6c", "a67c52"], SOFT)
    tape = box((size[0] * 0.16, size[1] * 1.004, size[2] * 1.004), mix(card, rgb("fff2d8"), 0.5), PLASTIC, edge=0.01)
    return place([box(size, card, MATT, edge=0.015), tape], at=(0, size[1] / 2, 0))


def bouncer(rng: Generator) -> Sheets:
    """A ball of two colours."""
    skin = ball(0.42, pick(rng, VIVID), Finish(0.5), sides=24).painted(
        lambda p: np.abs(p[..., 1]) < 0.13, pick(rng, VIVID, PALE)
    )
    return place([skin], turn=[("x", rng.uniform(0, 90)), ("y", rng.uniform(0, 360))], at=(0, 0.42, 0))


def notebook(rng: Generator) -> Sheets:
    """A closed notebook with a ribbon."""
    cover = pick(rng, VIVID, DARK, SOFT)
    ribbon = place([box((0.05, 0.105, 1.3), pick(rng, VIVID), MATT, edge=0.01)], at=(0.3, 0.001, 0))
    return place([box((0.95, 0.1, 1.3), cover, MATT, edge=0.02, corner=0.06), *ribbon], at=(0, 0.05, 0))


def papers(rng: Generator) -> Sheets:
    """Loose sheets with lines of writing."""
    parts = []
    for k in range(rng.integers(1, 4)):
        sheet = [box((1.0, 0.008, 1.35), pick(rng, PALE), MATT, edge=0.002)]
        for line in np.linspace(-0.5, 0.4, rng.integers(4, 9)):
            wide = rng.uniform(0.4, 0.8)
            sheet += place(
                [box((wide, 0.009, 0.035), rgb("8a8f99"), MATT, edge=0.002)], at=(-0.4 + wide / 2, 0.001, line)
            )
        parts += place(sheet, turn=[("y", rng.uniform(-40, 40))], at=(0.1 * k, 0.012 * k, 0.1 * k))
    return parts


STANDING: tuple[Callable[[Generator], Sheets], ...] = (
    books,
    row_of_books,
    plant,
    cactus,
    fruit,
    candle,
    vase,
    parcel,
    bouncer,
)
FLAT: tuple[Callable[[Generator], Sheets], ...] = (books, notebook, papers, fruit, papers, notebook, bouncer, plant)
