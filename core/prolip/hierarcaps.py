"""HierarCaps: does a walk from an image to [ROOT] pass its captions, from the specific to the general?

Axes: N images · M captions, those of all images · D embedding size · levels 1 (general) to 4 (specific).
Precision is the share of passed captions that are the image's own, recall the share of levels one of whose captions is
passed; both are means over images (Alper and Averbuch-Elor 2024). Captions are compared as text: several images share
"dog", and an image may have several chains, any of which counts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean

from torch import Tensor

from core.errors import InputError
from core.prolip.traversal import STEPS, Begin, walk
from core.values import ProlipEmbeddings

Chain = Sequence[str]


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Of one image: precision, and for each level whether it was found."""

    precision: float
    levels: tuple[bool, ...]

    @property
    def recall(self) -> float:
        return fmean(self.levels)


@dataclass(frozen=True, slots=True)
class HierarCapsScores:
    """Means over n images; `levels` is the recall of each level, `passed` the number of captions on a walk."""

    precision: float
    recall: float
    levels: tuple[float, ...]
    passed: float
    n: int


def retrieved(found: Collection[str], chains: Sequence[Chain]) -> Retrieved:
    """Precision and recall of the captions on one walk against the image's chains, general first.

    Raises InputError without chains or where they have different numbers of levels.
    """
    if not chains or len({len(chain) for chain in chains}) != 1 or not chains[0]:
        raise InputError("an image needs caption chains of the same number of levels: check the table's level columns")
    predicted, true = set(found), {caption for chain in chains for caption in chain}
    levels = tuple(any(chain[k] in predicted for chain in chains) for k in range(len(chains[0])))
    return Retrieved(len(predicted & true) / max(1, len(predicted)), levels)


def evaluate(
    images: ProlipEmbeddings,
    captions: ProlipEmbeddings,
    texts: Sequence[str],
    chains: Sequence[Sequence[Chain]],
    roots: Tensor,
    *,
    steps: int = STEPS,
    begin: Begin = Begin.CAPTION,
) -> HierarCapsScores:
    """Scores of walks from N images towards `roots` ([D], or [N, D] each its own), `chains` [N] lists of chains.

    `texts` [M] are the captions' words. Raises InputError where the numbers do not fit.
    """
    if len(texts) != len(captions) or len(chains) != len(images) or not len(images):
        raise InputError(
            f"{len(images)} images with {len(chains)} chains and {len(captions)} captions with {len(texts)} texts: "
            "every image needs its chains, every caption its text"
        )
    walks = walk(images, captions, roots, steps=steps, begin=begin).tolist()
    found = [{texts[position] for position in positions} for positions in walks]
    each = [retrieved(words, own) for words, own in zip(found, chains, strict=True)]
    return HierarCapsScores(
        precision=fmean(one.precision for one in each),
        recall=fmean(one.recall for one in each),
        levels=tuple(fmean(level) for level in zip(*(one.levels for one in each), strict=True)),
        passed=fmean(len(words) for words in found),
        n=len(each),
    )
