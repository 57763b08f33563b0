"""What greedy rankers share: answers condition the pool's variance, and each pick is conditioned on like an answer.

Axes: N pool images.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from torch import Tensor

from core.batches import ANYTHING, Limits, Pick, fill
from core.kernel import Answers, Kernel


class Greedy(ABC):
    """A ranker whose scores fall with the answers; `condition`, `pick` and `take` change it."""

    def __init__(self, base: Kernel):
        self.base = base
        self._answers = Answers(len(base.root), base.root.device)
        self._variance = base.variance.clone()

    @property
    def conditioned(self) -> int:
        """How many answers the scores are conditioned on."""
        return self._answers.count

    def variances(self) -> Tensor:
        """κ'(x, x) [N] given the answers so far: times S it is the covariance of an image's logits."""
        return self._variance.clamp_min(0)

    def pick(self, n: int, exclude: Iterable[int] = (), limits: Limits = ANYTHING) -> list[int]:
        """Positions of `take`."""
        return [pick.position for pick in self.take(n, exclude, limits)]

    def take(self, n: int, exclude: Iterable[int] = (), limits: Limits = ANYTHING) -> list[Pick]:
        """The n best positions outside `exclude` and within the limits, each conditioning the next.

        Fewer come when no finite score is left.
        """
        return fill(n, len(self.base), exclude, limits, self._best, lambda position: self.condition([position]))

    @abstractmethod
    def condition(self, indices: Sequence[int]) -> None:
        """Take answers on these pool positions into account, whatever the answers are."""

    @abstractmethod
    def _best(self, taken: Tensor) -> Pick | None:
        """The highest finite score outside the mask `taken` [N]."""
