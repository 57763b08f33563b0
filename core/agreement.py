"""How far people agree beyond chance, from what each said of each image: values without an order (nominal).

n_ic is how many people said c of image i, n_i how many said anything; images with one vote compare nothing and are left
out. A statistic that these votes do not define has no value, and says why in words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol


class Vote(Protocol):
    """What one person says of one image."""

    @property
    def item_id(self) -> int: ...

    @property
    def person_id(self) -> int: ...

    @property
    def class_id(self) -> Hashable: ...


@dataclass(frozen=True, slots=True)
class Agreement:
    """A statistic, at most 1; `value` None with the reason where it is not defined. `items`: images it is from."""

    value: float | None
    items: int
    why: str = ""


NOT_SHARED = "no image has answers of two people yet: let some images be asked of several"
ONE_CLASS = "everybody gave the same class throughout, so agreement by chance is certain and nothing is left to compare"


def raw(votes: Iterable[Vote]) -> Agreement:
    """Share of the pairs of votes on one image that are the same: Σ n_ic (n_ic − 1) / Σ n_i (n_i − 1)."""
    counts = _counts(votes)
    if not counts:
        return Agreement(None, 0, NOT_SHARED)
    return Agreement(sum(map(_same, counts)) / sum(map(_pairs, counts)), len(counts))


def cohen(votes: Iterable[Vote], one: int, other: int) -> Agreement:
    """Cohen's κ = (p_o − p_e) / (1 − p_e) of two people on the images both answered (Cohen 1960)."""
    given: dict[int, dict[int, Hashable]] = {one: {}, other: {}}
    for vote in votes:
        if vote.person_id in given:
            given[vote.person_id][vote.item_id] = vote.class_id
    both = sorted(given[one].keys() & given[other].keys())
    if not both:
        return Agreement(None, 0, "they answered no image in common yet")
    n = len(both)
    first, second = (Counter(given[who][item] for item in both) for who in (one, other))
    observed = sum(given[one][item] == given[other][item] for item in both) / n
    expected = sum(first[c] * second[c] for c in first) / n**2
    return _beyond(observed, expected, n)


def fleiss(votes: Iterable[Vote]) -> Agreement:
    """Fleiss' κ, any number of people (Fleiss 1971): of the images with the number of votes that is commonest.

    It is defined for one number of votes per image; of two numbers equally common the larger is taken.
    """
    counts = _counts(votes)
    if not counts:
        return Agreement(None, 0, NOT_SHARED)
    sizes = Counter(each.total() for each in counts)
    n = max(sizes, key=lambda size: (sizes[size], size))
    used = [each for each in counts if each.total() == n]
    observed = sum(map(_same, used)) / sum(map(_pairs, used))
    shares = [count / (n * len(used)) for count in sum(used, Counter()).values()]
    return _beyond(observed, sum(share**2 for share in shares), len(used))


def krippendorff(votes: Iterable[Vote]) -> Agreement:
    """Krippendorff's α = 1 − D_o / D_e for nominal values and any number of votes per image (Krippendorff 2011).

    D_o = Σ_i Σ_c n_ic (n_i − n_ic) / (n_i − 1) / n and D_e = Σ_c n_c (n − n_c) / (n (n − 1)), over images with two or
    more votes, n of them together.
    """
    counts = _counts(votes)
    if not counts:
        return Agreement(None, 0, NOT_SHARED)
    total = sum(counts, Counter())
    n = total.total()
    observed = sum((_pairs(each) - _same(each)) / (each.total() - 1) for each in counts) / n
    expected = sum(count * (n - count) for count in total.values()) / (n * (n - 1))
    return Agreement(1 - observed / expected, len(counts)) if expected else Agreement(None, len(counts), ONE_CLASS)


def cohen_pairs(votes: Sequence[Vote]) -> dict[tuple[int, int], Agreement]:
    """Cohen's κ of every two people, by their ids, the smaller first."""
    people = sorted({vote.person_id for vote in votes})
    return {pair: cohen(votes, *pair) for pair in combinations(people, 2)}


def _counts(votes: Iterable[Vote]) -> list[Counter]:
    """n_ic of the images with two or more votes."""
    counts: dict[int, Counter] = defaultdict(Counter)
    for vote in votes:
        counts[vote.item_id][vote.class_id] += 1
    return [each for each in counts.values() if each.total() > 1]


def _same(counts: Counter) -> int:
    return sum(count * (count - 1) for count in counts.values())


def _pairs(counts: Counter) -> int:
    return counts.total() * (counts.total() - 1)


def _beyond(observed: float, expected: float, items: int) -> Agreement:
    if expected >= 1:
        return Agreement(None, items, ONE_CLASS)
    return Agreement((observed - expected) / (1 - expected), items)
