"""What a labelling queue can be ordered by: a score, chance, a choice of images, or what needs a review."""

from __future__ import annotations

from core.acquisition.table import QUICK, Acquisition
from core.errors import NotAllowed, UnknownName
from core.people import may
from core.workspace import feature_store, unmeasured_items
from db import repository
from db.base import Role
from db.repository import ItemRow
from db.session import Database

SELECTION = "selection:"  # and a key: the order of images that a person chose, as they were chosen
MEASURE = "measure"  # the order that serves validation and test images without a known class, at random
DISAGREEMENTS = "disagreements"  # the order of what people differ on, ties first; answers in it are reviews
ERRORS = "errors"  # the order of known classes that models which have not learned from them doubt; so are these
REVIEWS = (DISAGREEMENTS, ERRORS)


def is_selection(source: str) -> bool:
    """Whether an order is that of images chosen in Explore."""
    return source.startswith(SELECTION)


def is_review(source: str) -> bool:
    """Whether what is answered in an order decides: a review, which takes a reviewer or an owner."""
    return source in REVIEWS


def unmeasured(database: Database, project_id: int) -> int:
    """How many validation and test images have no known class: what the order `MEASURE` serves."""
    return len(unmeasured_items(database, project_id))


def orders(database: Database, project_id: int, person_id: int | None = None) -> list[str]:
    """What a queue can be ordered by, the default first: scores, the encoder's own uncertainty where it says one,
    `MEASURE` where images to measure with are left, and for those who may review `DISAGREEMENTS` and `ERRORS`.
    """
    with database.read() as s:
        newest = repository.latest_round(s, project_id)
    own = newest is not None and feature_store(newest.fingerprint).holds("log_variance")
    scores = (*QUICK, Acquisition.OWN_UNCERTAINTY) if own else QUICK
    measuring = [MEASURE] if unmeasured(database, project_id) else []
    return [*map(str, scores), *measuring, *(REVIEWS if _may_review(database, person_id) else ())]


def items_of(database: Database, project_id: int, source: str) -> list[ItemRow] | None:
    """The images of an order that are not the whole pool; all images where answers are reviews.

    Raises UnknownName for a selection that does not exist.
    """
    if source == MEASURE:
        return unmeasured_items(database, project_id)
    if not (is_selection(source) or is_review(source)):
        return None
    with database.read() as s:
        if is_review(source):
            return repository.items(s, project_id)
        try:
            chosen = repository.selection(s, project_id, source.removeprefix(SELECTION))
        except LookupError as error:
            raise UnknownName(str(error)) from error
        return repository.items_by_id(s, project_id, chosen)


def _may_review(database: Database, person_id: int | None) -> bool:
    if person_id is None:
        return False
    try:
        may(database, person_id, Role.REVIEWER)
    except NotAllowed:
        return False
    return True
