"""Pictures repainted with brush strokes along their contours (after Litwinowicz 1997 and Hertzmann 1998).

Axes: S the picture's side · N strokes · M samples within one stroke.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray as Array

from core.data.demo.light import blur
from core.data.demo.noise import smooth_noise


@dataclass(frozen=True, slots=True)
class Brush:
    """Strokes of one size in pixels, laid where a picture has at least so much `detail`, 0..1."""

    length: float
    width: float
    spacing: float
    detail: float


BRUSHES = (Brush(30, 9, 8, 0.0), Brush(19, 5.5, 4.2, 0.18), Brush(11, 3.2, 2.6, 0.42))


def paint(picture: Array, rng: Generator, brushes: tuple[Brush, ...] = BRUSHES) -> Array:
    """`picture` [S, S, 3] in 0..1 as layers of strokes, broad ones first, fine ones only where there is detail."""
    side = len(picture)
    flow, detail = _flow(picture, rng)
    canvas, height = picture.astype(np.float32), np.zeros((side, side), np.float32)
    for brush in brushes:
        centre = rng.uniform(0, side, (round((side / brush.spacing) ** 2), 2)).astype(np.float32)
        column, row = centre.astype(int).T
        keep = detail[row // 2, column // 2] >= brush.detail
        angle = flow[row // 2, column // 2] + rng.normal(0, 0.12, len(centre))
        colour = picture[row, column] * rng.uniform(0.94, 1.06, (len(centre), 1)) + rng.normal(
            0, 0.02, (len(centre), 3)
        )
        canvas, height = _stroke(canvas, height, brush, centre[keep], angle[keep], colour[keep], rng)
    slope = np.roll(height, (1, 1), (0, 1)) - np.roll(height, (-1, -1), (0, 1))
    return np.clip(canvas * np.clip(1 + 0.05 * slope, 0.85, 1.15)[..., None], 0, 1)


def _flow(picture: Array, rng: Generator) -> tuple[Array, Array]:
    """The angle along contours and how much detail there is, 0..1, both at half the side."""
    grey = picture.mean(-1, dtype=np.float32)
    dy, dx = np.gradient((grey[::2, ::2] + grey[1::2, 1::2]) / 2)
    xx, yy, xy = (blur(product, 2) for product in (dx * dx, dy * dy, dx * dy))
    wander = 3 * smooth_noise(rng, len(dx), 3) + rng.uniform(0, 2 * np.pi)
    calm = 1e-4  # where there is no contour strokes follow slow random curves
    angle = 0.5 * np.arctan2(2 * xy - calm * np.sin(wander), xx - yy - calm * np.cos(wander)) + np.pi / 2
    return angle, np.clip(np.sqrt(xx + yy) * 8, 0, 1)


def _stroke(canvas: Array, height: Array, brush: Brush, centre: Array, angle: Array, colour: Array, rng: Generator):
    """`canvas` [S, S, 3] and its relief [S, S] after strokes at `centre` [N, 2], later over earlier ones."""
    side, count = len(canvas), len(centre)
    s, t, lane = _footprint(brush)
    size, bend = rng.uniform(0.75, 1.2, (count, 1)), rng.normal(0, 0.12, (count, 1))
    cos, sin = np.cos(angle)[:, None].astype(np.float32), np.sin(angle)[:, None].astype(np.float32)
    run = (size * brush.length).astype(np.float32) * s
    lift = (size * brush.width).astype(np.float32) * t + (bend * brush.length).astype(np.float32) * (s * s - 0.1)
    x = np.clip(centre[:, :1] + run * cos - lift * sin + 1, 0, side + 1).astype(np.int32)
    y = np.clip(centre[:, 1:] + run * sin + lift * cos + 1, 0, side + 1).astype(np.int32)
    top = np.full((side + 2) ** 2, -1, np.int32)  # a margin of one pixel takes what falls outside
    top[(y * (side + 2) + x).ravel()] = np.arange(x.size, dtype=np.int32)
    top = top.reshape(side + 2, side + 2)[1:-1, 1:-1]
    stroke, sample = np.divmod(top[top >= 0], len(s))
    bristle = rng.standard_normal((count, lane.max() + 1), np.float32)[stroke, lane[sample]]
    canvas, height = canvas.copy(), height.copy()
    canvas[top >= 0] = colour[stroke] + 0.02 * bristle[:, None]
    height[top >= 0] = 0.5 * bristle + 1.5 * (1 - (2 * t[sample]) ** 2)
    return canvas, height


def _footprint(brush: Brush) -> tuple[Array, Array, Array]:
    """Places along and across a stroke, -0.5..0.5, and the bristle that makes each, all [M]."""
    along = np.linspace(-0.5, 0.5, round(brush.length * 1.25), dtype=np.float32)[:, None]
    across = np.linspace(-0.5, 0.5, round(brush.width * 1.4), dtype=np.float32)[None]
    inside = (2 * np.abs(along)) ** 4 + (2 * np.abs(across)) ** 3 <= 1
    lanes = np.arange(across.size)[None]
    return tuple(np.broadcast_to(axis, inside.shape)[inside] for axis in (along, across, lanes))
