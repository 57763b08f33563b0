"""A queue without a model: the real database, the order of ids, made-up guesses."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

from core.acquisition.table import Acquisition
from core.queue import MEASURE, End, Ending
from core.why import Guess
from db import repository
from db.repository import LEASE


class FakeQueue:
    round_number = 1

    def __init__(self, database, project_id, source):
        self.database, self.project_id = database, project_id
        self.source = source if source == MEASURE else Acquisition(source)

    def serve(self, person_id, n, narrow=None):
        with self.database.write() as session:
            rows = {row.id: row for row in repository.items(session, self.project_id, "pool")}
            until = datetime.now(UTC) + LEASE
            served = repository.claim(session, self.project_id, person_id, list(rows), n, until)
            classes = repository.project(session, self.project_id).classes
        return [self._card(rows[each], classes) for each in served]

    def _card(self, row, classes):
        guesses = [Guess(each.id, each.name, 0.6, 0.4, 0.8) for each in classes[:2]]
        place = {name: getattr(row, name) for name in ("sha256", "domain", "width", "height")}
        return SimpleNamespace(item_id=row.id, **place, guesses=guesses, score=0.0123, epistemic_share=0.7, votes=())

    def ending(self, person_id, narrow=None):
        counts = dict.fromkeys(("answered", "left", "held", "later", "waiting", "review", "set_aside"), 0)
        return Ending(kind=End.DONE, total=9, until=None, **counts)

    def apply(self, person_id, events):
        with self.database.write() as session:
            return repository.record(session, self.project_id, person_id, events)
