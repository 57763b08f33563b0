"""One learning curve: a strategy asks, the oracle answers from the folders' classes, a model learns and is measured.

Axes: N pool images · M target images · V validation · T test · C classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum

import torch
from torch import Tensor

from core.acquisition.table import Acquisition
from core.choice import predict
from core.data.scan import Split, assign_splits
from core.errors import InputError
from core.finetune import Labelled
from core.learning import LearningConfig, learn
from core.metrics import evaluate, weighted_accuracy
from core.online import online_batch
from core.ranking import draw_targets
from core.simulation.images import Images
from core.simulation.strategies import Setting, strategy

ONLINE = {str(score): score for score in (Acquisition.EPIG, Acquisition.BALD, Acquisition.ENTROPY)}
FIGURES = ("accuracy", "weighted_accuracy", "balanced_accuracy", "nlpd", "ece", "brier")


class Protocol(StrEnum):
    """When a strategy hears answers."""

    ROUNDS = "rounds"  # after each batch, from the model that learned it
    BATCH = "batch"  # never: all is chosen by the pre-trained model, as in the paper's offline experiments
    PAPER = "paper"  # after each pick, by one gradient step: the paper's online EPIG, BALD and entropy


class Validation(StrEnum):
    """What becomes of the target's validation labels."""

    SPENT = "spent"  # they stop the fine-tuning and choose τ, and count as labels
    UNUSED = "unused"  # nothing reads them: the answers are cross-validated


@dataclass(frozen=True, slots=True)
class SimulationConfig:
    """What is simulated; checked when made (InputError)."""

    protocol: Protocol = Protocol.ROUNDS
    validation: Validation = Validation.SPENT
    batch: int = 10
    rounds: int = 7
    learning: LearningConfig = field(default_factory=LearningConfig)
    rho: float = 10.0

    def __post_init__(self):
        object.__setattr__(self, "protocol", Protocol(self.protocol))
        object.__setattr__(self, "validation", Validation(self.validation))
        if isinstance(self.learning, dict):
            object.__setattr__(self, "learning", LearningConfig(**self.learning))
        if self.batch < 1 or self.rounds < 1 or not self.rho > 0:
            raise InputError(f"batch and rounds are 1 or more and ρ is positive, not {self}")


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a learning curve, measured on the target's test split.

    `labels` are the answers and, where they are spent, the validation labels; `figures` are FIGURES by name, None where
    not defined. `weighted_accuracy` weighs each class as often as it comes in the whole target domain.
    """

    strategy: str
    seed: int
    round: int
    labels: int
    figures: dict[str, float | None]
    served: str
    tau: float
    picked: tuple[str, ...]  # paths, in the order asked


def curve(images: Images, target: str | None, name: str, seed: int, config: SimulationConfig) -> Iterator[Point]:
    """The points of one strategy and seed, round 0 (no answer) first; pool, validation and test by the seed.

    The target's test split is never in the pool. Deterministic: the same arguments give the same points.
    Raises InputError where a split is empty, UnknownName for no such strategy.
    """
    strategy(name)
    parts = _Parts.of(images, target, seed)
    rng = torch.Generator().manual_seed(seed)
    targets = images.features[draw_targets(parts.towards, rng)]
    pool, texts = images.features[parts.pool], images.texts
    validation = _labelled(images, parts.validation) if config.validation is Validation.SPENT else None
    spent = 0 if validation is None else len(validation)
    chosen: list[int] = []
    latest: list[int] = []
    taken: list[int] = []
    for number in range(config.rounds + 1):
        training = _labelled(images, [parts.pool[i] for i in taken]) if taken else None
        learned = learn(images.pretrained, texts, training, validation, rng=rng, config=config.learning)
        probs = predict(learned.posterior, images.features[parts.test], texts, learned.served)
        yield Point(
            name,
            seed,
            number,
            spent + len(taken),
            _figures(probs, images.labels[parts.test], parts.shares, config.learning.bins),
            learned.served,
            learned.posterior.image.tau,
            tuple(images.paths[parts.pool[i]] for i in latest),
        )
        if number == config.rounds:
            return
        setting = Setting(learned.posterior, pool, targets, texts, taken, rng, config.rho)
        if config.protocol is Protocol.BATCH:
            chosen = chosen if number else strategy(name).pick(setting, config.batch * config.rounds)
            latest = chosen[len(taken) : len(taken) + config.batch]
        elif config.protocol is Protocol.PAPER and name in ONLINE:
            latest = _online(setting, name, config, lambda i: int(images.labels[parts.pool[i]]))
        else:
            latest = strategy(name).pick(setting, config.batch)
        if not latest:  # the pool is used up: what follows would be no new point
            return
        taken = taken + latest


@dataclass(frozen=True, slots=True)
class _Parts:
    """Positions of the images by what they are for; `shares` [C] is how often each class comes in the target."""

    pool: list[int]
    towards: list[int]  # those of the pool that are of the target domain
    validation: list[int]
    test: list[int]
    shares: Tensor

    @staticmethod
    def of(images: Images, target: str | None, seed: int) -> _Parts:
        inside = [target in (None, domain) for domain in images.domains]
        split = images.splits or assign_splits(images.sha256s, seed=seed)
        first = {sha256: i for i, sha256 in reversed([*enumerate(images.sha256s)])}  # of copies one is asked about
        pool = [i for i, each in enumerate(split) if each == Split.POOL and first[images.sha256s[i]] == i]
        validation, test = (
            [i for i, each in enumerate(split) if each == kind and inside[i]] for kind in (Split.VALIDATION, Split.TEST)
        )
        towards = [i for i in pool if inside[i]]
        if not pool or not towards or not test:
            raise InputError(
                f"{len(pool)} pool, {len(towards)} target and {len(test)} test images: each has to be 1 or more, give "
                "a larger folder or another seed"
            )
        shares = torch.bincount(images.labels[torch.tensor(inside)], minlength=len(images.texts)).double()
        return _Parts(pool, towards, validation, test, shares)


def _figures(probs: Tensor, labels: Tensor, shares: Tensor, bins: int) -> dict[str, float | None]:
    found = asdict(evaluate(probs, labels, bins))
    tested = torch.bincount(labels, minlength=len(shares)).double()
    found["weighted_accuracy"] = weighted_accuracy(probs, labels, shares / tested.clamp_min(1))
    if len(labels.unique()) < 2:
        found["balanced_accuracy"] = None
    return {name: found[name] for name in FIGURES}


def _labelled(images: Images, rows: list[int]) -> Labelled:
    """The oracle: labels of exactly these rows."""
    return Labelled(images.features[rows], images.labels[rows])


def _online(s: Setting, name: str, config: SimulationConfig, oracle: Callable[[int], int]) -> list[int]:
    parts = (s.posterior, s.features, s.targets, s.texts)
    how = config.learning.finetune
    return online_batch(ONLINE[name], *parts, n=config.batch, taken=s.taken, oracle=oracle, rng=s.rng, config=how)
