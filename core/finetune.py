"""Fine-tune the linear heads on the answers, always from the pre-trained weights.

Axes: N labelled images · C classes · D embedding size · p input size of a head · r = min(rows, p).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from core.posterior.laplace import HeadPosterior, Posterior
from core.values import Features, Progress, silent


class Trained(StrEnum):
    """Which head learns; the other keeps its pre-trained weight."""

    IMAGE = "image"
    TEXT = "text"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinetuneConfig:
    """How the heads are fine-tuned; checked when made (ValueError)."""

    head: Trained = Trained.IMAGE
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    max_steps: int = 200
    batch: int = 512
    patience: int = 20  # steps without a lower validation loss
    class_balance: float = 0.0  # β: an answer of a class with n answers counts n^−β; 0 all alike, 1 all classes alike
    prior_tau: float = 0.01  # pseudo-data count of the prior in `most_probable`; larger stays closer to the model
    one_class_tau: float = 100.0  # the same while all answers are of one class, which say nothing of the others

    def __post_init__(self):
        object.__setattr__(self, "head", Trained(self.head))
        positive = (self.learning_rate, self.max_steps, self.batch, self.patience, self.prior_tau, self.one_class_tau)
        if not all(0 < value < math.inf for value in positive):
            raise ValueError(f"learning rate, steps, batch, patience and the prior's τ must be positive: {self}")
        if not (0 <= self.class_balance <= 1 and 0 <= self.weight_decay < math.inf):
            raise ValueError(f"class balance must lie in [0, 1] and weight decay must not be negative: {self}")

    @property
    def image(self) -> bool:
        return self.head is not Trained.TEXT

    @property
    def text(self) -> bool:
        return self.head is not Trained.IMAGE


@dataclass(frozen=True, slots=True)
class FineTuned:
    """Both heads after fine-tuning and where it stopped; losses are mean cross-entropies in nats."""

    image: Tensor  # [D, p]
    text: Tensor  # [D, p']
    steps: int
    training_loss: float
    validation_loss: float | None


@dataclass(frozen=True, slots=True)
class Labelled:
    """Images and their classes [N]."""

    features: Features
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index) -> Labelled:
        return Labelled(self.features[index], self.labels[index])


def class_weights(labels: Tensor, classes: int, balance: float) -> Tensor:
    """n_c^−β [C] in float64, scaled so that the answers' mean weight is 1; a class without an answer weighs 0."""
    counts = torch.bincount(labels, minlength=classes).double()
    weights = counts.clamp_min(1).pow(-balance).where(counts > 0, 0.0)
    return weights * counts.sum() / (weights * counts).sum()


def usable(validation: Labelled | None) -> Labelled | None:
    """The validation images if they can judge: of two classes or more. One class would reward calling all by it."""
    return validation if validation is not None and len(validation.labels.unique()) > 1 else None


def finetune(
    training: Labelled,
    pretrained: Posterior,
    texts: Features,
    *,
    rng: torch.Generator,
    validation: Labelled | None = None,
    config: FinetuneConfig = FinetuneConfig(),
    on_progress: Progress = silent,
) -> FineTuned:
    """The heads after learning N answers, for class texts [C, p'].

    With validation images of two classes or more: `descend`, or `most_probable` where its validation loss is lower.
    Without, nothing could stop a descent and it is `most_probable`. The same `rng` state gives the same heads.
    """
    prior = most_probable(training, pretrained, texts, validation=validation, config=config)
    if usable(validation) is None:
        return prior
    descended = descend(
        training, pretrained, texts, rng=rng, validation=validation, config=config, on_progress=on_progress
    )
    return min(descended, prior, key=lambda tuned: _known(tuned.validation_loss))


def descend(
    training: Labelled,
    pretrained: Posterior,
    texts: Features,
    *,
    rng: torch.Generator,
    validation: Labelled | None = None,
    config: FinetuneConfig = FinetuneConfig(),
    on_progress: Progress = silent,
) -> FineTuned:
    """AdamW with cross-entropy over the classes' texts, which are embedded again in each step where their head learns.

    Keeps the weights with the lowest validation loss, the pre-trained ones included, and stops after `patience` steps
    without a lower one; without usable validation images it makes `max_steps` steps.
    """
    weights = [pretrained.image.weight.clone(), pretrained.text.weight.clone()]
    learning = [weight.requires_grad_() for weight, on in zip(weights, (config.image, config.text), strict=True) if on]
    weighting = class_weights(training.labels, len(texts), config.class_balance).to(weights[0])
    optimizer = torch.optim.AdamW(learning, lr=config.learning_rate, weight_decay=config.weight_decay)
    judge = usable(validation)

    def loss(part: Labelled, weighting: Tensor | None = None) -> Tensor:
        embeddings = part.features.embed(weights[0]), texts.embed(weights[1])
        return _cross_entropy(*embeddings, part.labels, pretrained, weighting)

    def snapshot(step: int, training_loss: float, validation_loss: float | None) -> FineTuned:
        image, text = (weight.detach().clone() for weight in weights)
        return FineTuned(image, text, step, training_loss, validation_loss)

    best = snapshot(0, float("nan"), None if judge is None else _value(loss, judge))
    for step in range(1, config.max_steps + 1):
        rows = torch.randperm(len(training), generator=rng)[: config.batch]
        value = loss(training[rows], weighting)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        on_progress(step, config.max_steps, "fine-tuning")
        current = None if judge is None else _value(loss, judge)
        if current is None or current < _known(best.validation_loss):
            best = snapshot(step, value.item(), current)
        if step - best.steps >= config.patience:
            break
    return best


def most_probable(
    training: Labelled,
    pretrained: Posterior,
    texts: Features,
    *,
    validation: Labelled | None = None,
    config: FinetuneConfig = FinetuneConfig(),
    iterations: int = 50,
) -> FineTuned:
    """The most probable heads given the answers, with the pre-trained posterior at `prior_tau` as the prior.

    Minimises Σ cross-entropy + ½ tr(B̃ ΔP Ã ΔPᵀ). The optimum lies in the span of the rows seen, ΔP = L_B U (L_A Q)ᵀ
    with ΦL_A = RᵀQᵀ, so only U [D, r] is sought, by L-BFGS in float64: no step size or number of steps to choose.
    Directions that the pre-training pinned down hardly move: a few answers of one class do not drown the others.
    """
    tau = config.prior_tau if len(training.labels.unique()) > 1 else config.one_class_tau
    moves = [
        _Move.of(head.with_tau(tau), features) if on else None
        for head, features, on in (
            (pretrained.image, training.features, config.image),
            (pretrained.text, texts, config.text),
        )
    ]
    fixed = training.features.embed(pretrained.image.weight).double(), texts.embed(pretrained.text.weight).double()
    free = [move.start() for move in moves if move is not None]
    weighting = class_weights(training.labels, len(texts), config.class_balance)
    optimizer = torch.optim.LBFGS(free, max_iter=iterations, line_search_fn="strong_wolfe")

    def fit() -> Tensor:
        given = iter(free)
        images, classes = (
            at if move is None else at + move.embed(next(given)) for at, move in zip(fixed, moves, strict=True)
        )
        return _cross_entropy(images, classes, training.labels, pretrained, weighting)

    def closure() -> float:
        optimizer.zero_grad()
        objective = len(training) * fit() + sum(each.square().sum() for each in free) / 2
        objective.backward()
        return float(objective.detach())

    optimizer.step(closure)
    given = iter(free)
    image, text = (
        head.weight if move is None else head.weight + move.weight(next(given))
        for head, move in zip((pretrained.image, pretrained.text), moves, strict=True)
    )
    judge = usable(validation)

    def judged() -> Tensor:
        assert judge is not None
        return _cross_entropy(judge.features.embed(image), texts.embed(text), judge.labels, pretrained)

    steps = optimizer.state[free[0]]["n_iter"]
    return FineTuned(image, text, steps, _value(fit), None if judge is None else _value(judged))


@dataclass(frozen=True, slots=True)
class _Move:
    """A change of a head in coordinates U [D, r] whose prior is a unit Gaussian, seen from its rows."""

    basis: Tensor  # Ã⁻¹-root times an orthonormal basis of the rows it sees [p, r]
    rows: Tensor  # the rows in that basis [N, r]
    B_root: Tensor  # [D, D]

    @staticmethod
    def of(head: HeadPosterior, features: Features) -> _Move:
        Q, R = torch.linalg.qr((features.to(head.weight).activations @ head.A_root).T)
        return _Move(head.A_root @ Q, R.T.double(), torch.linalg.cholesky(head.B_inverse.double()))

    def start(self) -> Tensor:
        return self.rows.new_zeros(len(self.B_root), self.rows.shape[1]).requires_grad_()

    def embed(self, U: Tensor) -> Tensor:
        return self.rows @ U.T @ self.B_root.T

    def weight(self, U: Tensor) -> Tensor:
        return (self.B_root @ U.detach()).to(self.basis) @ self.basis.T


def _cross_entropy(
    images: Tensor, texts: Tensor, labels: Tensor, pretrained: Posterior, weighting: Tensor | None = None
) -> Tensor:
    """Mean over the images of −log p(label), each times its class's weight."""
    logits = pretrained.scale * normalize(images, dim=1) @ normalize(texts, dim=1).T + pretrained.bias
    return cross_entropy(logits, labels, weight=weighting)


def _value(loss: Callable[..., Tensor], *arguments) -> float:
    with torch.no_grad():
        return float(loss(*arguments))


def _known(loss: float | None) -> float:
    """A loss to compare by: what is missing or no number is the worst."""
    return math.inf if loss is None or math.isnan(loss) else loss
