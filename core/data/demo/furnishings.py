"""Recipes of things that stand about a home; see `catalogue`."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from core.data.demo.palette import DARK, GOLD, METAL, PALE, SOFT, VIVID, WOOD, mix, pick, rgb
from core.data.demo.sheets import (
    BRUSHED,
    GLAZE,
    LIGHT,
    MATT,
    PLASTIC,
    STEEL,
    Finish,
    Sheet,
    arc,
    ball,
    box,
    curve,
    dense,
    disc,
    lathe,
    panel,
    place,
    ring,
    rounded,
    tube,
)

Sheets = list[Sheet]


def mug(rng: Generator) -> Sheets:
    """A cup with a handle, plain, banded or two-coloured, with or without coffee."""
    height, foot, rim = rng.uniform(0.95, 1.5), rng.uniform(0.42, 0.6), rng.uniform(0.52, 0.66)
    colour, second = pick(rng, VIVID, SOFT, DARK, PALE), pick(rng, VIVID, PALE)
    inner = pick(rng, PALE) if rng.random() < 0.6 else mix(colour, rgb("ffffff"), 0.3)
    belly = (rim + foot) / 2 + rng.choice([0, 0, 0.09])
    wall = curve([(foot, 0.0), (belly, height / 2), (rim, height)], 6)
    outer = dense(rounded([(0, 0), *wall, (rim - 0.03, height + 0.02), (rim - 0.06, height)], 0.05), 0.12)
    shell = lathe(outer, colour, GLAZE)
    style = rng.integers(4)
    low, high = sorted(rng.uniform(0.12, 0.9, 2) * height)
    if style == 1:
        shell = shell.painted(lambda p: (p[..., 1] > low) & (p[..., 1] < max(high, low + 0.25)), second)
    if style == 2:
        shell = shell.painted(lambda p: (p[..., 1] * 10 / height).astype(int) % 2 == 1, second)
    inside = lathe(
        dense(np.array([(rim - 0.06, height), (foot - 0.06, 0.1), (0, 0.1)]), 0.3), inner, GLAZE, inked=False
    )
    top, bottom, reach = height * rng.uniform(0.78, 0.9), height * rng.uniform(0.15, 0.3), rng.uniform(0.32, 0.48)
    out = belly + reach
    bend = [
        (rim - 0.03, top),
        (out - 0.1, top + 0.03),
        (out, (top + bottom) / 2 + 0.1),
        (out - 0.15, bottom + 0.04),
        (foot, bottom),
    ]
    path = np.pad(curve(bend, 18), ((0, 0), (0, 1)))
    handle = tube(path, rng.uniform(0.065, 0.1), second if style == 3 else colour, GLAZE, flat=1.3)
    drink = [disc(rim - 0.08, height * 0.86, rgb("4a2a17"), PLASTIC)] if rng.random() < 0.5 else []
    return [shell, inside, *drink, handle]


def bottle(rng: Generator) -> Sheets:
    """A wine, water or sports bottle with cap and label."""
    kind = rng.integers(3)
    radius, height, neck = rng.uniform(0.3, 0.4), rng.uniform(1.9, 2.3), rng.uniform(0.11, 0.16)
    shoulder = height * rng.uniform(0.58, 0.68)
    if kind == 0:
        glass = pick(rng, ["1f4a2c", "2e5a2e", "5a3418", "1d2b3a", "6a1f25"])
        line = [
            (0, 0),
            (radius, 0),
            (radius, shoulder),
            (radius * 0.75, shoulder + 0.2),
            (neck, shoulder + 0.38),
            (neck, height - 0.05),
        ]
        body = lathe(rounded(line, 0.14), glass, Finish(0.95))
        foil = pick(rng, VIVID, GOLD, DARK)
        cap = lathe(rounded([(neck + 0.015, height - 0.42), (neck + 0.015, height), (0, height)], 0.02), foil, PLASTIC)
        lip = lathe([(neck + 0.03, height - 0.1), (neck + 0.03, height - 0.04)], foil, PLASTIC, inked=False)
    else:
        colour = pick(rng, VIVID, SOFT) if kind == 1 else pick(rng, VIVID, METAL)
        neck = neck * 1.5
        line = [(0, 0), (radius, 0), (radius, shoulder * 1.12), (neck, height * 0.86), (neck, height * 0.9)]
        waist = [
            (radius, shoulder * 0.55),
            (radius * 0.86, shoulder * 0.62),
            (radius * 0.86, shoulder * 0.75),
            (radius, shoulder * 0.82),
        ]
        if kind == 1 and rng.random() < 0.5:
            line[2:2] = waist
        body = lathe(rounded(line, 0.12), colour, GLAZE if kind == 1 else Finish(0.6))
        cap_colour = pick(rng, DARK, VIVID, PALE)
        cap = lathe(
            rounded([(neck + 0.05, height * 0.88), (neck + 0.05, height), (0, height)], 0.04), cap_colour, PLASTIC
        )
        lip = lathe([(neck + 0.07, height * 0.88), (neck + 0.07, height * 0.9)], cap_colour, PLASTIC, inked=False)
        if kind == 2:
            loop = place([ring((0.13, 0.15), 0.035, cap_colour, PLASTIC)], at=(0, height + 0.08, 0))
            return [body, cap, lip, *loop, *_label(rng, radius, shoulder)]
    return [body, cap, lip, *_label(rng, radius, shoulder)]


def _label(rng: Generator, radius: float, shoulder: float) -> Sheets:
    low, high = shoulder * rng.uniform(0.18, 0.3), shoulder * rng.uniform(0.75, 0.92)
    paper, print_ = pick(rng, PALE, SOFT), pick(rng, VIVID, DARK)
    rows = np.linspace(low, high, 16)
    label = lathe(np.stack([np.full(16, radius + 0.008), rows], -1), paper, MATT)
    share = (rows[1:, None, None] - low) / (high - low)
    cut = rng.uniform(0.3, 0.7)
    label = label.painted(lambda p: np.abs((p[..., 1] - low) / (high - low) - cut) < 0.16, print_)
    edge = (share < 0.07) | (share > 0.93)
    return [label.painted(lambda p: np.broadcast_to(edge[..., 0], p.shape[:2]), print_)]


def lamp(rng: Generator) -> Sheets:
    """A table lamp with a cloth shade, or a desk lamp on a jointed arm."""
    return (_table_lamp if rng.random() < 0.5 else _desk_lamp)(rng)


def _table_lamp(rng: Generator) -> Sheets:
    colour, cloth = pick(rng, VIVID, SOFT, WOOD, GOLD), pick(rng, SOFT, VIVID, ["f3d98b", "e8b86a", "ead2a0"])
    wide, high = rng.uniform(0.26, 0.42), rng.uniform(0.75, 1.0)
    shapes = [
        [(wide, 0.04), (0.1, 0.12), (wide * 0.9, high * 0.45), (0.08, high)],
        [(wide * 0.6, 0.04), (wide, high * 0.3), (wide * 0.7, high * 0.7), (0.08, high)],
        [(wide, 0.03), (0.07, 0.12), (0.06, high * 0.6), (0.06, high)],
    ]
    foot = lathe(np.concatenate([[(0, 0), (wide, 0)], curve(shapes[rng.integers(3)], 20)]), colour, GLAZE)
    pole = tube([(0, high, 0), (0, high + 0.25, 0)], 0.04, pick(rng, GOLD, METAL), STEEL)
    low, top, tall = rng.uniform(0.55, 0.75), rng.uniform(0.28, 0.5), rng.uniform(0.6, 0.8)
    y = high + 0.1
    glow = Finish(0, 0, rng.uniform(0.1, 0.4))
    shade = lathe(dense(np.array([(low, y), (top, y + tall)]), 0.1), cloth, glow, sides=40)
    trim = mix(cloth, colour, 0.6)
    shade = shade.painted(lambda p: np.abs(p[..., 1] - y - tall / 2) > tall * 0.42, trim)
    return [foot, pole, shade, place([ball(0.14, rgb("fff3c4"), LIGHT)], at=(0, y + 0.25, 0))[0]]


def _desk_lamp(rng: Generator) -> Sheets:
    colour, joint = pick(rng, VIVID, DARK, PALE), pick(rng, METAL, GOLD)
    base = lathe(rounded([(0, 0), (0.48, 0), (0.46, 0.1), (0.1, 0.15), (0, 0.16)], 0.04), colour, PLASTIC)
    lean, reach = rng.uniform(0.25, 0.5), rng.uniform(0.65, 0.95)
    elbow = np.array([-lean, 0.15 + rng.uniform(0.75, 0.95), 0])
    head = np.add(elbow, (reach, rng.uniform(0.3, 0.6), 0))
    thick = rng.uniform(0.035, 0.05)
    arms = [
        tube([(0, 0.12, 0), elbow], thick, joint if rng.random() < 0.5 else colour, BRUSHED),
        tube([elbow, head], thick, joint, BRUSHED),
    ]
    pins = [place([ball((0.09, 0.09, 0.08), colour, PLASTIC)], at=at)[0] for at in (elbow, head)]
    wide, deep = rng.uniform(0.36, 0.5), rng.uniform(0.45, 0.6)
    bell = np.concatenate([[(0.0, 0.06), (0.12, 0.05)], curve([(0.14, 0), (0.2, -deep * 0.45), (wide, -deep)], 10)])
    shade = [
        lathe(bell, colour, GLAZE, sides=36),
        place([ball(0.17, rgb("fff0b8"), LIGHT)], at=(0, -deep * 0.75, 0))[0],
    ]
    return [base, *arms, *pins, *place(shade, turn=[("z", rng.uniform(15, 42))], at=np.add(head, (0.02, -0.02, 0)))]


def clock(rng: Generator) -> Sheets:
    """A twin-bell alarm clock, or a plain round or square one."""
    colour, metal = pick(rng, VIVID, SOFT, DARK), pick(rng, METAL, GOLD)
    face, ink = pick(rng, PALE), pick(rng, DARK)
    kind = rng.integers(3)
    depth = rng.uniform(0.3, 0.5) if kind == 0 else rng.uniform(0.12, 0.2)
    rim = rounded([(0, -depth), (0.78, -depth), (0.84, -depth / 2), (0.84, 0.04), (0.74, 0.04), (0.72, -0.02)], 0.06)
    parts = [lathe(rim, colour, GLAZE, sides=48), disc(0.75, -0.01, face, MATT)]
    if kind == 2:
        parts = [
            box((1.62, 0.3, 1.62), colour, PLASTIC, edge=0.08, corner=rng.uniform(0.1, 0.4)),
            disc(0.7, 0.155, face),
        ]
        parts = place(parts, at=(0, -0.15, 0))
    case = place(parts, turn=[("x", 90)])
    dial = _dial(rng, ink, pick(rng, VIVID))
    feet, bells = [], []
    if kind == 0:
        for side in (-1, 1):
            foot = tube([(side * 0.45, -0.6, -0.15), (side * 0.62, -1.02, -0.15)], [0.07, 0.045], metal, STEEL)
            bell = place(
                [ball((0.34, 0.26, 0.34), metal, STEEL, cut=0), disc(0.34, 0, metal * 0.6)],
                turn=[("z", -side * 33)],
                at=(side * 0.46, 0.8, -0.15),
            )
            feet.append(foot)
            bells += bell
        handle = arc((0.3, 0.35), 15, 165, 14, at=(0, 0.95, -0.15))
        bells += [
            tube(handle, 0.035, metal, STEEL),
            tube([(0, 0.8, -0.15), (0, 1.08, -0.15)], [0.03, 0.06], metal, STEEL),
        ]
    return [*bells, *feet, *case, *dial]


def _dial(rng: Generator, ink, accent) -> Sheets:
    marks, bold = [], rng.uniform(0.8, 1.3)
    for hour in range(12):
        long = 0.13 if hour % 3 == 0 else 0.07
        mark = panel((-0.022 * bold, 0.022 * bold), (0.64 - long, 0.64), 0.012, ink)
        marks += place([mark], turn=[("z", 30 * hour)])
    hour, minute = rng.uniform(0, 12), rng.integers(0, 60)
    hands = []
    for length, width, angle, z in [(0.36, 0.045, hour * 30, 0.03), (0.56, 0.03, minute * 6, 0.045)]:
        hands += place([panel((-width, width), (-0.08, length), z, ink)], turn=[("z", -angle)])
    second = place([panel((-0.012, 0.012), (-0.14, 0.58), 0.055, accent)], turn=[("z", rng.uniform(0, 360))])
    return [*marks, *hands, *second, *place([disc(0.05, 0.06, accent, inked=False)], turn=[("x", 90)])]


def chair(rng: Generator) -> Sheets:
    """A wooden chair with slats, bars or a panel, or an office chair on castors."""
    return (_office_chair if rng.random() < 0.3 else _wooden_chair)(rng)


def _wooden_chair(rng: Generator) -> Sheets:
    wood = pick(rng, WOOD, WOOD, VIVID, PALE, DARK)
    cushion = pick(rng, VIVID, SOFT) if rng.random() < 0.5 else wood
    w, d, seat, tall = rng.uniform(0.85, 1.05), rng.uniform(0.8, 0.95), rng.uniform(0.85, 1.0), rng.uniform(1.9, 2.2)
    x, z, leg, lean = w / 2 - 0.07, d / 2 - 0.07, rng.uniform(0.045, 0.07), rng.uniform(0.04, 0.18)
    finish, splay = Finish(0.35), rng.uniform(0, 0.1)
    legs = [tube([(s * (x + splay), 0, z + splay), (s * x, seat, z)], [leg * 0.75, leg], wood, finish) for s in (-1, 1)]
    backs = [
        tube(
            curve([(s * (x + splay), 0, -z - splay), (s * x, seat, -z), (s * x, tall, -z - lean)], 9), leg, wood, finish
        )
        for s in (-1, 1)
    ]
    rails = [
        tube([(s * x, seat * 0.4, z), (s * x, seat * 0.4, -z)], leg * 0.6, wood, finish, face=(0, 1, 0))
        for s in (-1, 1)
    ]
    parts = [*legs, *backs, *rails, *place([box((w, 0.1, d), cushion, finish, edge=0.05, corner=0.1)], at=(0, seat, 0))]
    kind = rng.integers(3)
    if kind == 0:
        for y in np.linspace(seat + 0.35, tall - 0.12, rng.integers(2, 5)):
            back = -z - lean * (y - seat) / (tall - seat)
            parts += place([box((2 * x, 0.15, 0.05), wood, finish, edge=0.02)], at=(0, y, back))
    elif kind == 1:
        parts += place([box((2 * x + 0.1, 0.16, 0.07), wood, finish, edge=0.04)], at=(0, tall - 0.06, -z - lean))
        for bar in np.linspace(-x, x, rng.integers(5, 8))[1:-1]:
            parts.append(tube([(bar, seat, -z), (bar, tall - 0.1, -z - lean)], leg * 0.5, wood, finish))
    else:
        pad = box((2 * x + 0.06, (tall - seat) * 0.6, 0.09), cushion, finish, edge=0.05, corner=0.04)
        parts += place(
            [pad], turn=[("x", -np.degrees(lean / (tall - seat)))], at=(0, tall - (tall - seat) * 0.33, -z - lean * 0.7)
        )
    return parts


def _office_chair(rng: Generator) -> Sheets:
    cloth, frame = pick(rng, DARK, VIVID), pick(rng, DARK, METAL)
    seat, high = rng.uniform(0.8, 0.95), rng.uniform(0.8, 1.1)
    parts = [tube([(0, 0.2, 0), (0, seat, 0)], [0.09, 0.06], pick(rng, METAL), STEEL)]
    for k in range(5):
        parts += place(
            [
                tube([(0, 0.24, 0), (0.58, 0.12, 0)], [0.07, 0.045], frame, PLASTIC),
                *place([ball(0.08, rgb("222226"), PLASTIC)], at=(0.58, 0.07, 0)),
            ],
            turn=[("y", 72 * k + 20)],
        )
    parts += place([box((1.0, 0.16, 0.95), cloth, MATT, edge=0.08, corner=0.25)], at=(0, seat + 0.05, 0.05))
    back = box((0.9, high, 0.13), cloth, MATT, edge=0.12, corner=0.065)
    parts += [
        tube(
            curve([(0, seat, -0.3), (0, seat + 0.1, -0.56), (0, seat + 0.6, -0.56)], 8),
            0.06,
            frame,
            PLASTIC,
            face=(1, 0, 0),
        )
    ]
    parts += place([back], turn=[("x", -rng.uniform(4, 12))], at=(0, seat + 0.3 + high / 2, -0.5))
    if rng.random() < 0.7:
        for s in (-1, 1):
            parts.append(
                tube(
                    curve([(s * 0.5, seat, 0), (s * 0.6, seat + 0.15, 0), (s * 0.6, seat + 0.38, 0.05)], 8),
                    0.04,
                    frame,
                    PLASTIC,
                )
            )
            parts += place(
                [box((0.13, 0.06, 0.55), frame, PLASTIC, edge=0.03, corner=0.06)], at=(s * 0.6, seat + 0.4, 0.03)
            )
    return parts
