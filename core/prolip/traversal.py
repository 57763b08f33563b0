"""From an image's own caption towards [ROOT], the caption of everything, and what is passed on the way.

Axes: N images · M captions · D embedding size · S steps.
The walk goes from the nearest caption's mean in a straight line to the root's; at each of S steps the nearest caption
to the point reached is noted. The last step is one short of the root (Chun et al. 2025, "ProLIP").
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import groupby

import torch
from torch import Tensor
from torch.nn.functional import normalize

from core.prolip.inclusion import BUDGET, Pairs, inclusion_matrix, overlap_matrix, tiles
from core.values import ProlipEmbeddings

STEPS = 50
POINTS = 4_000_000  # numbers in flight of the walk's points and their similarities to captions


class Begin(StrEnum):
    """Where a walk starts."""

    CAPTION = "nearest caption"
    IMAGE = "image"


class RootCaption(StrEnum):
    """What makes a caption the most inclusive one for an image."""

    COVERS = "covers"  # the highest log∫pa²pb with a the image: the published choice
    INCLUDES = "includes"  # the highest H(image ⊂ caption), which distance only adds to


def most_inclusive(
    images: ProlipEmbeddings,
    captions: ProlipEmbeddings,
    by: RootCaption = RootCaption.COVERS,
    *,
    official: bool = False,
    epsilon: float = 0.0,
) -> Tensor:
    """For each image the position of the caption that includes it most, [N]; `epsilon` of the official form."""
    matrix = {RootCaption.COVERS: overlap_matrix, RootCaption.INCLUDES: inclusion_matrix}[by]
    return matrix(images, captions, official=official, epsilon=epsilon).argmax(dim=1)


def most_general(captions: ProlipEmbeddings, *, budget: int = BUDGET) -> int:
    """Position of the caption that includes the others most: the highest mean of H(other ⊂ it), exact."""
    pairs, total = Pairs(captions, captions), captions.mean.new_zeros(len(captions))
    for rows, columns in tiles(len(captions), len(captions), captions.dimension, budget):
        total[columns] += pairs.inclusion(rows, columns).sum(dim=0)
    return int(total.argmax())


def joined_root(*roots: Tensor) -> Tensor:
    """The direction between several roots [..., D], such as the empty text and the most inclusive caption."""
    return normalize(torch.stack([normalize(root, dim=-1) for root in roots]).sum(dim=0), dim=-1)


def walk(
    images: ProlipEmbeddings,
    captions: ProlipEmbeddings,
    roots: Tensor,
    *,
    steps: int = STEPS,
    begin: Begin = Begin.CAPTION,
) -> Tensor:
    """The nearest caption at each step of each image's walk, [N, S] positions; `roots` [N, D], or [D] for all.

    Raises ValueError without captions or steps.
    """
    if not len(captions) or steps < 1:
        raise ValueError(f"a walk needs captions and steps, {len(captions)} and {steps} came")
    goals = normalize(roots, dim=-1).expand(len(images), -1)
    targets = normalize(captions.mean, dim=1)
    portion = max(1, POINTS // (steps * (len(captions) + captions.dimension)))
    parts = [
        _walk(means, ends, targets, steps, begin)
        for means, ends in zip(normalize(images.mean, dim=1).split(portion), goals.split(portion), strict=True)
    ]
    return torch.cat(parts) if parts else torch.empty(0, steps, dtype=torch.int64)


def _walk(means: Tensor, goals: Tensor, targets: Tensor, steps: int, begin: Begin) -> Tensor:
    starts = means if begin is Begin.IMAGE else targets[(means @ targets.T).argmax(dim=1)]
    shares = torch.arange(steps, dtype=means.dtype, device=means.device)[:, None] / steps
    points = starts[:, None] + shares * (goals - starts)[:, None]  # [n, S, D]; a length changes no order of captions
    return (points @ targets.T).argmax(dim=2)


def passed(positions: Sequence[int]) -> list[int]:
    """The captions of one walk in their order, each run of the same one once."""
    return [position for position, _ in groupby(positions)]


def traverse(
    image: ProlipEmbeddings,
    captions: ProlipEmbeddings,
    root: Tensor,
    steps: int = STEPS,
    begin: Begin = Begin.CAPTION,
) -> list[int]:
    """Positions of the captions between one image and the root, [D]: from its own caption to the most general."""
    if len(image) != 1:
        raise ValueError(f"one image is traversed at a time, {len(image)} came: walk() takes many")
    return passed(walk(image, captions, root, steps=steps, begin=begin)[0].tolist())
