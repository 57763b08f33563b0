"""The scores a person can choose from, and what each means."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Acquisition(StrEnum):
    """How unlabelled images are ranked."""

    EPIG = "epig"
    BALD = "bald"
    ENTROPY = "entropy"
    RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Score:
    """What a score is called, means and counts in; `conditions` tells whether each answer changes the next score."""

    title: str
    meaning: str
    unit: str
    conditions: bool


SCORES: dict[Acquisition, Score] = {
    Acquisition.EPIG: Score(
        "Target gain", "how much this label would tell about the target images", "nats, second order", True
    ),
    Acquisition.BALD: Score(
        "Model gain", "how much this label would tell about the model itself", "nats, second order", True
    ),
    Acquisition.ENTROPY: Score("Entropy", "how undecided the model is between the classes", "nats", False),
    Acquisition.RANDOM: Score("Random", "no preference: the baseline to beat", "none", False),
}
