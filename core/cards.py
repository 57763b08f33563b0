"""What a queue gives a person: one image and what is to be known of it, and which images they want to see."""

from __future__ import annotations

from dataclasses import dataclass

from core.why import Guess
from db.base import VerdictState
from db.repository import Said as Vote

__all__ = ["EVERYTHING", "Card", "Narrow", "Vote"]


@dataclass(frozen=True, slots=True)
class Narrow:
    """Only images of this domain, and only those whose likeliest class is this one (a class id); None: any.

    The likeliest class is that of the closed form (core/kernel's `predictive`): between classes that are all but
    equal, the draws behind a card can put another one first.
    """

    domain: str | None = None
    guess: int | None = None

    def __bool__(self) -> bool:
        return self != EVERYTHING


EVERYTHING = Narrow()


@dataclass(frozen=True, slots=True)
class Card:
    """What a person needs to answer one image; `epistemic_share` of the uncertainty is what answers could remove.

    `score` is the order's. In orders where answers are reviews, `votes` say who said what, and `verdict` what comes of
    them; in a blind project only to those who said something of the image themselves.
    """

    item_id: int
    sha256: str
    path: str
    domain: str | None
    width: int
    height: int
    score: float
    guesses: tuple[Guess, ...]  # the likeliest first
    epistemic_share: float
    votes: tuple[Vote, ...] = ()  # the oldest first
    verdict: VerdictState | None = None
