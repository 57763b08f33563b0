"""Curved sheets of points, from which every drawn thing is built.

Axes: U rows along a sheet · V columns around it · 3 for x right, y up, z towards the viewer, or for red, green, blue in
0..1. A thing is a list of sheets, about 2 units tall.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray as Array

Point = Sequence[float]


@dataclass(frozen=True, slots=True)
class Finish:
    """How a sheet meets light: `gloss` 0 matt to 1 polished, `metal` 0 or 1, `glow` its own light."""

    gloss: float = 0.25
    metal: float = 0.0
    glow: float = 0.0


MATT, PLASTIC, GLAZE = Finish(0.05), Finish(0.45), Finish(0.8)
STEEL, BRUSHED, LIGHT = Finish(1.0, 1.0), Finish(0.35, 1.0), Finish(0.1, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A grid of `points` [U, V, 3] with one `colour` [3] or one a cell [U-1, V-1, 3]; `inked` sheets get an outline."""

    points: Array
    colour: Array
    finish: Finish = MATT
    inked: bool = True

    def painted(self, where: Callable[[Array], Array], colour: Array) -> Sheet:
        """Another colour for the cells whose middle [U-1, V-1, 3] is `where`."""
        middle = (self.points[1:, 1:] + self.points[:-1, :-1] + self.points[1:, :-1] + self.points[:-1, 1:]) / 4
        cells = np.broadcast_to(self.colour, middle.shape)
        return replace(self, colour=np.where(where(middle)[..., None], colour, cells))


def rotation(axis: str, degrees: float) -> Array:
    """The matrix [3, 3] that turns column vectors about x, y or z."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    first, second = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    matrix = np.eye(3)
    matrix[first, first] = matrix[second, second] = cos
    matrix[first, second], matrix[second, first] = -sin, sin
    return matrix


def place(sheets: Iterable[Sheet], *, scale=1.0, turn: Sequence[tuple[str, float]] = (), at: Point = (0, 0, 0)):
    """`sheets` scaled (one factor or three), turned about axes in order, then shifted `at` a point."""
    matrix = np.diag(np.broadcast_to(np.asarray(scale, float), 3))
    for axis, degrees in turn:
        matrix = rotation(axis, degrees) @ matrix
    return [replace(sheet, points=sheet.points @ matrix.T + np.asarray(at, float)) for sheet in sheets]


def rounded(corners: Sequence[Point], radius: float) -> Array:
    """An open line through `corners` [N, d] whose inner corners are small arcs."""
    corners = np.asarray(corners, float)
    line = [corners[0]]
    for before, here, after in zip(corners, corners[1:], corners[2:], strict=False):
        into, out = before - here, after - here
        reach_in, reach_out = (min(radius / max(np.linalg.norm(way), 1e-9), 0.5) for way in (into, out))
        start, end = here + into * reach_in, here + out * reach_out
        line += [start, (start + 2 * here + end) / 4, end]
    return np.array([*line, corners[-1]])


def dense(line: Array, step: float) -> Array:
    """The same line [N, d] with no stretch longer than `step`."""
    line = np.asarray(line, float)
    parts = [
        np.linspace(start, end, max(1, int(np.ceil(np.linalg.norm(end - start) / step))), endpoint=False)
        for start, end in pairwise(line)
    ]
    return np.concatenate([*parts, line[-1:]])


def curve(points: Sequence[Point], count: int = 16) -> Array:
    """A smooth line [count, d] through `points` (centripetal spacing left out: Catmull and Rom 1974)."""
    knots = np.asarray(points, float)
    knots = np.concatenate([2 * knots[:1] - knots[1:2], knots, 2 * knots[-1:] - knots[-2:-1]])
    place_on = np.linspace(0, len(points) - 1, count)
    piece = np.minimum(place_on.astype(int), len(points) - 2)
    t = (place_on - piece)[:, None]
    a, b, c, d = (knots[piece + k] for k in range(4))
    return 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)


def arc(radius: float | Point, start: float, end: float, count: int = 24, *, at: Point = (0, 0, 0)) -> Array:
    """Points [count, 3] on a circle or ellipse about `at` in the x-y plane, angles in degrees."""
    angle = np.radians(np.linspace(start, end, count))
    rx, ry = np.broadcast_to(radius, 2)
    return np.stack([rx * np.cos(angle), ry * np.sin(angle), 0 * angle], -1) + at


def lathe(profile: Sequence[Point], colour: Array, finish=MATT, *, sides: int = 32, inked: bool = True) -> Sheet:
    """A line of (radius, y) turned about the y axis."""
    radius, y = np.asarray(profile, float).T[:, :, None]
    angle = np.linspace(0, 2 * np.pi, sides + 1)
    points = np.stack(np.broadcast_arrays(radius * np.sin(angle), y, radius * np.cos(angle)), -1)
    return Sheet(points, colour, finish, inked)


def ball(size: float | Point, colour: Array, finish=MATT, *, cut: float = -90, sides: int = 20, inked: bool = True):
    """An ellipsoid of half axes `size` about the origin, from latitude `cut` up."""
    around = arc(1, cut, 90, 12)[:, :2]
    return place([lathe(around, colour, finish, sides=sides, inked=inked)], scale=size)[0]


def disc(radius: float, y: float, colour: Array, finish=MATT, *, inked: bool = True) -> Sheet:
    """A flat disc at height `y`, facing up."""
    return lathe([(radius, y), (0, y)], colour, finish, inked=inked)


def panel(x: Point, y: Point, z: float, colour: Array, finish=MATT, *, inked: bool = False) -> Sheet:
    """A flat rectangle in the x-y plane at depth `z`."""
    corners = [[(x[0], y[1], z), (x[1], y[1], z)], [(x[0], y[0], z), (x[1], y[0], z)]]
    return Sheet(np.array(corners, float), colour, finish, inked)


def _closed(rows: Array) -> Array:
    """Rows [U, V, 3] with both ends drawn together to a point."""
    return np.concatenate(
        [np.repeat(end.mean(0)[None, None], rows.shape[1], 1) for end in (rows[0],)]
        + [rows]
        + [np.repeat(rows[-1].mean(0)[None, None], rows.shape[1], 1)]
    )


def box(
    size: Point, colour: Array, finish=MATT, *, edge: float = 0.04, corner: float | None = None, inked=True
) -> Sheet:
    """A box about the origin; `edge` rounds its rims at top and bottom, `corner` its four uprights."""
    w, h, d = np.asarray(size, float) / 2
    corner = min(edge if corner is None else corner, w, d)
    quarter = np.radians(np.linspace(0, 90, 4 if corner > 0.08 else 3))
    turns = [
        (angle + k * np.pi / 2, sx, sz)
        for k, (sx, sz) in enumerate([(1, 1), (-1, 1), (-1, -1), (1, -1)])
        for angle in quarter
    ]
    angle, sx, sz = np.array([*turns, turns[0]]).T

    def ring(inset, y):
        reach = max(corner - inset, 0.0)
        hub = max(inset - corner, 0.0)
        return np.stack(
            [
                sx * (w - corner - hub) + reach * np.cos(angle),
                0 * angle + y,
                sz * (d - corner - hub) + reach * np.sin(angle),
            ],
            -1,
        )

    edge = min(edge, h)
    rows = [
        (edge, -h),
        (edge * 0.3, -h + edge * 0.3),
        (0, -h + edge),
        (0, h - edge),
        (edge * 0.3, h - edge * 0.3),
        (edge, h),
    ]
    return Sheet(_closed(np.stack([ring(*row) for row in rows])), colour, finish, inked)


def tube(
    path: Array,
    radius,
    colour: Array,
    finish=MATT,
    *,
    flat: float = 1.0,
    sides: int = 10,
    face: Point = (0, 0, 1),
    inked: bool = True,
) -> Sheet:
    """A rod of `radius` (one, or one a point) along `path` [N, 3]; `flat` squeezes it along `face`."""
    path = np.asarray(path, float)
    radius = np.broadcast_to(radius, len(path)).astype(float)
    along = np.gradient(path, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True) + 1e-9
    ends = 0.4 * np.stack([-along[0] * radius[0], along[-1] * radius[-1]]) * min(1.0, flat)
    path = np.concatenate([path[:1] + ends[:1], path, path[-1:] + ends[1:]])
    along = np.concatenate([along[:1], along, along[-1:]])
    radius = np.concatenate([radius[:1] * 0.7, radius, radius[-1:] * 0.7])[:, None, None]
    side = np.cross(along, face)
    side /= np.linalg.norm(side, axis=1, keepdims=True) + 1e-9
    up = np.cross(side, along)
    angle = np.linspace(0, 2 * np.pi, sides + 1)[None, :, None]
    rows = path[:, None] + radius * (np.cos(angle) * side[:, None] + flat * np.sin(angle) * up[:, None])
    return Sheet(_closed(rows), colour, finish, inked)


def ring(
    radius: float | Point, thick: float, colour: Array, finish=MATT, *, flat: float = 1.0, count: int = 28
) -> Sheet:
    """A closed rod around the z axis."""
    sheet = tube(arc(radius, 0, 360, count), thick, colour, finish, flat=flat)
    points = sheet.points[2:-2]
    points[-1] = points[0]
    return replace(sheet, points=points)


def strip(x: Array, low: Array, high: Array, depth, colour: Array, finish=MATT, *, bevel: float = 0.2) -> Sheet:
    """A flat bar along x between `low` and `high` (y at every x), `depth` thick in z, its long rims bevelled."""
    x, low, high, half = (
        np.asarray(v, float)[..., None] for v in np.broadcast_arrays(x, low, high, np.divide(depth, 2))
    )
    rim = bevel * np.minimum(high - low, 2 * half)
    y = np.concatenate([low + rim, high - rim, high, high, high - rim, low + rim, low, low, low + rim], 1)
    z = np.concatenate([half, half, half - rim, rim - half, -half, -half, rim - half, half - rim, half], 1)
    return Sheet(_closed(np.stack(np.broadcast_arrays(x, y, z), -1)), colour, finish)
