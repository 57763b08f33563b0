"""What each class says to the text tower: the project's prompt, or adopted prompts and what each weighs.

Axes: C classes · T templates, such as "a photo of a {class}" · p input size of the text head · D embedding size.
A round keeps in its settings what its classes said, so a model keeps its texts until the next round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from core.errors import InputError
from core.features import FeatureStore
from core.prolip.prompts import PromptWeights
from core.values import Features
from db.repository import ProjectRow, RoundRow

KEY = "prompts"  # of a round's settings


def fill(template: str, class_name: str) -> str:
    """“a photo of a {class}” with the class put in, as the model reads it."""
    return template.replace("{class}", class_name.replace("_", " "))


def fill_all(templates: Sequence[str], class_names: Sequence[str]) -> list[str]:
    """The C·T texts, class by class: template t of class c is text c·T + t."""
    return [fill(template, name) for name in class_names for template in templates]


def adopted(project: ProjectRow) -> PromptWeights | None:
    """The prompts that were adopted for the project, or None. Raises InputError for what is none."""
    return None if project.prompt_weights is None else PromptWeights.from_json(project.prompt_weights)


def templates(project: ProjectRow) -> tuple[str, ...]:
    chosen = adopted(project)
    return (project.prompt,) if chosen is None else chosen.templates


def prompts(project: ProjectRow) -> list[str]:
    """Every text of the project, class by class in the order of their positions: C·T of them."""
    return fill_all(templates(project), [each.name for each in project.classes])


def weights(project: ProjectRow) -> Tensor:
    """What each text weighs in its class, [C, T]; a class that came after the adoption weighs its texts alike."""
    chosen, classes = adopted(project), len(project.classes)
    if chosen is None:
        return torch.ones(classes, 1, dtype=torch.float64)
    known = dict(zip(chosen.classes, chosen.weights, strict=True))
    alike = torch.full((len(chosen.templates),), 1 / len(chosen.templates), dtype=torch.float64)
    return torch.stack([known.get(each.name, alike) for each in project.classes])


def blend(features: Features, weights: Tensor) -> Features:
    """Features of C classes from those of their texts [C·T] and weights [C, T].

    A head is linear, Q Σ w ψ = Σ w Qψ, so what it makes of the blend is exactly the weighted mean of the texts'
    embeddings, the residuals included. Variances σ² are blended as variances.
    """
    if weights.numel() != len(features):
        raise InputError(f"{len(features)} texts do not fit weights {list(weights.shape)}: adopt the prompts again")
    if weights.shape[1] == 1:
        return features

    def mean(rows: Tensor) -> Tensor:
        return torch.einsum("ct,ctp->cp", weights.to(rows), rows.view(*weights.shape, -1))

    residuals, variance = features.residuals, features.log_variance
    return Features(
        mean(features.activations),
        None if residuals is None else mean(residuals),
        None if variance is None else mean(variance.exp()).log(),
    )


def load(project: ProjectRow, store: FeatureStore) -> Features:
    """Text features [C, p] of the classes from the store of texts. Raises NotReady where one was never encoded."""
    return blend(store.load_texts(prompts(project)), weights(project))


def as_in(project: ProjectRow, row: RoundRow) -> ProjectRow:
    """The project with the texts that a round was made with."""
    return replace(project, prompt_weights=row.settings.get(KEY))


def changed(project: ProjectRow, row: RoundRow) -> bool:
    """Whether the classes say something else since a round was made."""
    return _said(project.prompt_weights) != _said(row.settings.get(KEY))


def _said(values: Mapping | None) -> tuple | None:
    return None if values is None else tuple(values[key] for key in ("classes", "templates", "weights"))
