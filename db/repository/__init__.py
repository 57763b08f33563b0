"""All queries, named for what they answer. The first argument is a session of db/session.py.

What comes back is a plain or frozen value. A thing that does not exist raises LookupError, a value that cannot be
stored ValueError; both say what to do.
"""

from db.models import LabelKind, Split
from db.repository.counts import card, counts
from db.repository.given import given
from db.repository.items import (
    add_items,
    add_problems,
    domains,
    item,
    items,
    measured,
    path_of,
    pool_size,
    problems,
    reference,
)
from db.repository.labels import answers, answers_since, history, last_label_id, record, standing
from db.repository.leases import LEASE, claim, leased, release
from db.repository.projects import (
    create_project,
    delete_project,
    people,
    person,
    project,
    project_by_name,
    projects,
    set_prompt_weights,
)
from db.repository.rounds import add_round, latest_round, rounds
from db.repository.rows import (
    Card,
    ClassRow,
    Counts,
    Given,
    ItemRow,
    LabelRow,
    NewItem,
    NewLabel,
    ProblemRow,
    ProjectRow,
    Recorded,
    RoundRow,
    Standing,
)

__all__ = [
    "LEASE",
    "Card",
    "ClassRow",
    "Counts",
    "Given",
    "ItemRow",
    "LabelKind",
    "LabelRow",
    "NewItem",
    "NewLabel",
    "ProblemRow",
    "ProjectRow",
    "Recorded",
    "RoundRow",
    "Split",
    "Standing",
    "add_items",
    "add_problems",
    "add_round",
    "answers",
    "answers_since",
    "card",
    "claim",
    "counts",
    "create_project",
    "delete_project",
    "domains",
    "given",
    "history",
    "item",
    "items",
    "last_label_id",
    "latest_round",
    "leased",
    "measured",
    "path_of",
    "people",
    "person",
    "pool_size",
    "problems",
    "project",
    "project_by_name",
    "projects",
    "record",
    "reference",
    "release",
    "rounds",
    "set_prompt_weights",
    "standing",
]
