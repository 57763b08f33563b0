"""Which τ, and posterior or MAP: chosen on labels that the judged heads have not learned from.

Axes: N judged images · Z candidates: the posterior at each τ, then MAP · C classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.finetune import Labelled
from core.logits import map_logits, posterior_logits, prob_cosine, probit
from core.metrics import ece, nlpd
from core.posterior.laplace import Posterior
from core.values import Features, Progress, silent

POSTERIOR, MAP = "posterior", "map"
ENOUGH = 200  # answers to choose τ on: each further fold costs a fine-tuning


@dataclass(frozen=True, slots=True)
class Judged:
    """What every candidate says [Z, N, C] of labelled images [N]."""

    probs: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidate with the lowest NLPD; `nlpd` and `ece` of the best posterior and of MAP, None where none judged.

    `validation` images and `answers`, the latter by cross-validation, judged.
    """

    tau: float
    served: str
    nlpd: dict[str, float] | None = None
    ece: dict[str, float] | None = None
    validation: int = 0
    answers: int = 0
    fixed: bool = False  # whether there was only one τ

    @property
    def by(self) -> str:
        """How the choice was made, in words."""
        validation = [f"validation, {self.validation} images"] if self.validation else []
        answers = [f"cross-validation over {self.answers} answers"] if self.answers else []
        return " and ".join([*["fixed τ"][: self.fixed], *validation, *answers]) or "default"


def predict(posterior: Posterior, images: Features, texts: Features, served: str = POSTERIOR) -> Tensor:
    """Probabilities [N, C]: the probit predictive of the posterior, or the most probable heads taken as certain."""
    if served == MAP:
        embedded = images.embed(posterior.image.weight), texts.embed(posterior.text.weight)
        return map_logits(*embedded, posterior.scale, posterior.bias).softmax(dim=1)
    return probit(posterior_logits(posterior, images, texts))


def judge(posterior: Posterior, images: Labelled, texts: Features, taus: Sequence[float]) -> Judged:
    """What the posterior at each τ, and MAP, say of images that it has not learned from."""
    embedded = zip(posterior.image.embed_at(images.features, taus), posterior.text.embed_at(texts, taus), strict=True)
    probs = [probit(prob_cosine(*each, posterior.scale, posterior.bias)) for each in embedded]
    return Judged(torch.stack([*probs, predict(posterior, images.features, texts, MAP)]), images.labels)


def folds(labels: Tensor, classes: int, rng: torch.Generator, most: int = 5) -> list[Tensor]:
    """Positions to hold out in turn, about `most` parts, no more than hold ENOUGH answers.

    Each class is spread over the parts, two answers or more in each. But where classes have no answer, other classes
    are held out whole, as large a share of the answers as those are of the classes: the model will meet images of
    classes it has not learned, and is judged on such too. Otherwise it seems surer than it should be: where 3 or more
    of 7 classes lacked answers (mini on PACS, 10 to 30 answers, 23 cases) test NLPD was 1.21 as at τ = 10, and is 1.13.

    Empty where labels [N] are too few, or where all but one part would be of one class, which no head can learn from.
    """
    k = min(most, len(labels) // 2)
    if k < 2:
        return []
    whole = _held_out_whole(labels, classes, rng)
    together = torch.isin(labels, whole)
    apart = min(len(whole), max(1, round(k * float(together.double().mean()))))
    spread = torch.randperm(len(labels), generator=rng)
    spread = spread[~together[spread]]
    by_class = spread[labels[spread].argsort(stable=True)]
    others = min(max(2, k - apart), len(by_class) // 2)
    parts = [by_class[i::others] for i in range(others)]
    for i in range(apart):  # in turn with the others, so that some of both stay
        parts.insert(2 * i, torch.isin(labels, whole[i::apart]).nonzero()[:, 0])
    parts = parts[: max(1 + (apart > 0), math.ceil(ENOUGH * len(parts) / len(labels)))]
    return parts if all(len(labels[rest(part, len(labels))].unique()) > 1 for part in parts) else []


def _held_out_whole(labels: Tensor, classes: int, rng: torch.Generator) -> Tensor:
    """Answered classes, drawn until they hold the share of the answers that unanswered classes are of all classes."""
    answered, counts = labels.unique(return_counts=True)
    room = (1 - len(answered) / classes) * len(labels)
    drawn: list[int] = []
    for i in torch.randperm(len(answered), generator=rng).tolist():
        if len(drawn) < len(answered) - 2 and counts[i] / 2 <= room:
            drawn.append(int(answered[i]))
            room -= int(counts[i])
    return torch.tensor(drawn, dtype=labels.dtype)


def rest(part: Tensor, n: int) -> Tensor:
    """The positions below n that are not in the part."""
    left = torch.ones(n, dtype=torch.bool)
    left[part] = False
    return left.nonzero()[:, 0]


def cross_validate(
    answers: Labelled,
    parts: Sequence[Tensor],
    fit: Callable[[Labelled], Posterior],
    texts: Features,
    taus: Sequence[float],
    on_progress: Progress = silent,
) -> Judged:
    """What the candidates say of each part of the answers after `fit` to the rest of them."""
    judged = []
    for done, part in enumerate(parts):
        on_progress(done, len(parts), "cross-validating")
        judged.append(judge(fit(answers[rest(part, len(answers))]), answers[part], texts, taus))
    return Judged(torch.cat([each.probs for each in judged], dim=1), torch.cat([each.labels for each in judged]))


def choose(taus: Sequence[float], validation: Judged | None, answers: Judged | None, bins: int = 15) -> Choice:
    """The candidate with the lowest NLPD over all that was judged, one of validation and answers at least.

    Picks are harder than the average image, and yet, measured with mini on PACS (EPIG's picks, 4 target domains, 3
    seeds; test NLPD / ECE after 30 and 70 answers), 5-fold cross-validation of them chooses as well as validation
    labels do: 0.80 / 0.09 and 0.62 / 0.09, where τ = 10 gives 0.98 / 0.25 and 0.80 / 0.24.
    """
    every = [each for each in (validation, answers) if each is not None]
    labels = torch.cat([each.labels for each in every])
    probs = torch.cat([each.probs for each in every], dim=1)  # [Z, N, C]
    losses = [nlpd(each, labels).value for each in probs[:-1]]
    best = min(range(len(losses)), key=losses.__getitem__)
    kinds = {POSTERIOR: probs[best], MAP: probs[-1]}
    figures = {kind: nlpd(each, labels).value for kind, each in kinds.items()}
    return Choice(
        taus[best],
        POSTERIOR if figures[POSTERIOR] <= figures[MAP] else MAP,
        figures,
        {kind: ece(each, labels, bins) for kind, each in kinds.items()},
        validation=0 if validation is None else len(validation),
        answers=0 if answers is None else len(answers),
        fixed=len(taus) == 1,
    )
