"""Label errors: answers that models which have not learned from them find unlikely.

Axes: N answered pool images · C classes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from core import jobs
from core.class_texts import as_in
from core.config import home
from core.errors import NotReady
from core.finetune import Labelled
from core.learning import LearningConfig, learn, predict
from core.posterior.laplace import Posterior
from core.projects import get_project
from core.tensorfile import write_atomically
from core.values import Features, Progress, silent
from core.workspace import class_texts, feature_store, generator
from db import repository
from db.base import JobState
from db.repository import ItemRow, ProjectRow, RoundRow, Split
from db.session import Database

FORMAT = 2  # of the file
FOLDS = 5
LEAST = 10  # answers: with fewer, the pre-trained model judges them


@dataclass(frozen=True, slots=True)
class Doubt:
    """An image whose class is known, and what a model that has not learned from that says; positions of classes."""

    item_id: int
    known: int
    probability: float  # of the known class
    predicted: int
    confidence: float  # of the predicted class


@dataclass(frozen=True, slots=True)
class Audit:
    """All images with a known class, the least likely first; `folds` 1: the pre-trained model judged the answers."""

    round: int
    answers: int
    folds: int
    doubts: tuple[Doubt, ...]
    classes: tuple[int, ...]  # class id by position


def path_of(database: Database, project_id: int) -> Path:
    """The file of the audit of the answers as they stand now, made or not. Raises NotReady before the first round."""
    with database.read() as s:
        project, newest = repository.project(s, project_id), repository.latest_round(s, project_id)
        last = repository.last_label_id(s, project_id)
    if newest is None:
        raise NotReady("there is no model yet: wait for the import, or start it again")
    parts = json.dumps([newest.id, last, *map(str, project.classes)])
    name = f"{newest.number}-{last}-{hashlib.sha256(parts.encode()).hexdigest()[:16]}.v{FORMAT}.safetensors"
    return home() / "audit" / str(project_id) / name


def newest(project_id: int) -> Path | None:
    """The file of the newest audit there is, of the answers as they stood then; None before the first."""
    found = (home() / "audit" / str(project_id)).glob(f"*.v{FORMAT}.safetensors")
    return max(found, key=lambda path: tuple(map(int, path.name.split("-")[:2])), default=None)


def keep_current(database: Database, project_id: int) -> str:
    """Ask for an audit of the answers as they stand, where there is none; why the last one failed, if it did."""
    if path_of(database, project_id).exists():
        return ""
    last = jobs.latest(database, project_id, "audit")
    if last and last.state == JobState.FAILED:
        return last.error or "no reason is known"
    jobs.enqueue(database, project_id, "audit", {})
    return ""


def build(database: Database, project_id: int, on_progress: Progress = silent) -> Path:
    """Judge every known class by a model that did not learn from it; the file.

    An answer in the pool is judged by a model of the other folds' answers; copies of a file are in one fold. Known
    classes of validation and test are judged by the newest model, which learns from neither.
    """
    path = path_of(database, project_id)
    if path.exists():
        return path
    scene = _Scene(database, project_id)
    answered, answers = scene.known(Split.POOL)
    probs, folds = _crossed(scene, answered, answers, on_progress)
    items, known, parts = [*answered], [*answers], [probs]
    for split in (Split.VALIDATION, Split.TEST):
        more, classes = scene.known(split)
        if more:
            served = scene.newest.metrics["served"]
            posterior = Posterior.load(home() / scene.newest.checkpoint)
            items, known = [*items, *more], [*known, *classes]
            parts.append(predict(posterior, scene.features(more), scene.texts, served).float())
    tensors = _judged(torch.cat(parts), torch.tensor(known, dtype=torch.int64)) if items else {}
    tensors["items"] = torch.tensor([item.id for item in items], dtype=torch.int64)
    about = {"round": scene.newest.number, "answers": len(answered), "folds": folds, "classes": scene.classes}
    write_atomically(path, tensors, {"about": json.dumps(about)})
    for old in path.parent.glob("*.safetensors"):
        if old != path:
            old.unlink(missing_ok=True)
    return path


def load(path: Path) -> Audit:
    """The audit that `build` wrote."""
    with safe_open(str(path), framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        about = json.loads(file.metadata()["about"])
    about["classes"] = tuple(about["classes"])
    if not len(tensors["items"]):
        return Audit(**about, doubts=())
    order = tensors["probability"].argsort(stable=True)
    columns = (tensors[name][order].tolist() for name in ("items", "known", "probability", "predicted", "confidence"))
    return Audit(**about, doubts=tuple(Doubt(*row) for row in zip(*columns, strict=True)))


def fold_of(sha256s: Sequence[str], folds: int, rng: torch.Generator) -> Tensor:
    """A fold [N] for each image, as even as can be; images of one content are in the same."""
    numbers = {sha: number for number, sha in enumerate(dict.fromkeys(sha256s))}
    shuffled = torch.randperm(len(numbers), generator=rng) % folds
    return shuffled[torch.tensor([numbers[sha] for sha in sha256s], dtype=torch.int64)]


class _Scene:
    """What a project's models learn from and are judged on."""

    def __init__(self, database: Database, project_id: int):
        self.project: ProjectRow = get_project(database, project_id)
        self.classes = [each.id for each in self.project.classes]
        self._database = database
        with database.read() as s:
            rows = repository.rounds(s, project_id)
        self.newest: RoundRow = rows[-1]
        self.pretrained = Posterior.load(home() / rows[0].checkpoint)
        self.store = feature_store(self.newest.fingerprint)
        self.texts = class_texts(as_in(self.project, self.newest), self.newest.fingerprint)

    def known(self, split: Split) -> tuple[list[ItemRow], list[int]]:
        """Encoded images of a split whose class may be known, and its position: of the pool, those answered."""
        of = self.project.id
        with self._database.read() as s:
            classes = repository.answers(s, of) if split == Split.POOL else repository.measured(s, of, split)
            items = [item for item in repository.items(s, of, split) if item.id in classes]
        missing = set(self.store.missing([item.sha256 for item in items]))
        items = [item for item in items if item.sha256 not in missing]
        return items, [classes[item.id] for item in items]

    def features(self, items: Sequence[ItemRow]) -> Features:
        return self.store.load([item.sha256 for item in items])

    def labelled(self, items: Sequence[ItemRow], classes: Sequence[int]) -> Labelled | None:
        return Labelled(self.features(items), torch.tensor(classes)) if items else None


def _crossed(scene: _Scene, items: list[ItemRow], classes: list[int], on_progress: Progress) -> tuple[Tensor, int]:
    """Probabilities [N, C] of the answered images, each from a model that has not seen its answer; how many folds."""
    C = len(scene.texts)
    if not items:
        return torch.empty(0, C), 1
    answered = Labelled(scene.features(items), torch.tensor(classes))
    if len(items) < LEAST:
        return predict(scene.pretrained, answered.features, scene.texts).float(), 1
    rng = generator(scene.project.seed)
    fold = fold_of([item.sha256 for item in items], FOLDS, rng)
    inside = [  # a round chooses τ on images of the target domain
        (item, known)
        for item, known in zip(*scene.known(Split.VALIDATION), strict=True)
        if scene.project.target_domain in (None, item.domain)
    ]
    validation = scene.labelled([item for item, _ in inside], [known for _, known in inside])
    probs = torch.empty(len(items), C)
    for number in range(FOLDS):
        on_progress(number, FOLDS, "judging the answers")
        out, rest = (fold == number).nonzero()[:, 0], (fold != number).nonzero()[:, 0]
        if not len(out):
            continue
        training = Labelled(answered.features[rest], answered.labels[rest]) if len(rest) else None
        learned = learn(scene.pretrained, scene.texts, training, validation, rng=rng, config=LearningConfig())
        probs[out] = predict(learned.posterior, answered.features[out], scene.texts, learned.served).float()
    return probs, FOLDS


def _judged(probs: Tensor, known: Tensor) -> dict[str, Tensor]:
    best = probs.max(dim=1)
    mine = probs.gather(1, known[:, None])[:, 0]
    return {"known": known, "probability": mine, "predicted": best.indices, "confidence": best.values}
