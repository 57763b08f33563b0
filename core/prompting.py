"""A project's prompts under a Gaussian encoder: how vague each is, what it should weigh, and what that does.

Weights come from answers in the pool; what they do is measured on images of another split that have another content.
Axes: N images · C classes · T templates, such as "a photo of a {class}" · D embedding size.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import torch
from torch import Tensor

from core.class_texts import blend, fill_all
from core.config import home
from core.encoders import GaussianEncoder
from core.errors import InputError, NotReady, UnknownName
from core.gaussians import encoded, image_gaussians, text_gaussians
from core.learning import predict
from core.metrics import accuracy, nlpd
from core.posterior.laplace import Posterior
from core.projects import get_project
from core.prolip.bprw import BprwConfig, draw, mixture_weights
from core.prolip.prompts import PromptEffect, PromptMethod, PromptWeights, equal_weights, prompt_effect
from core.rounds import read_texts
from core.values import Progress, ProlipEmbeddings, silent
from core.workspace import feature_store, generator, text_store
from db import repository
from db.repository import ItemRow, ProjectRow, RoundRow, Split
from db.session import Database

logger = logging.getLogger(__name__)

TEMPLATES = (
    "a photo of a {class}",
    "itap of a {class}",
    "a bad photo of the {class}",
    "a origami {class}",
    "a photo of the large {class}",
    "a {class} in a video game",
    "art of the {class}",
    "a photo of the small {class}",
)  # the eight that CLIP's authors found to be enough on ImageNet; "itap": "I took a picture"
MOST_TEMPLATES = 32
FEW = 3  # images of a class: with fewer, its weights lean on the prior


@dataclass(frozen=True, slots=True)
class Shots:
    """Images whose class a person or the folder states, as Gaussians [N]; `missing` more have none yet."""

    items: tuple[ItemRow, ...]
    images: ProlipEmbeddings
    labels: Tensor
    missing: int

    def __len__(self) -> int:
        return len(self.items)

    def by_class(self, classes: int) -> list[int]:
        """How many images each class has."""
        return torch.bincount(self.labels, minlength=classes).tolist()


def checked_templates(lines: Sequence[str]) -> tuple[str, ...]:
    """Templates as a person gave them, each once. Raises InputError for one without {class}, for none or too many."""
    given = [" ".join(line.split()) for line in lines]
    found = tuple(dict.fromkeys(line for line in given if line))
    wrong = [line for line in found if "{class}" not in line]
    if wrong:
        raise InputError(f"“{wrong[0][:80]}” has no {{class}} in it, where the class name goes")
    if not 0 < len(found) <= MOST_TEMPLATES:
        raise InputError(f"{len(found)} prompts came: give 1 to {MOST_TEMPLATES}, one a line")
    return found


def usual_templates(project: ProjectRow) -> tuple[str, ...]:
    """The project's own prompt and the published ones."""
    return tuple(dict.fromkeys([project.prompt, *TEMPLATES]))


def class_names(project: ProjectRow) -> tuple[str, ...]:
    return tuple(each.name for each in project.classes)


def prompt_gaussians(
    project: ProjectRow, encoder: GaussianEncoder, templates: Sequence[str], on_progress: Progress = silent
) -> ProlipEmbeddings:
    """The project's C·T prompts, class by class; each text is encoded once ever."""
    return text_gaussians(encoder, fill_all(templates, class_names(project)), on_progress)


def answered(database: Database, project: ProjectRow, encoder: GaussianEncoder) -> Shots:
    """Pool images with a standing answer: what weights are made from."""
    with database.read() as s:
        known = repository.answers(s, project.id)
        items = [item for item in repository.items(s, project.id, Split.POOL) if item.id in known]
    return _shots(encoder, items, known)


def judged(database: Database, project: ProjectRow, encoder: GaussianEncoder, split: Split, apart_from: Shots) -> Shots:
    """Images of a measuring split whose class is known, of the target domain where there is one.

    An image whose content is among `apart_from` is left out: what made the weights does not judge them.
    """
    used = {item.sha256 for item in apart_from.items}
    with database.read() as s:
        known = repository.measured(s, project.id, split)
        items = [item for item in repository.items(s, project.id, split) if item.id in known]
    inside = [i for i in items if i.sha256 not in used and project.target_domain in (None, i.domain)]
    return _shots(encoder, inside, known)


def _shots(encoder: GaussianEncoder, items: Sequence[ItemRow], known: Mapping[int, int]) -> Shots:
    there, missing = encoded(encoder, items)
    labels = torch.tensor([known[item.id] for item in there], dtype=torch.int64)
    return Shots(tuple(there), image_gaussians(encoder, there), labels, missing)


def single(project: ProjectRow) -> PromptWeights:
    """The project's own prompt alone."""
    return equal_weights(class_names(project), [project.prompt])


def class_weights(images: ProlipEmbeddings, prompts: ProlipEmbeddings, seed: int) -> Tensor:
    """BPRW's weights [T] of one class's prompts from its images."""
    config = BprwConfig()
    return mixture_weights(draw(images, config.draws, generator(seed)), prompts, config).weights


def weigh(
    shots: Shots,
    prompts: ProlipEmbeddings,
    equal: PromptWeights,
    seed: int,
    on_progress: Progress = silent,
    of_class: Callable[[ProlipEmbeddings, ProlipEmbeddings, int], Tensor] = class_weights,
) -> PromptWeights:
    """BPRW's weights from answered images; a class without one keeps equal weights. Raises InputError without any.

    A class's weights depend on its own images alone, so `of_class` may be a kept `class_weights`.
    """
    if not len(shots):
        raise InputError("no image has an answer yet: answer a few of each class, then weigh the prompts")
    classes, templates = equal.weights.shape
    rows = equal.weights.clone()
    for c in range(classes):
        on_progress(c, classes, "weighing prompts")
        own = shots.labels == c
        if bool(own.any()):
            rows[c] = of_class(shots.images[own], prompts[c * templates : (c + 1) * templates], seed + c)
    return PromptWeights(equal.classes, equal.templates, rows, PromptMethod.BPRW)


def effect(project: ProjectRow, encoder: GaussianEncoder, weights: PromptWeights, shots: Shots) -> PromptEffect:
    """Accuracy and NLPD of the encoder itself, nothing learned, with its classes made of weighted prompts."""
    prompts = prompt_gaussians(project, encoder, weights.templates)
    return prompt_effect(shots.images, shots.labels, prompts, weights, encoder.logit_scale)


def own_effects(
    database: Database,
    project: ProjectRow,
    candidates: Sequence[PromptWeights],
    shots: Shots,
    on_progress: Progress = silent,
) -> tuple[RoundRow, list[PromptEffect]]:
    """The same images judged by the project's own newest model, whose class texts are blended by each candidate.

    Its head stays as it learned with the texts before. Raises NotReady before the first round, and where the model
    has changed.
    """
    with database.read() as s:
        newest = repository.latest_round(s, project.id)
    if newest is None:
        raise NotReady("the project has no model yet: wait for the import, or start it again")
    store = text_store(newest.fingerprint)
    texts = [fill_all(each.templates, class_names(project)) for each in candidates]
    read_texts(project, newest.fingerprint, [text for some in texts for text in some], on_progress)
    images = feature_store(newest.fingerprint).load([item.sha256 for item in shots.items])
    posterior = Posterior.load(home() / newest.checkpoint)
    found = []
    for some, candidate in zip(texts, candidates, strict=True):
        blended = blend(store.load_texts(some), candidate.weights)
        probs = predict(posterior, images, blended, newest.metrics["served"])
        found.append(PromptEffect(accuracy(probs, shots.labels), nlpd(probs, shots.labels).value, len(shots)))
    return newest, found


def adopt(database: Database, project_id: int, weights: PromptWeights, *, encoder: str, images: int) -> None:
    """Let the project's classes say these prompts from its next round on. Raises UnknownName, InputError.

    `encoder` and `images` say where the weights came from: the model's name, and how many answered images.
    """
    project = get_project(database, project_id)
    if weights.classes != class_names(project):
        raise InputError("the project's classes have changed since the prompts were weighed: weigh them again")
    about = {"encoder": encoder, "images": images, "at": datetime.now(UTC).isoformat(timespec="seconds")}
    _store(database, project_id, weights.to_json() | about)
    logger.info("project %s adopts %d prompts (%s)", project_id, len(weights.templates), weights.method)


def back_to_single(database: Database, project_id: int) -> None:
    """Let the project's classes say its own prompt again, from its next round on. Raises UnknownName."""
    _store(database, project_id, None)
    logger.info("project %s returns to its single prompt", project_id)


def _store(database: Database, project_id: int, values: dict | None) -> None:
    with database.write() as s:
        try:
            repository.set_prompt_weights(s, project_id, values)
        except LookupError as error:
            raise UnknownName(str(error)) from error
