"""What a model makes of images with captions from general to specific: does its uncertainty say what it should?

Axes: N images · K levels, general first · D embedding size.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from core.prolip.hierarcaps import evaluate
from core.prolip.inclusion import inclusion_matrix, log_inclusion
from core.prolip.similarity import cosine
from core.prolip.traversal import most_inclusive
from core.values import ProlipEmbeddings

Figures = dict[str, float]


def caption_figures(
    images: ProlipEmbeddings,
    levels: Sequence[ProlipEmbeddings],
    chains: Sequence[Sequence[str]],
    empty: ProlipEmbeddings,
) -> Figures:
    """Uncertainty by level, inclusion of each level in the one above and of images in captions, recall, traversal.

    `levels` [K] Gaussians of N captions each, `chains` [N] their words, `empty` the empty text's Gaussian (one row).
    """
    return (
        _uncertainty(images, levels)
        | {
            f"level_{k + 2}_in_level_{k + 1}": _mean(log_inclusion(levels[k + 1], levels[k]))
            for k in range(len(levels) - 1)
        }
        | _own_and_others(images, levels[-1])
        | _traversal(images, levels, chains, empty.mean[0])
    )


def _uncertainty(images: ProlipEmbeddings, levels: Sequence[ProlipEmbeddings]) -> Figures:
    found = {f"uncertainty_of_level_{k + 1}": _mean(level.uncertainty) for k, level in enumerate(levels)}
    ordered = _share(levels[0].uncertainty > levels[-1].uncertainty)
    return found | {"uncertainty_of_images": _mean(images.uncertainty), "general_more_uncertain": ordered}


def _own_and_others(images: ProlipEmbeddings, captions: ProlipEmbeddings) -> Figures:
    """H of each image in its own most specific caption and in every other image's; recall by the cosine."""
    inclusion = inclusion_matrix(images, captions)  # [N, N]
    n = len(images)
    own, others = inclusion.diagonal(), inclusion[~torch.eye(n, dtype=torch.bool)].view(n, n - 1)
    nearest = cosine(images, captions).argmax(dim=1)
    return {
        "in_own_caption": _share(own > 0),
        "in_another_caption": _share(others > 0),
        "own_above_another": _share(own[:, None] > others),
        "recall_at_1": _share(nearest == torch.arange(n)),
    }


def _traversal(
    images: ProlipEmbeddings, levels: Sequence[ProlipEmbeddings], chains: Sequence[Sequence[str]], empty: Tensor
) -> Figures:
    """Precision and recall of walks to the empty text and to each image's most inclusive caption."""
    captions = ProlipEmbeddings.joined(list(levels))
    words = [chain[k] for k in range(len(levels)) for chain in chains]
    roots = {"empty": empty, "inclusive": captions.mean[most_inclusive(images, captions)]}
    found: Figures = {}
    for name, root in roots.items():
        scores = evaluate(images, captions, words, [[chain] for chain in chains], root)
        found |= {f"precision_{name}_root": scores.precision, f"recall_{name}_root": scores.recall}
    return found


def _mean(values: Tensor) -> float:
    return float(values.mean())


def _share(true: Tensor) -> float:
    return float(true.double().mean())
