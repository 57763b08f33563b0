"""What mini-prolip trains on: images, crops, captions and vaguer texts as activations, encoded once.

Axes: n images · V views of an image · L captions of an image · R masked texts · m photos with a class name.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from core.data.pairs import Captioned, Named
from core.encoders.mini_prolip import cropped
from core.encoders.openclip import OpenClipEncoder
from core.encoders.train_mini import ENCODE_BATCH, Pairs
from core.images import read_image
from core.values import Progress, silent

KEPT = 0.25  # of a masked image's area, of a masked text's words
CROPS = 4  # of each image
VAGUER = 6  # texts for each caption
LEVELS = 4
AT_ONCE = 8  # images through the tower: more are slower on a CPU


@dataclass(frozen=True, slots=True)
class Material:
    """Everything training reads: activations, encoded once."""

    images: Tensor  # [V, n, p] captioned images, plain and mirrored
    crops: Tensor  # [CROPS, n, p]
    captions: Tensor  # [L, n, p'] general first
    masked: Tensor  # [L − 1, R, n, p'] texts vaguer than each level but the first
    named: Tensor  # [V, m, p]
    names: Tensor  # [T, m, p'] each photo's class name under every template


@dataclass(frozen=True, slots=True)
class Batch:
    """Pairs as activations; `where` [k] says to which pairs the masked ones belong."""

    images: Tensor
    texts: Tensor
    crops: Tensor
    vaguer: Tensor
    where: Tensor
    captioned: int  # the first so many pairs, whose captions differ


def gather(
    encoder: OpenClipEncoder,
    pairs: Pairs,
    captioned: Sequence[Captioned],
    named: Sequence[Named],
    seed: int = 0,
    on_progress: Progress = silent,
) -> Material:
    """What mini trains on, and crops and vaguer texts besides."""
    rng = torch.Generator().manual_seed(seed)
    crops = []
    for batch in batches(captioned, on_progress, "encoding crops"):
        pixels = torch.stack([encoder.preprocess(read_image(entry.path)) for entry in batch])
        seen = torch.cat([cropped(pixels, KEPT, rng) for _ in range(CROPS)])
        encoded = [encoder.encode_images(part).activations for part in seen.split(AT_ONCE)]
        crops.append(torch.cat(encoded).view(CROPS, len(batch), -1))
    classes = [entry.class_index for entry in named]
    return Material(
        images=pairs.images[:, pairs.named :],
        crops=torch.cat(crops, dim=1),
        captions=torch.stack(pairs.captions, dim=1),
        masked=_encode_vaguer(encoder, captioned, random.Random(seed)),
        named=pairs.images[:, : pairs.named],
        names=pairs.names[:, classes],
    )


def draw(material: Material, captioned: int, named: int, level_shares: Sequence[float], rng: Generator) -> Batch:
    """So many captioned pairs, each with a caption of a random level and with masked twins, and so many named ones."""
    n, m = material.captions.shape[1], material.named.shape[1]
    rows, photos = torch.randperm(n, generator=rng)[:captioned], torch.randperm(m, generator=rng)[:named]
    level = torch.multinomial(torch.tensor(level_shares), len(rows), replacement=True, generator=rng)
    where = (level > 0).nonzero()[:, 0]  # nothing is vaguer than the first level
    below, twins = level[where] - 1, rows[where]
    return Batch(
        images=torch.cat([_any(material.images, rows, rng), _any(material.named, photos, rng)]),
        texts=torch.cat([material.captions[level, rows], _any(material.names, photos, rng)]),
        crops=_any(material.crops, twins, rng),
        vaguer=material.masked[below, _choices(material.masked.shape[1], len(twins), rng), twins],
        where=where,
        captioned=len(rows),
    )


def _encode_vaguer(encoder: OpenClipEncoder, captioned: Sequence[Captioned], rng: random.Random) -> Tensor:
    """Texts vaguer than each caption but the most general: [L − 1, R, n, p'] activations."""
    texts = [
        [[vaguer(entry.texts, level, rng) for entry in captioned] for _ in range(VAGUER)] for level in range(1, LEVELS)
    ]
    different = sorted({text for level in texts for row in level for text in row})
    encoded = encoder.encode_texts(different).activations
    place = {text: position for position, text in enumerate(different)}
    return encoded[torch.tensor([[[place[text] for text in row] for row in level] for level in texts])]


def vaguer(texts: Sequence[str], level: int, rng: random.Random) -> str:
    """A more general caption than number `level`, counted from 0; or, from the third on, a quarter of its words."""
    if level < 2 or rng.random() < 0.5:
        return texts[rng.randrange(level)]
    words = texts[level].split()
    kept = sorted(rng.sample(range(len(words)), max(1, round(KEPT * len(words)))))
    return " ".join(words[position] for position in kept)


def batches(
    captioned: Sequence[Captioned], on_progress: Progress = silent, message: str = ""
) -> Iterator[Sequence[Captioned]]:
    """All of them in batches small enough to encode."""
    for start in range(0, len(captioned), ENCODE_BATCH):
        yield captioned[start : start + ENCODE_BATCH]
        on_progress(min(start + ENCODE_BATCH, len(captioned)), len(captioned), message)


def _any(views: Tensor, rows: Tensor, rng: Generator) -> Tensor:
    """A random one of the views [V, n, p] of each row."""
    return views[_choices(len(views), len(rows), rng), rows]


def _choices(options: int, count: int, rng: Generator) -> Tensor:
    return torch.randint(options, (count,), generator=rng)
