"""Fine-tune a linear head on the answers, always from the pre-trained weights.

Axes: N labelled images · V validation images · C classes · D embedding size · p input size of the head.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from core.values import Features, Progress, silent


@dataclass(frozen=True, slots=True, kw_only=True)
class FinetuneConfig:
    """How a head is fine-tuned; checked when made."""

    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    max_steps: int = 200
    batch: int = 512
    patience: int = 20  # steps without a lower validation loss
    steps_without_validation: int = 50

    def __post_init__(self):
        if self.learning_rate <= 0 or self.max_steps < 1 or self.batch < 1 or self.patience < 1:
            raise ValueError(f"learning rate, steps, batch and patience must be positive: {self}")


@dataclass(frozen=True, slots=True)
class FineTuned:
    """The head after fine-tuning and where it stopped; losses are mean cross-entropies in nats."""

    weight: Tensor  # [D, p]
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


def finetune(
    training: Labelled,
    weight: Tensor,
    texts: Tensor,
    scale: float,
    bias: float = 0.0,
    *,
    rng: torch.Generator,
    validation: Labelled | None = None,
    config: FinetuneConfig = FinetuneConfig(),
    on_progress: Progress = silent,
) -> FineTuned:
    """AdamW on the image head `weight` [D, p] with cross-entropy over the classes' texts [C, D].

    Keeps the weights with the lowest validation loss and stops after `patience` steps without a lower one; without
    validation images it makes a fixed number of steps. The same `rng` state gives the same head.
    """
    directions = normalize(texts, dim=1)

    def loss(head: Tensor, part: Labelled) -> Tensor:
        logits = scale * normalize(part.features.embed(head), dim=1) @ directions.T + bias
        return cross_entropy(logits, part.labels)

    head = weight.clone().requires_grad_(True)
    optimizer = torch.optim.AdamW([head], lr=config.learning_rate, weight_decay=config.weight_decay)
    judge = validation or None  # no image is no validation
    best, best_step, best_loss, last = weight, 0, float("inf"), float("nan")
    if judge is not None:
        best_loss = float(loss(weight, judge))
    steps = config.steps_without_validation if judge is None else config.max_steps
    for step in range(1, steps + 1):
        rows = torch.randperm(len(training), generator=rng)[: config.batch]
        value = loss(head, Labelled(training.features[rows], training.labels[rows]))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        last = value.item()
        on_progress(step, steps, "fine-tuning")
        current = -step if judge is None else float(loss(head.detach(), judge))
        if current < best_loss:
            best, best_step, best_loss = head.detach().clone(), step, current
        if step - best_step >= config.patience:
            break
    return FineTuned(best, best_step, last, None if judge is None else best_loss)
