"""A small rasteriser with a depth buffer, in plain arrays.

Axes: P mesh points · T triangles · K covered pixels · S the picture's side · 3 for x, y, z or for red, green, blue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray as Array

from core.data.demo.sheets import Sheet, rotation


@dataclass(frozen=True, slots=True)
class Mesh:
    """Sheets cut into triangles."""

    points: Array  # [P, 3]
    normals: Array  # [P, 3]
    corners: Array  # [T, 3] rows of points
    part: Array  # [T]
    colour: Array  # [T, 3]
    finish: Array  # [T, 3] gloss, metal, glow
    outward: Array  # [T, 3] outer normals of closed sheets, 0 for open ones, which show both sides

    def facing(self, way: Array) -> Array:
        """The triangles [*] not turned from `way`, [3] or [T, 3]; the backs of closed sheets never show."""
        return np.flatnonzero((self.outward * way).sum(-1) >= 0)


@dataclass(frozen=True, slots=True)
class Camera:
    """A pinhole at `eye`; the rows of `axes` point right, up and ahead."""

    eye: Array  # [3]
    axes: Array  # [3, 3]
    focal: float
    centre: Array  # [2] pixel hit by the axis
    side: int

    def project(self, points: Array) -> tuple[Array, Array]:
        """Pixel places [..., 2] and inverse depths [...]."""
        local = (points - self.eye) @ self.axes.T
        near = 1 / np.maximum(local[..., 2], 0.05)
        return self.centre + self.focal * local[..., :2] * near[..., None] * (1, -1), near

    def at(self, side: int) -> Camera:
        """The same view in a picture of another `side`."""
        scale = side / self.side
        return replace(self, focal=self.focal * scale, centre=self.centre * scale, side=side)

    def rays(self) -> Array:
        """The way each pixel looks, [S·S, 3], of length one along the camera's axis."""
        across = np.arange(self.side, dtype=np.float32) + 0.5
        right = ((across - self.centre[0]) / self.focal)[None, :, None] * self.axes[0].astype(np.float32)
        up = ((self.centre[1] - across) / self.focal)[:, None, None] * self.axes[1].astype(np.float32)
        return (right + up + self.axes[2].astype(np.float32)).reshape(-1, 3)


@dataclass(frozen=True, slots=True)
class Film:
    """What the camera sees at every covered pixel."""

    pixel: Array  # [K] places in the flat picture
    part: Array  # [K]
    place: Array  # [K, 3]
    normal: Array  # [K, 3] towards the eye
    view: Array  # [K, 3] towards the eye
    colour: Array  # [K, 3]
    finish: Array  # [K, 3]


def mesh_of(sheets: list[Sheet]) -> Mesh:
    """One mesh of many sheets; a sheet that is not inked shares the part of the one before it."""
    base, parts = 0, np.cumsum([sheet.inked for sheet in sheets])
    points, normals, corners, colours, counts = [], [], [], [], []
    for sheet in sheets:
        rows, columns = sheet.points.shape[:2]
        index = base + np.arange(rows * columns).reshape(rows, columns)
        a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
        corners.append(np.stack([a, b, c, a, c, d], -1).reshape(-1, 3))
        cells = np.broadcast_to(sheet.colour, (rows - 1, columns - 1, 3)).reshape(-1, 3)
        colours.append(np.repeat(cells, 2, 0))
        points.append(sheet.points.reshape(-1, 3))
        normals.append(_normals(sheet.points).reshape(-1, 3))
        counts.append(2 * len(cells))
        base += rows * columns
    owner = np.repeat(np.arange(len(sheets)), counts)
    finish = np.array([(sheet.finish.gloss, sheet.finish.metal, sheet.finish.glow) for sheet in sheets], np.float32)
    points, normals, colours = (np.concatenate(arrays).astype(np.float32) for arrays in (points, normals, colours))
    corners = np.concatenate(corners)
    closed = np.array([_is_closed(sheet.points) for sheet in sheets])
    outward = _outward(points[corners], owner, closed)
    return Mesh(points, normals, corners, parts[owner], colours, finish[owner], outward)


def _is_closed(points: Array) -> bool:
    """Whether a sheet has no rim: its sides meet and both its ends are points."""
    gaps = points[:, 0] - points[:, -1], points[0] - points[0, :1], points[-1] - points[-1, :1]
    return all(np.abs(gap).max() < 1e-6 for gap in gaps)


def _outward(triangles: Array, owner: Array, closed: Array) -> Array:
    """Outer normals [T, 3] of closed sheets, whose volume tells which way is out, and 0 for open ones."""
    first = triangles[:, 0]
    normals = np.cross(triangles[:, 1] - first, triangles[:, 2] - first)
    volumes = np.bincount(owner, weights=dot(first, normals), minlength=len(closed))
    return normals * (np.sign(volumes) * closed)[owner, None].astype(np.float32)


def _normals(points: Array) -> Array:
    """Unit normals [U, V, 3]: the area-weighted mean of the cells around each point, seams and poles closed."""
    cells = np.cross(points[1:, 1:] - points[:-1, :-1], points[1:, :-1] - points[:-1, 1:])
    total = np.zeros(points.shape)
    for rows in (slice(None, -1), slice(1, None)):
        for columns in (slice(None, -1), slice(1, None)):
            total[rows, columns] += cells
    if np.abs(points[:, 0] - points[:, -1]).max() < 1e-6:
        total[:, 0] = total[:, -1] = total[:, 0] + total[:, -1]
    for end in (0, -1):
        if np.abs(points[end] - points[end, :1]).max() < 1e-6:
            total[end] = total[end].sum(0)
    return total / (np.linalg.norm(total, axis=-1, keepdims=True) + 1e-12)


def aim(points: Array, *, pitch: float, roll: float, distance: float, fill: float, off: Array, side: int) -> Camera:
    """A camera that looks down by `pitch` degrees, so that `points` fill a share `fill` of the picture about `off`."""
    axes = rotation("z", roll) @ rotation("x", -pitch) @ np.diag([1.0, 1.0, -1.0])
    middle = (points.min(0) + points.max(0)) / 2
    plain = Camera(middle - distance * axes[2], axes, 1.0, np.zeros(2), side)
    flat, _ = plain.project(points)
    low, high = flat.min(0), flat.max(0)
    focal = fill * side / max(high - low)
    centre = side * (0.5 + np.asarray(off)) - focal * (low + high) / 2
    return Camera(plain.eye, axes, focal, centre, side)


def _cover(places: Array, side: int) -> tuple[Array, Array, Array]:
    """Triangle, x and y of every pixel centre inside each triangle; places [T, 3, 2]."""
    y = places[..., 1]
    top = np.clip(np.ceil(y.min(1) - 0.5), 0, side).astype(np.int32)
    rows = np.maximum(np.clip(np.floor(y.max(1) - 0.5) + 1, 0, side).astype(np.int32) - top, 0)
    triangle, row = _spread(rows)
    row += top[triangle]
    start, end = places, np.roll(places, -1, 1)
    low, high = np.full(len(row), np.inf), np.full(len(row), -np.inf)
    for edge in range(3):
        (x0, y0), (x1, y1) = start[triangle, edge].T, end[triangle, edge].T
        share = (row + 0.5 - y0) / np.where(y1 == y0, 1e-9, y1 - y0)
        hit = x0 + share * (x1 - x0)
        on = (share >= 0) & (share <= 1)
        low, high = np.where(on, np.minimum(low, hit), low), np.where(on, np.maximum(high, hit), high)
    left = np.clip(np.ceil(np.where(low < high, low, 0) - 0.5), 0, side).astype(np.int32)
    right = np.clip(np.ceil(np.where(low < high, high, 0) - 0.5), 0, side).astype(np.int32)
    span, x = _spread(np.maximum(right - left, 0))
    return triangle[span], x + left[span], row[span]


def _spread(counts: Array) -> tuple[Array, Array]:
    """Each row number `counts` times, with a count from zero within each row."""
    owner = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    first = np.cumsum(counts) - counts
    return owner, np.arange(len(owner), dtype=np.int32) - first[owner].astype(np.int32)


def nearest(places: Array, near: Array, side: int) -> tuple[Array, Array, Array]:
    """Covered pixels [K], their nearest triangle [K] and weights [K, 3]; `near` [T, 3] grows towards the eye."""
    (x0, y0), (x1, y1), (x2, y2) = places.transpose(1, 2, 0)
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    area = np.where(np.abs(area) < 1e-9, 1e-9, area)
    # The weights of corners 1 and 2, and so the depth, are linear in x and y.
    one = np.stack([(y2 - y0) / area, (x0 - x2) / area, (x2 * y0 - x0 * y2) / area], -1)
    two = np.stack([(y0 - y1) / area, (x1 - x0) / area, (x0 * y1 - x1 * y0) / area], -1)
    depth = one * (near[:, 1:2] - near[:, :1]) + two * (near[:, 2:] - near[:, :1])
    depth[:, 2] += near[:, 0]
    triangle, x, y = _cover(places, side)
    slope = depth[triangle]
    level = slope[:, 0] * (x + 0.5) + slope[:, 1] * (y + 0.5) + slope[:, 2]
    low, high = near.min(), near.max()
    level = np.clip((level - low) * (65535 / max(high - low, 1e-9)), 0, 65535).astype(np.uint16)
    order = np.argsort(level, kind="stable")  # 16 bits: a radix sort
    winner = np.full(side * side, -1, np.int32)
    winner[(y * side + x)[order]] = order
    pixel = np.flatnonzero(winner >= 0)
    chosen = winner[pixel]
    triangle = triangle[chosen]
    at = np.stack([x[chosen] + 0.5, y[chosen] + 0.5, np.ones(len(chosen))], -1)
    first, second = dot(one[triangle], at), dot(two[triangle], at)
    return pixel, triangle, np.stack([1 - first - second, first, second], -1).astype(np.float32)


def expose(mesh: Mesh, camera: Camera) -> Film:
    """What `camera` sees of `mesh`."""
    places, near = camera.project(mesh.points)
    front = mesh.facing(camera.eye - mesh.points[mesh.corners[:, 0]])
    corners = mesh.corners[front]
    pixel, triangle, weights = nearest(places[corners], near[corners], camera.side)
    triangle = front[triangle]
    corners = mesh.corners[triangle]
    points, normals = mesh.points, mesh.normals
    place = np.einsum("kc,kcd->kd", weights, points[corners])
    normal = unit(np.einsum("kc,kcd->kd", weights, normals[corners]))
    view = unit(camera.eye.astype(np.float32) - place)
    normal *= np.where(dot(normal, view) < 0, -1, 1).astype(np.float32)[:, None]
    return Film(pixel, mesh.part[triangle], place, normal, view, mesh.colour[triangle], mesh.finish[triangle])


def dot(one: Array, other: Array) -> Array:
    """Row by row products [K] of two [K, 3]."""
    return np.einsum("kd,kd->k", one, other)


def unit(vectors: Array) -> Array:
    """The rows [K, 3] at length one."""
    return vectors / np.sqrt(dot(vectors, vectors) + 1e-12)[:, None]
