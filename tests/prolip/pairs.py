"""Image–text pairs that a tiny ProLIP can tell apart: three stripes, each of which a word names."""

import csv
from itertools import product

from PIL import Image

from core.encoders.loading import new_prolip
from core.prolip.train import Trainee
from tests.conftest import REFERENCE
from tests.encoders.words import write_tokenizer

WORDS = (("red", "blue", "green", "small"), ("cat", "dog", "mug", "table"), ("one", "two", "very", "large"))
CHOICES = tuple(product(range(4), repeat=3))  # of a word in each of three places
TEXTS = [" ".join(words[choice] for words, choice in zip(WORDS, choices, strict=True)) for choices in CHOICES]
SHADES = ((255, 40, 40), (40, 255, 40), (40, 40, 255), (230, 230, 40))


def write_pairs(folder, count=64):
    """captions.csv and images/ of `count` pairs in `folder`."""
    (folder / "images").mkdir(parents=True)
    with (folder / "captions.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["file_name", "caption"])
        for number, text in enumerate(TEXTS[:count]):
            stripes = Image.new("RGB", (1, 4))
            stripes.putdata([*(SHADES[choice] for choice in CHOICES[number]), (128, 128, 128)])
            stripes.resize((32, 32), Image.Resampling.NEAREST).save(folder / "images" / f"{number}.png")
            rows.writerow([f"{number}.png", text])
    return folder


def untrained(folder, seed=0):
    """The tiny architecture with random weights, behind the words in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text((REFERENCE / "prolip_tiny_config.json").read_text())
    write_tokenizer(folder)
    model, preprocess, tokenizer = new_prolip(str(folder), seed)
    return Trainee(model=model, tokenizer=tokenizer, preprocess=preprocess)


def images(folder):
    """The images of `write_pairs`, in the order of its texts."""
    files = sorted((folder / "images").iterdir(), key=lambda path: int(path.stem))
    return [Image.open(path).convert("RGB") for path in files]
