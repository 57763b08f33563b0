"""Soft shadows and studio light on what a camera saw.

Axes: K covered pixels · S the side of a picture or map · 3 for x, y, z or for red, green, blue.
Colours are squared (a cheap stand-in for linear light) until `develop` takes the root.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray as Array
from PIL import Image

from core.data.demo.render import Camera, Film, Mesh, dot, nearest, unit


@dataclass(frozen=True, slots=True)
class Light:
    """A far light: the unit way `towards` it, its colour, and the colours of the sky and the ground about, [3]."""

    towards: Array
    colour: Array
    sky: Array
    ground: Array

    @staticmethod
    def of(towards: Array, colour: Array, sky: Array, ground: Array) -> Light:
        """A light in 32 bits, which all that it falls on inherits."""
        towards = np.asarray(towards) / np.linalg.norm(towards)
        return Light(*(np.asarray(value, np.float32) for value in (towards, colour, sky, ground)))


@dataclass(frozen=True, slots=True)
class Shadow:
    """Blurred depths and squared depths seen from the light (variance shadow maps, Donnelly and Lauritzen 2006)."""

    axes: Array  # [3, 3] right, up, towards the light
    low: Array  # [2]
    cell: float
    mean: Array  # [S, S] distance towards the light
    square: Array  # [S, S]

    def lit(self, place: Array, bias: float = 0.03) -> Array:
        """How much of the light reaches each place, 0..1, [K]."""
        local = place @ self.axes.T.astype(np.float32)
        side = len(self.mean)
        cell = ((local[:, :2] - self.low) / self.cell).astype(np.int32)
        on = ((cell > 0) & (cell < side)).all(1)
        at = np.where(on, cell[:, 1] * side + cell[:, 0], 0)
        mean = self.mean.ravel()[at]
        gap = np.maximum(mean - local[:, 2] - bias, 0)
        variance = np.maximum(self.square.ravel()[at] - mean * mean, 2e-4)
        return np.where(on, np.clip((variance / (variance + gap * gap) - 0.15) / 0.85, 0, 1), 1)


def shadow_of(mesh: Mesh, light: Light, *, soft: float, side: int = 160) -> Shadow:
    """The shadow that `mesh` throws on itself and on the ground y = 0, blurred over about `soft` units."""
    up = unit(np.cross(light.towards, (0.3, 0.1, 1.0))[None])[0]
    axes = np.stack([np.cross(up, light.towards), up, light.towards])
    local = mesh.points @ axes.T
    margin = 2 * soft + 0.1
    low = (local[:, :2].min(0) - margin).astype(np.float32)
    cell = float((local[:, :2].max(0) + margin - low).max() / side)
    corners = mesh.corners[mesh.facing(light.towards)]
    depths = local[:, 2][corners]
    pixel, triangle, weights = nearest(((local[:, :2] - low) / cell)[corners], depths, side)
    centres = (np.arange(side) + 0.5) * cell
    # Without a thing in the way the light falls on the ground: points a·right + b·up + h·towards with y = 0.
    ground = -((low[0] + centres)[None, :] * axes[0, 1] + (low[1] + centres)[:, None] * axes[1, 1]) / axes[2, 1]
    depth = ground.ravel()
    depth[pixel] = np.maximum(dot(weights, depths[triangle]), depth[pixel])
    depth = depth.reshape(side, side).astype(np.float32)
    reach = max(1, round(soft / cell))
    return Shadow(axes, low, cell, blur(depth, reach), blur(depth * depth, reach))


def blur(image: Array, reach: int, passes: int = 2) -> Array:
    """The mean over squares of side 2·reach+1, borders repeated, run `passes` times; image [H, W] or [H, W, 3]."""
    for axis in (0, 1) * passes:
        pad = [(0, 0)] * image.ndim
        pad[axis] = (reach + 1, reach)
        total = np.cumsum(np.pad(image, pad, mode="edge"), axis=axis, dtype=np.float64)
        upper, lower = [slice(None)] * image.ndim, [slice(None)] * image.ndim
        upper[axis], lower[axis] = slice(2 * reach + 1, None), slice(None, -2 * reach - 1)
        image = ((total[tuple(upper)] - total[tuple(lower)]) / (2 * reach + 1)).astype(np.float32)
    return image


def studio(way: Array) -> Array:
    """Brightness [K] that a polished thing mirrors from a studio with soft boxes, seen along `way` [K, 3]."""
    x, y, z = way.T
    box = np.clip(1.6 - np.abs(y - 0.5) * 4, 0, 1) * np.clip(1.4 - np.abs(x + 0.35) * 2.2, 0, 1)
    side = np.clip((np.abs(x) - 0.62) * 6, 0, 1) * np.clip(1 - np.abs(y) * 1.2, 0, 1)
    floor = np.clip(-y, 0, 1) * 0.45
    return 0.16 + 1.15 * box + 0.75 * side + floor + 0.2 * np.clip(z, 0, 1)


def shade(film: Film, light: Light, shadow: Shadow, near_occlusion: Array) -> Array:
    """Squared colours [K, 3] of what is on film; `near_occlusion` [K] is 1 in the open and less in creases."""
    normal, gloss, metal, glow = film.normal, *film.finish.T[..., None]
    towards = light.towards
    lit = shadow.lit(film.place + 0.02 * normal)
    facing = np.clip((normal @ towards) * 0.9 + 0.1, 0, 1) * lit
    above = (0.5 + 0.5 * normal[:, 1])[:, None]
    ambient = (light.ground + (light.sky - light.ground) * above) * near_occlusion[:, None]
    albedo = film.colour**2
    diffuse = albedo * (facing[:, None] * light.colour + ambient)
    cosine = dot(normal, film.view)[:, None]
    mirror = 2 * cosine * normal - film.view
    spot = np.clip(dot(unit(film.view + towards), normal), 0, 1)[:, None] ** (8 + 90 * gloss * gloss)
    fresnel = 0.04 + 0.5 * (1 - np.clip(cosine, 0, 1)) ** 4
    room = studio(mirror)[:, None] * (0.4 + 0.6 * near_occlusion[:, None])
    shine = gloss * (fresnel * room + 0.75 * spot * lit[:, None])
    steel = albedo * (room * (0.5 + 0.5 * lit[:, None]) + 0.25 * facing[:, None]) + gloss * spot * lit[:, None]
    return ((1 - metal) * (diffuse + shine) + metal * steel) * (1 - glow) + glow * albedo * 2.2


def occlusion(film: Film, camera: Camera) -> Array:
    """A guess at how open each covered pixel lies, [K], from depths about it at a quarter of the size."""
    side = camera.side
    depth = np.full(side * side, np.nan, np.float32)
    depth[film.pixel] = (film.place - camera.eye) @ camera.axes[2]
    small = depth.reshape(side, side)[::4, ::4]
    known = ~np.isnan(small)
    filled, weight = np.where(known, small, 0), known.astype(np.float32)
    closeness = np.zeros_like(filled)
    for reach in (1, 4):
        around = blur(filled, reach) / np.maximum(blur(weight, reach), 0.05)
        closeness += np.clip((filled - around) * (3.0 / reach + 1.0), 0, 0.45) * known
    closeness = blur(closeness, 1, 1)
    row, column = np.divmod(film.pixel, side)
    return 1 - closeness[np.minimum(row // 4, side // 4 - 1), np.minimum(column // 4, side // 4 - 1)]


def develop(image: Array) -> Array:
    """Squared colours to 0..1, bright parts rolled off softly."""
    image = np.maximum(image, 0)
    over = np.maximum(image - 0.7, 0)
    return np.sqrt(np.minimum(image, 0.7) + 0.3 * over / (over + 0.3))


def layer(film: Film, colours: Array, side: int, size: int) -> tuple[Array, Array]:
    """Colours [K, 3] in 0..1 as a picture of another `size`, weighted by how much of each pixel is covered, and that.

    Returns [size, size, 3] and [size, size, 1], both 0..1.
    """
    picture = np.zeros((side * side, 4), np.uint8)
    picture[film.pixel, :3] = np.clip(colours, 0, 1) * 255
    picture[film.pixel, 3] = 255
    image = Image.frombuffer("RGBa", (side, side), picture.tobytes(), "raw", "RGBa", 0, 1)
    small = np.asarray(image.resize((size, size), Image.Resampling.HAMMING), np.float32) / 255
    return small[..., :3], small[..., 3:]
