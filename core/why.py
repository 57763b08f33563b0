"""Why this image? What the model thinks of it, what an answer on it would sharpen, and what it is like.

Axes: C classes · M target images. Only answers that people gave name a class here; a target image never does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import torch

from core.decomposition import split
from core.errors import UnknownName
from core.kernel import Answers, Kernel, observe_all
from core.logits import joint_draws
from core.reasons import most_alike, target_terms, usable_targets
from core.storage import path_in
from core.workspace import RHO, Workspace, generator, workspace
from db import repository
from db.repository import ItemRow
from db.session import Database

GUESSES = 5
DRAWS = 256  # of the image head, behind the intervals
LEVEL = 0.9  # of the credible intervals
SHARPENED = 5
ALIKE = 3


class Guess(NamedTuple):
    """A class and its probability under the posterior, with the central 90 % interval of the draws."""

    class_id: int
    name: str
    probability: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Belief:
    """What the posterior says of an image; its doubt in nats is what answers could remove and what would stay."""

    guesses: tuple[Guess, ...]  # the likeliest first
    epistemic: float
    aleatoric: float

    @property
    def epistemic_share(self) -> float:
        """The part of the doubt that answers could remove, from 0 to 1."""
        return min(1.0, max(0.0, self.epistemic / max(self.epistemic + self.aleatoric, 1e-9)))


@dataclass(frozen=True, slots=True)
class Sharpened:
    """A target image and its term of the EPIG score, in nats and as a share of the whole."""

    item_id: int
    path: str
    sha256: str
    nats: float
    share: float


@dataclass(frozen=True, slots=True)
class Alike:
    """An answered image, the class it was answered with, and the cosine of the embeddings."""

    item_id: int
    path: str
    sha256: str
    class_name: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Reasons:
    """What an answer on an image would tell about the targets, and the answered images most like it."""

    item_id: int
    epig: float  # the sum of all targets' terms, nats to second order
    targets: int  # M
    itself: float  # the share of its own term, where the image is a target too
    sharpens: tuple[Sharpened, ...]  # other targets, the largest term first
    nearest: tuple[Alike, ...]  # the most alike first


def believe(space: Workspace, positions: Sequence[int]) -> list[Belief]:
    """What the posterior says of these pool positions, by joint draws of the image head."""
    rng = generator(space.round.seed)
    draws = joint_draws(space.posterior, space.features[list(positions)], space.texts, DRAWS, rng)  # [n, K, C]
    parts, tails = split(draws), torch.tensor([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    low, high = torch.quantile(draws, tails, dim=1)  # [n, C] each
    best = parts.probs.topk(min(GUESSES, parts.probs.shape[1]), dim=1).indices.tolist()
    doubt = zip(parts.epistemic.tolist(), parts.aleatoric.tolist(), strict=True)
    guesses = [_guesses(space, some, parts.probs[i], low[i], high[i]) for i, some in enumerate(best)]
    return [Belief(some, *nats) for some, nats in zip(guesses, doubt, strict=True)]


def _guesses(space: Workspace, best: list[int], mean, low, high) -> tuple[Guess, ...]:
    classes = space.project.classes
    return tuple(Guess(classes[c].id, classes[c].name, float(mean[c]), float(low[c]), float(high[c])) for c in best)


class Explainer:
    """Reasons for the images of one workspace, for any thread; a kernel that is not given is made when first asked."""

    def __init__(self, space: Workspace, kernel: Kernel | None = None):
        self._space, self._kernel = space, kernel
        self._targets: list[int] = []
        self._observed: tuple[frozenset[int], Answers] | None = None
        self._lock = Lock()

    def explain(self, position: int, given: Iterable[int], answered: Mapping[int, str]) -> Reasons:
        """The reasons for a pool position, given answers on other positions, whatever those are.

        `answered` names the class of each answered position: what the image can be like.
        """
        with self._lock:
            kernel = self._ready()
            answers = self._conditioned(kernel, frozenset(given) - {position})
        terms = target_terms(kernel, answers, torch.tensor([position]))[0]  # [M]
        itself, sharpens = self._sharpens(position, terms)
        item, nearest = self._space.pool[position], self._nearest(position, answered)
        return Reasons(item.id, float(terms.sum()), len(terms), itself, sharpens, nearest)

    def _ready(self) -> Kernel:
        space = self._space
        if self._kernel is None:
            self._kernel = Kernel.before_answers(space.posterior, space.features, space.targets, space.texts, RHO)
        if not self._targets:
            self._targets = [
                space.towards[i] for i in usable_targets(space.posterior, space.targets, space.texts).tolist()
            ]
        return self._kernel

    def _conditioned(self, kernel: Kernel, given: frozenset[int]) -> Answers:
        """What these answers told; goes on from the last question, whose answers are mostly the same."""
        seen, answers = self._observed or (frozenset(), Answers(len(kernel.root), kernel.root.device))
        if not seen <= given:
            seen, answers = frozenset(), Answers(len(kernel.root), kernel.root.device)
        answers = answers.copy()
        for _ in observe_all(kernel, answers, sorted(given - seen)):
            pass
        self._observed = given, answers
        return answers

    def _sharpens(self, position: int, terms: torch.Tensor) -> tuple[float, tuple[Sharpened, ...]]:
        total = float(terms.sum())
        if not 0 < total < float("inf"):
            return 0.0, ()
        shares = (terms / total).tolist()
        own = sum(share for share, target in zip(shares, self._targets, strict=True) if target == position)
        order = [i for i in terms.argsort(descending=True).tolist() if self._targets[i] != position][:SHARPENED]
        items = [(i, self._space.pool[self._targets[i]]) for i in order]
        return own, tuple(Sharpened(item.id, item.path, item.sha256, float(terms[i]), shares[i]) for i, item in items)

    def _nearest(self, position: int, answered: Mapping[int, str]) -> tuple[Alike, ...]:
        others = sorted(answered.keys() - {position})
        if not others:
            return ()
        space = self._space
        image = space.features[torch.tensor([position])]
        cosines, found = most_alike(space.posterior, image, space.features[torch.tensor(others)], ALIKE)
        places = [others[i] for i in found.tolist()]
        return tuple(
            _alike(space.pool[place], answered[place], cosine)
            for place, cosine in zip(places, cosines.tolist(), strict=True)
        )


def _alike(item: ItemRow, class_name: str, cosine: float) -> Alike:
    return Alike(item.id, item.path, item.sha256, class_name, cosine)


def why(database: Database, project_id: int, path: str) -> tuple[Belief, Reasons]:
    """What the newest round says of one image to label, given all answers; `path` as in the project's folder.

    Raises UnknownName for what is no image of the pool, NotReady before the first round.
    """
    space = workspace(database, project_id)
    position = {item.id: i for i, item in enumerate(space.pool)}
    with database.read() as s:
        answers = repository.answers(s, project_id)
    answered = {position[i]: space.project.classes[c].name for i, c in answers.items() if i in position}
    place = _place(space, path)
    return believe(space, [place])[0], Explainer(space).explain(place, answered, answered)


def _place(space: Workspace, path: str) -> int:
    root = space.project.root
    inside = path_in(root, path)
    found = next((i for i, item in enumerate(space.pool) if item.path == inside), None)
    if found is None:
        raise UnknownName(
            f"no image {path!r} among those to label of project {space.project.name!r}: give its path inside {root}, "
            "as `rank` prints it (validation and test images are not ranked)"
        )
    return found
