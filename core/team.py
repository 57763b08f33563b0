"""How a team shares one project: its settings, which images are asked of several people, reviews, and gold items."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from uuid import uuid4

from core import jobs
from core.acquisition.table import Acquisition
from core.errors import InputError, NotReady
from core.people import may
from core.projects import get_project
from core.workspace import ranker_of, workspace
from db import repository
from db.base import LabelKind, Role
from db.repository import REVIEW, NewLabel, ProjectRow, Verdict
from db.session import Database

MOST_VOTES = 10


class Serves(StrEnum):
    """Which other images an answer is given to as well."""

    ITSELF = "itself"  # none
    COPIES = "copies"  # files of the same content
    ALIKE = "alike"  # those, and pictures that are nearly the same by their perceptual hash


class Overlap(StrEnum):
    """Which images are asked of several people."""

    RANDOM = "random"  # by a hash of their content: the same ones whenever it is asked
    UNCERTAIN = "uncertain"  # those the newest model is least sure of


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamSettings:
    """A project's settings; checked when made (InputError)."""

    overlap: float = 0.0  # share of the pool that is asked of `votes` people
    by: Overlap = Overlap.RANDOM
    votes: int = 2
    blind: bool = False  # no guess of the model is shown, and no other person's answer, before one's own
    retrain_every: int = 0  # a round after so many new answers; 0: only when somebody starts one
    gold: float = 0.0  # share of a person's answers that are on gold items
    serves: Serves = Serves.ITSELF  # what one answer is given to

    def __post_init__(self) -> None:
        if not (0 <= self.overlap <= 1 and 0 <= self.gold <= 0.5):
            raise InputError(f"overlap is a share from 0 to 1 and gold from 0 to 0.5, not {self.overlap}, {self.gold}")
        if not 2 <= self.votes <= MOST_VOTES:
            raise InputError(f"an image that is shared is shown to 2 to {MOST_VOTES} people, not to {self.votes}")
        if self.retrain_every < 0:
            raise InputError(f"a round comes every 1 answer or more, or 0 for never, not every {self.retrain_every}")
        if self.by not in list(Overlap):
            raise InputError(f"images are shared by {' or '.join(Overlap)}, not by {self.by!r}")
        if self.serves not in list(Serves):
            raise InputError(f"an answer serves {', '.join(Serves)}, not {self.serves!r}")
        object.__setattr__(self, "by", Overlap(self.by))
        object.__setattr__(self, "serves", Serves(self.serves))

    @classmethod
    def of(cls, stored: Mapping) -> TeamSettings:
        """From a project's row; what it does not say is as usual, what is not known here is passed over."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})


def change_settings(database: Database, project_id: int, person_id: int, settings: TeamSettings) -> int:
    """Store the settings and share images by them; how many unanswered images are shared now. Raises NotAllowed."""
    may(database, person_id, Role.OWNER)
    with database.write() as s:
        repository.set_team(s, project_id, asdict(settings))
    return share_images(database, project_id)


def share_images(database: Database, project_id: int) -> int:
    """Choose anew which unanswered pool images are asked of several people; how many.

    Images that somebody answered keep what they have, so that nothing begun stays half done. Called again after an
    import (new images) and a round (another model's doubts).
    """
    project = get_project(database, project_id)
    settings = TeamSettings.of(project.team)
    with database.read() as s:
        shared = repository.shared(s, project_id)
        left = repository.unanswered(s, project_id) if settings.overlap or shared else []
    chosen = set(_chosen(database, project, settings, left))
    single = [item for item, _ in left if item in shared and item not in chosen]
    several = [item for item in sorted(chosen) if shared.get(item) != settings.votes]
    if single or several:
        with database.write() as s:
            repository.want(s, project_id, single, 1)
            repository.want(s, project_id, several, settings.votes)
    return len(chosen)


def _chosen(database: Database, project: ProjectRow, settings: TeamSettings, left: list[tuple[int, str]]) -> list[int]:
    if not settings.overlap:
        return []
    if settings.by is Overlap.RANDOM:
        return [item for item, sha256 in left if _part(f"{project.seed}:overlap:{sha256}") < settings.overlap]
    try:
        doubts = _doubts(database, project.id)
    except NotReady:
        return []
    known = sorted((item for item, _ in left if item in doubts), key=lambda item: (-doubts[item], item))
    return known[: round(settings.overlap * len(known))]


def _part(key: str) -> float:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()) / 2**256


def _doubts(database: Database, project_id: int) -> dict[int, float]:
    """The predictive entropy of each pool image under the newest model. Raises NotReady before there is one."""
    space = workspace(database, project_id)
    scores = ranker_of(space, Acquisition.ENTROPY).scores().tolist()
    return {item.id: score for item, score in zip(space.pool, scores, strict=True)}


def review(database: Database, project_id: int, person_id: int, item_id: int, class_id: int | None) -> Verdict:
    """Decide what stands of an image: a class, or None for unusable. Everybody's votes stay as they are.

    Raises NotAllowed for an annotator, InputError for an image or class that is not in the project.
    """
    may(database, person_id, Role.REVIEWER)
    kind = LabelKind.UNUSABLE if class_id is None else LabelKind.ANSWER
    event = NewLabel(f"review:{uuid4().hex}", item_id, kind, class_id, source=REVIEW)
    with database.write() as s:
        (stored,) = repository.record(s, project_id, person_id, [event])
        found = repository.verdict(s, project_id, item_id) if stored.accepted else None
    if found is None:
        raise InputError(stored.reason)
    return found


def mark_gold(database: Database, project_id: int, person_id: int, answers: Mapping[int, int]) -> None:
    """State that the class of these items is known: item → class id. They check people from then on.

    Raises NotAllowed for an annotator, InputError for an image or class that is not in the project; all or none.
    """
    may(database, person_id, Role.REVIEWER)
    with database.write() as s:
        refused = repository.mark_gold(s, project_id, person_id, answers.items())
        if refused:
            raise InputError(f"nothing was marked. {'; '.join(refused[:5])}")


def unmark_gold(database: Database, project_id: int, person_id: int, items: list[int]) -> None:
    """These items check nobody any more; what was stated of them stands. Raises NotAllowed for an annotator."""
    may(database, person_id, Role.REVIEWER)
    with database.write() as s:
        repository.unmark_gold(s, project_id, items)


def gold_due(given: int, checked: int, share: float) -> bool:
    """Whether a person's next image is a gold item: after `given` answers, `checked` of them on gold items."""
    return checked < int(share * (given + 1))


def start_round_if_due(database: Database, project_id: int) -> int | None:
    """Queue a round where the settings ask for one by now; the job's id, or None where none is due or one is active."""
    settings = TeamSettings.of(get_project(database, project_id).team)
    if not settings.retrain_every:
        return None
    with database.read() as s:
        newest = repository.latest_round(s, project_id)
        due = newest and repository.answers_since(s, project_id, newest.label_watermark) >= settings.retrain_every
    if not due or any(job.kind in ("round", "prepare") for job in jobs.active(database, project_id)):
        return None
    return jobs.enqueue(database, project_id, "round", {})
