"""The twelve classes, and how each is looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from core.data.demo import belongings, furnishings, tools
from core.data.demo.sheets import Sheet, place


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to build one class, how it leans and from where it is seen, degrees; `lying` things are built upright."""

    build: Callable[[Generator], list[Sheet]]
    pitch: tuple[float, float] = (8, 30)
    yaw: tuple[float, float] = (-40, 40)
    lying: bool = False
    tilt: tuple[float, float] = (0, 0)


RECIPES: dict[str, Recipe] = {
    "Backpack": Recipe(belongings.backpack, pitch=(4, 20), yaw=(-38, 38)),
    "Bottle": Recipe(furnishings.bottle, pitch=(3, 20), yaw=(-50, 50)),
    "Chair": Recipe(furnishings.chair, pitch=(10, 28), yaw=(-60, 60)),
    "Clock": Recipe(furnishings.clock, pitch=(2, 18), yaw=(-35, 35)),
    "Headphones": Recipe(belongings.headphones, pitch=(4, 24), yaw=(-48, 48)),
    "Key": Recipe(tools.key, pitch=(48, 80), yaw=(-180, 180), lying=True),
    "Lamp": Recipe(furnishings.lamp, pitch=(2, 16), yaw=(-35, 35)),
    "Laptop": Recipe(belongings.laptop, pitch=(16, 36), yaw=(-38, 38)),
    "Mug": Recipe(furnishings.mug, pitch=(12, 36), yaw=(-55, 20)),
    "Pencil": Recipe(tools.pencil, pitch=(45, 78), yaw=(-180, 180), lying=True),
    "Scissors": Recipe(tools.scissors, pitch=(50, 80), yaw=(-180, 180), lying=True),
    "Umbrella": Recipe(belongings.umbrella, pitch=(-4, 14), yaw=(-180, 180), tilt=(12, 42)),
}


def build(name: str, rng: Generator) -> list[Sheet]:
    """One new thing of class `name`, as large as a ball of radius 1, on the ground y = 0 about the origin."""
    recipe = RECIPES[name]
    turn = [("x", -90.0 if recipe.lying else 0.0), ("z", rng.uniform(*recipe.tilt)), ("y", rng.uniform(*recipe.yaw))]
    mirror = rng.choice([-1, 1])
    return settle(place(place(recipe.build(rng), turn=turn), scale=(mirror, 1, 1)))


def settle(sheets: list[Sheet], size: float = 1.0) -> list[Sheet]:
    """The same things scaled into a ball of radius `size` and set on the ground about the origin."""
    points = np.concatenate([sheet.points.reshape(-1, 3) for sheet in sheets])
    low, high = points.min(0), points.max(0)
    scale = 2 * size / np.linalg.norm(high - low)
    middle = (low + high) / 2
    return place(sheets, scale=scale, at=-scale * np.array([middle[0], low[1], middle[2]]))
