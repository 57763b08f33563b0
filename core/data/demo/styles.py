"""The four domains: one thing, drawn as a product picture, clip art, a painting or a snapshot of a scene.

Axes: S the picture's side · K covered pixels at twice the side · R = S·S.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray as Array
from PIL import Image, ImageDraw, ImageFilter

from core.data.demo import rooms, things
from core.data.demo.brush import paint
from core.data.demo.catalogue import RECIPES, build, settle
from core.data.demo.light import Light, Shadow, develop, layer, occlusion, shade, shadow_of
from core.data.demo.noise import smooth_noise
from core.data.demo.palette import DARK, PALE, SOFT, VIVID, mix, pick, rgb
from core.data.demo.render import Camera, Mesh, aim, expose, mesh_of
from core.data.demo.sheets import Sheet, place

FINE = 3  # things are drawn at FINE/2 times the size, then made smaller for smooth rims


def _view(name: str, mesh: Mesh, rng: Generator, size: int, fill: tuple[float, float], off: float) -> Camera:
    """A camera on `mesh`, from where this class is looked at."""
    pitch, roll = rng.uniform(*RECIPES[name].pitch), rng.normal(0, 2.5)
    return aim(
        mesh.points,
        pitch=pitch,
        roll=roll,
        distance=rng.uniform(4.5, 8),
        fill=rng.uniform(*fill),
        off=rng.uniform(-off, off, 2),
        side=size,
    )


def _sun(rng: Generator, warm: float, strength: float, ambient: float) -> Light:
    """Light from above, left or right; `warm` -1 cold to 1 warm."""
    towards = np.array([rng.choice([-1, 1]) * rng.uniform(0.3, 0.9), rng.uniform(0.9, 1.5), rng.uniform(0.2, 0.9)])
    hue = np.array([1 + 0.12 * warm, 1.0, 1 - 0.16 * warm])
    return Light.of(towards, strength * hue, ambient / hue, 0.8 * ambient * hue)


def _render(mesh: Mesh, camera: Camera, light: Light, shadow: Shadow) -> tuple[Array, Array]:
    """The thing alone, [S, S, 3], weighted by how much of each pixel it covers, and that, [S, S, 1]."""
    fine = camera.at(FINE * camera.side // 2)
    film = expose(mesh, fine)
    return layer(film, develop(shade(film, light, shadow, occlusion(film, fine))), fine.side, camera.side)


def _ground(camera: Camera, rays: Array) -> tuple[Array, Array]:
    """Which pixels [R] look down, and where these meet the ground, [*, 3]."""
    down = np.flatnonzero(rays[:, 1] < -0.02)
    rays = rays[down]
    return down, camera.eye.astype(np.float32) - np.float32(camera.eye[1]) * rays / rays[:, 1:2]


def _picture(values: Array) -> Image.Image:
    return Image.fromarray((np.clip(values, 0, 1) * 255 + 0.5).astype(np.uint8))


def product(name: str, rng: Generator, size: int) -> Image.Image:
    """On white under studio light, with a soft shadow."""
    mesh = mesh_of(build(name, rng))
    camera = _view(name, mesh, rng, size, (0.66, 0.86), 0.04)
    light = _sun(rng, 0.0, 0.62, 0.48)
    shadow = shadow_of(mesh, light, soft=0.09)
    down, ground = _ground(camera, camera.rays())
    image = np.full((size * size, 3), rng.uniform(1.1, 2.5), np.float32)
    image[down] *= (0.5 + 0.5 * shadow.lit(ground, 0.02))[:, None]
    colours, cover = _render(mesh, camera, light, shadow)
    return _picture(develop(image.reshape(size, size, 3)) * (1 - cover) + colours)


def clipart(name: str, rng: Generator, size: int) -> Image.Image:
    """Flat colours in two tones, a bold outline and a plain or patterned ground."""
    mesh = mesh_of(build(name, rng))
    camera = _view(name, mesh, rng, size, (0.62, 0.82), 0.03)
    film = expose(mesh, camera.at(2 * size))
    light = np.array([rng.choice([-0.6, 0.6]), 0.7, 0.6], np.float32)
    facing = film.normal @ (light / np.linalg.norm(light))
    tone = np.where(facing > 0.22, 1.0, 0.72)[:, None]
    vivid = np.clip(mix(film.colour.mean(1, keepdims=True), film.colour, 1.25), 0, 1)
    flat = np.where((facing > 0.93)[:, None] & (film.finish[:, :1] > 0.4), mix(vivid, 1.0, 0.65), vivid * tone)
    part = np.zeros((2 * size, 2 * size), np.int32)
    part.ravel()[film.pixel] = film.part
    image = np.asarray(_backdrop(rng, 2 * size), np.float32) / 255
    image.reshape(-1, 3)[film.pixel] = flat
    ink = rgb("1d1d24") if rng.random() < 0.8 else mix(pick(rng, DARK), rgb("1d1d24"), 0.5)
    image[_outline(part, round(size * rng.uniform(0.008, 0.016)))] = ink
    return _picture(image).reduce(2)


def _outline(part: Array, width: int) -> Array:
    """Pixels [2S, 2S] on the bold outline of the thing or the fine ones between its parts."""
    edge = np.zeros(part.shape, bool)
    edge[:-1] |= part[:-1] != part[1:]
    edge[:, :-1] |= part[:, :-1] != part[:, 1:]
    rim = np.zeros(part.shape, bool)
    rim[:-1] |= (part[:-1] == 0) != (part[1:] == 0)
    rim[:, :-1] |= (part[:, :-1] == 0) != (part[:, 1:] == 0)

    return _swollen(rim, width) | _swollen(edge, max(1, width // 3))


def _swollen(mask: Array, reach: int) -> Array:
    """`mask` grown by about a disc of `reach` pixels: squares and crosses in turn."""
    for step in range(reach):
        tall = mask.copy()
        tall[1:] |= mask[:-1]
        tall[:-1] |= mask[1:]
        wide = tall if step % 2 else mask
        mask = tall.copy()
        mask[:, 1:] |= wide[:, :-1]
        mask[:, :-1] |= wide[:, 1:]
    return mask


def _backdrop(rng: Generator, side: int) -> Image.Image:
    """White, or a pastel with a disc, a blob, rays, stripes or dots."""
    style, ink = rng.integers(6), lambda colour: tuple(int(v * 255) for v in colour)
    ground = rgb("ffffff") if style < 2 else pick(rng, PALE, SOFT)
    accent = mix(ground, pick(rng, SOFT, VIVID), 0.55)
    image = Image.new("RGB", (side, side), ink(ground))
    draw = ImageDraw.Draw(image)
    middle, radius = side / 2, side * rng.uniform(0.38, 0.47)
    if style in (1, 2):
        draw.ellipse((middle - radius, middle - radius, middle + radius, middle + radius), fill=ink(accent))
    if style == 3:
        for k in range(0, 24, 2):
            turn = 2 * np.pi * np.array([k, k + 1]) / 24
            rim = middle + side * np.stack([np.cos(turn), np.sin(turn)], -1)
            draw.polygon([(middle, middle), *map(tuple, rim)], fill=ink(mix(ground, accent, 0.6)))
    if style == 4:
        step = side // 11
        for row in range(12):
            for column in range(12):
                x, y = (column + 0.5 * (row % 2)) * step, row * step
                draw.ellipse(
                    (x - step / 6, y - step / 6, x + step / 6, y + step / 6), fill=ink(mix(ground, accent, 0.6))
                )
    if style == 5:
        line = middle + side * rng.uniform(0.1, 0.25)
        draw.rectangle((0, line, side, side), fill=ink(accent))
    return image


def painting(name: str, rng: Generator, size: int) -> Image.Image:
    """A still life in oil: strong light, a painted ground, strokes along the forms."""
    mesh = mesh_of(build(name, rng))
    camera = _view(name, mesh, rng, size, (0.56, 0.8), 0.06)
    warm = rng.uniform(-0.6, 1)
    light = _sun(rng, warm, 0.85, 0.34)
    shadow = shadow_of(mesh, light, soft=0.07)
    down, ground = _ground(camera, camera.rays())
    back, table = _contrasting(mesh, rng)
    clouds = sum(smooth_noise(rng, size, cells)[..., None] * rng.normal(0.04, 0.03, 3) for cells in (4, 9))
    image = (back * 0.85 + clouds).reshape(-1, 3).astype(np.float32) ** 2
    near = down[ground[:, 2] > -1.6]
    top = (mix(table, back, 0.25) * 0.9 + clouds).reshape(-1, 3)[near].astype(np.float32)
    lit = shadow.lit(ground[ground[:, 2] > -1.6], 0.02)[:, None]
    image[near] = top**2 * mix(mix(rgb("3a3f6a"), back, 0.3), 1.05, lit)
    colours, cover = _render(mesh, camera, light, shadow)
    scene = develop(image.reshape(size, size, 3)) * (1 - cover) + colours
    return _picture(paint(np.clip(mix(scene.mean(-1, keepdims=True), scene, 1.15), 0, 1), rng)).filter(
        ImageFilter.GaussianBlur(0.4)
    )


def _contrasting(mesh: Mesh, rng: Generator) -> tuple[Array, Array]:
    """A back and a table colour: of four the two that differ most from the thing's own."""
    own = mesh.colour.mean(0)
    some = [pick(rng, SOFT, PALE), pick(rng, DARK), *(mix(pick(rng, VIVID), pick(rng, SOFT), 0.25) for _ in range(2))]
    back, table = sorted(some, key=lambda colour: -np.abs(colour - own).sum())[:2]
    return back, table


def scene(name: str, rng: Generator, size: int) -> Image.Image:
    """A snapshot: the thing among others in a room, with depth of field, colour cast and noise."""
    sheets = build(name, rng)
    mesh = mesh_of(sheets)
    camera = _view(name, mesh, rng, size, (0.42, 0.68), 0.13)
    light = _sun(rng, rng.uniform(-0.5, 1), rng.uniform(0.6, 0.95), rng.uniform(0.22, 0.4))
    clutter = _clutter(name, sheets, rng)
    others = mesh_of(clutter)
    shadow = shadow_of(mesh_of([*sheets, *clutter]), light, soft=rng.uniform(0.04, 0.1), side=224)
    image, depth = _room(camera, light, shadow, rng)
    _add(image, depth, others, camera, light, shadow)
    focus = float(camera.axes[2] @ -camera.eye)
    image = _defocus(image.reshape(size, size, 3), depth.reshape(size, size), focus, rng.uniform(1.2, 3.2))
    colours, cover = _render(mesh, camera, light, shadow)
    return _snapshot(image * (1 - cover) + colours, rng)


def _clutter(name: str, sheets: list[Sheet], rng: Generator) -> list[Sheet]:
    """Two to five other things around `sheets`, none in front of them."""
    points = np.concatenate([sheet.points.reshape(-1, 3) for sheet in sheets])
    wide, deep = np.abs(points[:, 0]).max(), np.abs(points[:, 2]).max()
    parts = []
    for spot in rng.permutation(8)[: rng.integers(2, 6)]:
        size = rng.uniform(0.4, 0.75)
        gap = size + rng.uniform(0.05, 0.5)
        if RECIPES[name].lying:
            angle = (spot + rng.uniform(-0.3, 0.3)) * np.pi / 4
            recipe, at = things.FLAT[rng.integers(8)], ((wide + gap) * np.cos(angle), 0, (deep + gap) * np.sin(angle))
        else:
            column, row = (spot % 4 - 1.5) / 1.5, spot // 4
            back = -deep * 0.4 - gap - 0.9 * row if abs(column) < 0.5 else rng.uniform(-1.4, 0.2)
            recipe, at = things.STANDING[rng.integers(8)], (column * (wide + gap + 0.5 * row), 0, back)
        parts += place(settle(recipe(rng), size), turn=[("y", rng.uniform(-50, 50))], at=at)
    return parts


def _room(camera: Camera, light: Light, shadow: Shadow, rng: Generator) -> tuple[Array, Array]:
    """Squared colours [R, 3] and depths [R] of the wall and of the table or floor before it."""
    away = rng.uniform(2.2, 4.0)
    edge = rng.choice([away, rng.uniform(1.4, 2.2)])
    rays = camera.rays()
    down, ground = _ground(camera, rays)
    near = ground[:, 2] > -edge
    down, ground = down[near], ground[near]
    depth = np.empty(camera.side**2, np.float32)
    image = np.empty((camera.side**2, 3), np.float32)
    ahead, eye = camera.axes[2].astype(np.float32), camera.eye.astype(np.float32)
    texture = rooms.floor(rng)
    bright = shadow.lit(ground, 0.02)[:, None] * light.colour * light.towards[1]
    bright *= rooms.look_up(rooms.sunbeams(rng), ground[:, 0], ground[:, 2]) / 0.6 if rng.random() < 0.35 else 1
    image[down] = rooms.look_up(texture, ground[:, 0], ground[:, 2]) ** 2 * (bright + light.sky)
    depth[down] = (ground - eye) @ ahead
    up = np.setdiff1d(np.arange(camera.side**2), down, assume_unique=True)
    rays = rays[up]
    depth[up] = (-away - eye[2]) / np.minimum(rays[:, 2], -0.05)
    hit = eye + depth[up, None] * rays
    drop = 0.0 if edge == away else rng.uniform(0.4, 1.2)
    falloff = 1 - 0.08 * np.abs(hit[:, :1] - 3 * np.sign(light.towards[0]))
    paper = rooms.look_up(rooms.wall(rng), hit[:, 0] + np.float32(rng.uniform(-1, 1)), hit[:, 1] + np.float32(drop))
    image[up] = paper**2 * (0.55 * light.colour + light.sky * 0.9) * falloff
    return image, depth


def _add(image: Array, depth: Array, others: Mesh, camera: Camera, light: Light, shadow: Shadow) -> None:
    """Put the other things into `image` and `depth`, in place."""
    film = expose(others, camera)
    image[film.pixel] = shade(film, light, shadow, occlusion(film, camera))
    depth[film.pixel] = (film.place - camera.eye.astype(np.float32)) @ camera.axes[2].astype(np.float32)


def _defocus(image: Array, depth: Array, focus: float, reach: float) -> Array:
    """`image` [S, S, 3] blurred by up to about `reach` pixels where it lies before or behind the `focus`."""
    sharp = _picture(develop(image))
    blurs = ImageFilter.BoxBlur(0.6), ImageFilter.GaussianBlur(reach)
    soft, softer = (np.asarray(sharp.filter(lens), np.float32) / 255 for lens in blurs)
    away = np.clip(np.abs(depth - focus) / 2.5, 0, 1)[..., None]
    return mix(soft, softer, away)


def _snapshot(image: Array, rng: Generator) -> Image.Image:
    """Vignette, contrast, cast, a little blur and sensor noise."""
    size = len(image)
    across = np.linspace(-1, 1, size, dtype=np.float32) ** 2
    fall = 1 - rng.uniform(0.05, 0.22) * (across[:, None] + across[None])[..., None]
    image = (image - 0.5) * rng.uniform(0.92, 1.1) + 0.5 + rng.normal(0, 0.012, 3)
    soft = _picture(image * fall).filter(ImageFilter.BoxBlur(rng.uniform(0.1, 0.6)))
    grain, speck = (rng.standard_normal((size, size, n), np.float32) for n in (1, 3))
    return _picture(
        np.asarray(soft, np.float32) / 255 + np.float32(rng.uniform(0.006, 0.022)) * grain + np.float32(0.006) * speck
    )


STYLES: dict[str, Callable[[str, Generator, int], Image.Image]] = {
    "product": product,
    "clipart": clipart,
    "painting": painting,
    "scene": scene,
}
