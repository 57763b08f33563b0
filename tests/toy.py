"""A project of drawn images with an encoder that sees only colour: everything but the towers is real.

Axes: N images · C classes · D = 16 joint size.
"""

from __future__ import annotations

import colorsys
import hashlib
from collections.abc import Callable
from pathlib import Path

import torch
from PIL import Image, ImageDraw
from torch import Tensor

from core import projects, rounds
from core.values import Features, Heads, KroneckerFactors
from db.session import Database

CLASSES = ("apple", "bottle", "chair", "desk", "eraser", "fan", "glasses", "hammer", "iron", "jar", "kettle", "mug")
SIDE, D = 6, 16


class ToyEncoder:
    name = fingerprint = "toy"

    def __init__(self) -> None:
        rng = torch.Generator().manual_seed(0)
        image = torch.randn(D, 3 * SIDE * SIDE, generator=rng) / 10
        self.heads = Heads(image, torch.randn(D, 8, generator=rng), scale=10.0)

    def preprocess(self, image: Image.Image) -> Tensor:
        return torch.tensor(list(image.resize((SIDE, SIDE)).tobytes()), dtype=torch.float32).reshape(3, SIDE, SIDE)

    def encode_images(self, pixels: Tensor) -> Features:
        return Features(pixels.flatten(1) / 127.5 - 1)

    def encode_texts(self, texts) -> Features:
        seeds = [int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) for text in texts]
        return Features(torch.stack([torch.randn(8, generator=torch.Generator().manual_seed(seed)) for seed in seeds]))


def toy_factors(model: str, encoder: ToyEncoder) -> tuple[KroneckerFactors, KroneckerFactors]:
    sizes = encoder.heads.image.shape[1], encoder.heads.text.shape[1]
    return tuple(KroneckerFactors(torch.eye(size), torch.eye(D), 100) for size in sizes)


def draw(folder: Path, number: int, side: int = 320) -> None:
    """One image of its own: the hue is its class, the number is written on it."""
    position = number % len(CLASSES)
    hue = [round(255 * part) for part in colorsys.hsv_to_rgb(position / len(CLASSES), 0.5, 0.9)]
    image = Image.new("RGB", (side, side * 3 // 4), tuple(hue))
    ImageDraw.Draw(image).text((side // 5, side // 5), str(number), fill="black", font_size=side // 4)
    path = folder / CLASSES[position] / f"{number:05d}.jpg"
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, quality=80)


def make_project(
    database: Database,
    folder: Path,
    images: int,
    name: str,
    monkeypatch,
    classes: tuple[str, ...] = CLASSES,
    draw: Callable[[Path, int], None] = draw,
) -> int:
    """A project of `images` drawn images, read, encoded and with its round 0."""
    for number in range(images):
        draw(folder, number)
    monkeypatch.setattr(rounds, "encoder_for", lambda model: ToyEncoder())
    monkeypatch.setattr(rounds, "factors_for", toy_factors)
    project = projects.create_from_folder(database, name=name, folder=folder, classes=classes)
    rounds.prepare(database, project)
    return project
