"""The queues in which answers decide: what people differ on, and known classes that models doubt."""

from __future__ import annotations

from core.cards import EVERYTHING, Card, Narrow
from core.people import may
from core.serving import Queue
from db.base import Role


class ReviewQueue(Queue):
    """The images that need a review, for reviewers and owners."""

    def serve(self, person_id: int, n: int, narrow: Narrow = EVERYTHING) -> list[Card]:
        """Cards to review, with what people say of each. Raises NotAllowed for an annotator."""
        may(self._database, person_id, Role.REVIEWER)
        return super().serve(person_id, n, narrow)
