"""The scores a person can choose from, and what each means."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Acquisition(StrEnum):
    """How unlabelled images are ranked."""

    EPIG = "epig"
    BALD = "bald"
    BALD_SATURATING = "bald-saturating"
    ENTROPY = "entropy"
    ENTROPY_MAP = "entropy-map"
    MARGIN = "margin"
    LEAST_CONFIDENCE = "least-confidence"
    VARIANCE = "variance"
    OWN_UNCERTAINTY = "own-uncertainty"
    RANDOM = "random"
    EPIG_DRAWS = "epig-draws"
    BALD_DRAWS = "bald-draws"


@dataclass(frozen=True, slots=True)
class Score:
    """What a score is called, means and counts in.

    `conditions` tells whether each answer changes the next score; `sampled` that it is a Monte Carlo estimate, which
    takes seconds to minutes and has a noise floor; `own` that it is the encoder's, which ProLIP alone has.
    """

    title: str
    meaning: str
    unit: str
    conditions: bool = False
    sampled: bool = False
    own: bool = False


SCORES: dict[Acquisition, Score] = {
    Acquisition.EPIG: Score(
        "EPIG", "how much this label would tell about the target images", "nats, second order", conditions=True
    ),
    Acquisition.BALD: Score(
        "BALD", "how much this label would tell about the model itself", "nats, second order", conditions=True
    ),
    Acquisition.BALD_SATURATING: Score(
        "BALD, saturating",
        "the same as BALD, levelling off where the model knows least",
        "nats, Gaussian channel",
        conditions=True,
    ),
    Acquisition.ENTROPY: Score("Entropy", "how undecided the model is between the classes", "nats"),
    Acquisition.ENTROPY_MAP: Score("Entropy (MAP)", "as entropy, with the model's weights taken as certain", "nats"),
    Acquisition.MARGIN: Score("Margin", "how close the second guess comes to the first", "1 − difference"),
    Acquisition.LEAST_CONFIDENCE: Score("Least confidence", "how unlikely even the first guess is", "probability"),
    Acquisition.VARIANCE: Score("Variance", "how far the logits could still move", "logits²"),
    Acquisition.OWN_UNCERTAINTY: Score(
        "Own uncertainty", "how little the encoder can tell from this image, whatever the classes", "Σσ²", own=True
    ),
    Acquisition.RANDOM: Score("Random", "no preference: the baseline to beat", "none"),
    Acquisition.EPIG_DRAWS: Score(
        "EPIG by draws", "the same as EPIG, by joint draws of the model: the slow reference", "nats", sampled=True
    ),
    Acquisition.BALD_DRAWS: Score(
        "BALD by draws", "the same as BALD, by joint draws of the model: the slow reference", "nats", sampled=True
    ),
}

QUICK = tuple(score for score, about in SCORES.items() if not about.sampled and not about.own)
"""Those fast enough to serve a labelling queue, whatever the encoder."""
