"""Which prompts speak for a class, and what they weigh.

Axes: N images · C classes · T templates, such as "a photo of a {class}" · D embedding size.
The prompts of a project are C·T Gaussians, class by class: prompt t of class c is row c·T + t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import torch
from torch import Tensor
from torch.nn.functional import normalize

from core.errors import InputError
from core.metrics import accuracy, nlpd
from core.values import ProlipEmbeddings

SUM_TOLERANCE = 1e-6  # of a row of weights: what a file that was edited by hand may be off


class PromptMethod(StrEnum):
    """Where the weights came from, which decides how prompts are combined (`class_gaussians`)."""

    AVERAGE = "average"
    FILTERED = "filtered"
    BPRW = "bprw"


@dataclass(frozen=True, slots=True)
class PromptWeights:
    """What each prompt weighs in its class: `weights` [C, T], at least 0, each class's sum 1 (float64).

    Raises InputError for anything else.
    """

    classes: tuple[str, ...]
    templates: tuple[str, ...]
    weights: Tensor
    method: PromptMethod = PromptMethod.AVERAGE

    def __post_init__(self) -> None:
        shape, weights = (len(self.classes), len(self.templates)), self.weights
        if tuple(weights.shape) != shape or 0 in shape:
            raise InputError(
                f"{shape[0]} classes with {shape[1]} prompts each need weights {list(shape)}, "
                f"{list(weights.shape)} came: give at least one class and one prompt, and a weight for each pair"
            )
        off = (weights.sum(dim=1) - 1).abs() > SUM_TOLERANCE
        if not bool(weights.isfinite().all()) or bool((weights < 0).any()) or bool(off.any()):
            raise InputError("a class's prompt weights are 0 or above and sum to 1: these do not; make them again")

    def to_json(self) -> dict:
        """Plain lists and strings, for a file or a database column."""
        return {
            "classes": list(self.classes),
            "templates": list(self.templates),
            "weights": self.weights.tolist(),
            "method": self.method.value,
        }

    @classmethod
    def from_json(cls, values: Mapping) -> PromptWeights:
        """What `to_json` gave. Raises InputError where something is missing or of another form."""
        try:
            weights = torch.tensor(values["weights"], dtype=torch.float64)
            return cls(tuple(values["classes"]), tuple(values["templates"]), weights, PromptMethod(values["method"]))
        except (KeyError, TypeError, ValueError) as problem:
            raise InputError(f"these are no prompt weights ({problem}): export them from the ProLIP page") from problem


def equal_weights(classes: Sequence[str], templates: Sequence[str]) -> PromptWeights:
    """The plain average: every prompt of a class weighs the same."""
    weights = torch.full((len(classes), len(templates)), 1 / max(1, len(templates)), dtype=torch.float64)
    return PromptWeights(tuple(classes), tuple(templates), weights)


def vagueness(prompts: ProlipEmbeddings, templates: int) -> Tensor:
    """Uncertainty Σσ² of each class's prompts, [C, T]. Raises InputError where the rows are not C·T."""
    return prompts.uncertainty.view(_classes(prompts, templates), templates)


def _classes(prompts: ProlipEmbeddings, templates: int) -> int:
    if not templates or not len(prompts) or len(prompts) % templates:
        raise InputError(f"{len(prompts)} prompts are not classes times {templates} templates: encode them again")
    return len(prompts) // templates


# --- filters -----------------------------------------------------------------------------------------------------


class PromptFilter(StrEnum):
    """Which prompts to keep; `amount` is the number in brackets."""

    MOST_CERTAIN = "most certain"  # each class's [k] least uncertain
    MOST_CERTAIN_OVERALL = "most certain overall"  # the [k] least uncertain of all classes together
    THRESHOLD = "threshold"  # Σσ² of at most [u]
    DEVIATIONS = "deviations"  # Σσ² of at most its class's mean + [z] standard deviations


def _smallest(values: Tensor, amount: float) -> Tensor:
    """The amount-th smallest of the last axis, [..., 1]; the largest where there are fewer."""
    count = min(max(1, int(amount)), values.shape[-1])
    return values.sort(dim=-1).values[..., count - 1 : count]


def _deviations(uncertainty: Tensor, amount: float) -> Tensor:
    spread = uncertainty.std(dim=1, keepdim=True) if uncertainty.shape[1] > 1 else 0.0
    return uncertainty.mean(dim=1, keepdim=True) + amount * spread


FILTERS: dict[PromptFilter, Callable[[Tensor, float], Tensor | float]] = {
    PromptFilter.MOST_CERTAIN: _smallest,
    PromptFilter.MOST_CERTAIN_OVERALL: lambda uncertainty, amount: _smallest(uncertainty.flatten(), amount),
    PromptFilter.THRESHOLD: lambda _, amount: amount,
    PromptFilter.DEVIATIONS: _deviations,
}  # the highest uncertainty that is kept


def kept(uncertainty: Tensor, which: PromptFilter, amount: float) -> Tensor:
    """True where a prompt is kept, [C, T], of uncertainties [C, T]; ties at the limit are kept (ProLIP's filters).

    No class is emptied: its least uncertain prompt stays. Raises InputError for an amount that is no number, or below
    1 where it counts prompts.
    """
    counts = which in (PromptFilter.MOST_CERTAIN, PromptFilter.MOST_CERTAIN_OVERALL)
    if not math.isfinite(amount) or (counts and amount < 1):
        raise InputError(f"the filter {which.value!r} cannot keep {amount}: give a number{' from 1' if counts else ''}")
    least = uncertainty == uncertainty.min(dim=1, keepdim=True).values
    return (uncertainty <= FILTERS[which](uncertainty, amount)) | least


def filtered_weights(weights: PromptWeights, keep: Tensor) -> PromptWeights:
    """The same without the prompts that are not kept, `keep` [C, T]; what stays shares 1 as before.

    Raises InputError where a class would keep nothing that weighs.
    """
    left = weights.weights * keep.to(weights.weights)
    total = left.sum(dim=1, keepdim=True)
    empty = [name for name, none in zip(weights.classes, (total[:, 0] == 0).tolist(), strict=True) if none]
    if empty:
        raise InputError(f"{', '.join(empty)} would have no prompt left: keep at least one for each class")
    return replace(weights, weights=left / total, method=PromptMethod.FILTERED)


# --- classes from prompts ----------------------------------------------------------------------------------------


def class_gaussians(prompts: ProlipEmbeddings, weights: PromptWeights) -> ProlipEmbeddings:
    """Each class as one Gaussian, [C] rows, from its prompts' C·T rows.

    Averages and filters: mean Σwμ normalised, variance Σwσ². BPRW as published: mean Σwμ left as short as it comes,
    so that a class whose prompts disagree scores lower, and variance Σw²σ², that of a weighted sum.
    """
    shape = weights.weights.shape
    if _classes(prompts, shape[1]) != shape[0]:
        raise InputError(f"{len(prompts)} prompts do not fit weights {list(shape)}: encode the project's prompts again")
    shares = weights.weights.to(prompts.mean)  # [C, T]
    mean, variance = (each.view(*shape, -1) for each in (prompts.mean, prompts.variance))  # [C, T, D]
    published = weights.method is PromptMethod.BPRW
    blended = torch.einsum("ct,ctd->cd", shares, mean)
    spread = torch.einsum("ct,ctd->cd", shares.square() if published else shares, variance)
    return ProlipEmbeddings(blended if published else normalize(blended, dim=1), spread.log())


def class_probabilities(
    images: ProlipEmbeddings, classes: ProlipEmbeddings, scale: float, *, vague_costs: bool = True
) -> Tensor:
    """softmax over classes of the CSD logits, [N, C]; without `vague_costs` of s·μ_v·μ_c, whose variances do not count.

    The logits' bias and the image's own uncertainty are the same for all classes, so they drop out.
    """
    logits = images.mean @ classes.mean.T
    if vague_costs:
        logits = logits - classes.uncertainty / 2
    return (scale * logits).softmax(dim=1)


@dataclass(frozen=True, slots=True)
class PromptEffect:
    """How well weighted prompts classify n labelled images; NLPD in nats."""

    accuracy: float
    nlpd: float
    n: int


def prompt_effect(
    images: ProlipEmbeddings,
    labels: Tensor,
    prompts: ProlipEmbeddings,
    weights: PromptWeights,
    scale: float,
    *,
    vague_costs: bool = True,
) -> PromptEffect:
    """Accuracy and NLPD of the classes that `weights` make, on the images whose label [N] is not below 0.

    Raises InputError where no image has a label.
    """
    known = labels >= 0
    if not bool(known.any()):
        raise InputError("no image has an answer yet: answer some to see what prompts do to accuracy")
    probs = class_probabilities(images[known], class_gaussians(prompts, weights), scale, vague_costs=vague_costs)
    return PromptEffect(accuracy(probs, labels[known]), nlpd(probs, labels[known]).value, len(probs))
