"""Simulated rounds: the oracle answers from the folder names, only what a strategy asked; how fast does each learn?

Axes: N pool images · M target images · V validation · T test · C classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import torch
from torch import Tensor

from core.acquisition.entropy import entropy
from core.acquisition.table import Acquisition
from core.batches import rank
from core.curvatures import factors_for
from core.data.scan import Split, assign_splits, read_files, scan_folder
from core.encoders import load_encoder
from core.errors import InputError, UnknownName
from core.features import encode_files, encode_texts
from core.finetune import Labelled
from core.learning import LearningConfig, learn, served_metrics
from core.logits import posterior_logits, probit
from core.online import online_batch
from core.posterior.laplace import Posterior, fit
from core.projects import DEFAULT_PROMPT
from core.ranking import draw_targets, make_ranker
from core.targeting import Metric, select_nearest
from core.values import Features, Progress, silent
from core.workspace import feature_store, text_store


class Strategy(StrEnum):
    """How a batch is chosen."""

    RANDOM = "random"
    EPIG = "epig"
    BALD = "bald"
    ENTROPY = "entropy"
    RANDOM_WASSERSTEIN = "random-wasserstein"
    ENTROPY_WASSERSTEIN = "entropy-wasserstein"


class Protocol(StrEnum):
    """When answers are learnt from: after each batch, or, as in the paper, by one step after each pick."""

    ROUNDS = "rounds"
    PAPER = "paper"


@dataclass(frozen=True, slots=True)
class SimulationConfig:
    """What is simulated. With `Protocol.PAPER`, EPIG, BALD and entropy hear the oracle's answer after each pick."""

    protocol: Protocol = Protocol.ROUNDS
    batch: int = 10
    rounds: int = 7
    learning: LearningConfig = field(default_factory=LearningConfig)
    rho: float = 10.0


@dataclass(frozen=True, slots=True)
class Images:
    """A labelled folder, encoded. `labels` [N] are read by the oracle and the metrics, never by a strategy."""

    paths: tuple[str, ...]
    sha256s: tuple[str, ...]
    domains: tuple[str | None, ...]
    features: Features
    labels: Tensor
    texts: Features
    pretrained: Posterior


@dataclass(frozen=True, slots=True)
class SimulatedRound:
    """One point of a learning curve."""

    strategy: str
    protocol: str
    seed: int
    round: int
    labels: int
    accuracy: float
    nlpd: float
    ece: float
    served: str
    tau: float
    picked: tuple[str, ...]  # paths, in the order asked


@dataclass(frozen=True, slots=True)
class Setting:
    """What a strategy may see: features and posteriors, no label of the pool."""

    posterior: Posterior
    pool: Features
    targets: Features
    texts: Features
    taken: list[int]  # positions answered so far
    rng: torch.Generator
    rho: float


def simulate(
    images: Images,
    *,
    target: str | None,
    strategies: Sequence[Strategy],
    seeds: Sequence[int],
    config: SimulationConfig = SimulationConfig(),
    on_progress: Progress = silent,
) -> Iterator[SimulatedRound]:
    """Learning curves of each strategy and seed, round 0 (no label) included; pool, validation and test by the seed.

    Validation and test are the target domain's; validation labels stop the fine-tuning and choose τ, and are not
    counted as spent.
    """
    total = len(strategies) * len(seeds) * (config.rounds + 1)
    done = 0
    for seed in seeds:
        split = assign_splits(images.sha256s, seed=seed)
        for strategy in strategies:
            for point in _curve(images, target, Strategy(strategy), seed, split, config):
                done += 1
                on_progress(done, total, f"{strategy}, seed {seed}")
                yield point


def load_images(
    folder: Path,
    *,
    target: str | None,
    model: str = "mini",
    prompt: str = DEFAULT_PROMPT,
    on_progress: Progress = silent,
) -> Images:
    """A labelled folder through the feature store: what was encoded before is not encoded again."""
    scan = scan_folder(folder)
    if target is not None and target not in scan.domains:
        raise UnknownName(f"no domain {target!r} in {folder}; its domains: {', '.join(scan.domains) or 'none'}")
    if len(scan.classes) < 2:
        raise InputError(f"{folder} names {len(scan.classes)} classes in its folders: the oracle needs 2 or more")
    encoder = load_encoder(model)
    image, text = factors_for(model, encoder)  # before the images are encoded: that may take hours
    position = {name: i for i, name in enumerate(scan.classes)}
    labels = {found.path: position[found.class_name] for found in scan.files if found.class_name}
    named = [found for found in scan.files if found.path in labels]
    read = [(e.found, e.info) for e in read_files(folder, named, on_progress=on_progress) if e.info is not None]
    store, texts = feature_store(encoder.fingerprint), text_store(encoder.fingerprint)
    encode_files(store, encoder, [(info.sha256, folder / found.path) for found, info in read], on_progress=on_progress)
    prompts = [prompt.replace("{class}", name.replace("_", " ")) for name in scan.classes]
    encode_texts(texts, encoder, prompts)
    shas = tuple(info.sha256 for _, info in read)
    return Images(
        tuple(found.path for found, _ in read),
        shas,
        tuple(found.domain for found, _ in read),
        store.load(shas),
        torch.tensor([labels[found.path] for found, _ in read]),
        texts.load_texts(prompts),
        fit(encoder.heads, image, text, tau=LearningConfig().tau, fingerprint=encoder.fingerprint),
    )


def _curve(
    images: Images, target: str | None, strategy: Strategy, seed: int, split: list[Split], config: SimulationConfig
) -> Iterator[SimulatedRound]:
    def rows(kind: Split, everywhere: bool = False) -> list[int]:
        inside = [everywhere or target in (None, domain) for domain in images.domains]
        return [i for i, each in enumerate(split) if each == kind and inside[i]]

    pool = rows(Split.POOL, everywhere=True)
    in_target = set(rows(Split.POOL))
    towards = [i for i in pool if i in in_target]
    if not pool or not towards or not rows(Split.TEST):
        raise InputError(
            f"{len(pool)} pool, {len(towards)} target and {len(rows(Split.TEST))} test images: each has to be 1 or "
            "more, give a larger folder or another seed"
        )
    validation, test = (_labelled(images, rows(kind)) for kind in (Split.VALIDATION, Split.TEST))
    rng = torch.Generator().manual_seed(seed)
    targets = images.features[draw_targets(towards, rng)]
    pool_features = images.features[pool]
    taken: list[int] = []
    latest: list[int] = []
    for number in range(config.rounds + 1):
        training = _labelled(images, [pool[i] for i in taken]) if taken else None
        learned = learn(images.pretrained, images.texts, training, validation, rng=rng, config=config.learning)
        figures = served_metrics(learned.posterior, images.texts, test, learned.served, config.learning.bins)
        yield SimulatedRound(
            str(strategy),
            str(config.protocol if strategy in ONLINE else Protocol.ROUNDS),
            seed,
            number,
            len(taken),
            figures.accuracy,
            figures.nlpd,
            figures.ece,
            learned.served,
            learned.posterior.image.tau,
            tuple(images.paths[pool[i]] for i in latest),
        )
        setting = Setting(learned.posterior, pool_features, targets, images.texts, taken, rng, config.rho)
        if number < config.rounds:
            if config.protocol is Protocol.PAPER and strategy in ONLINE:
                latest = _online(setting, ONLINE[strategy], config, lambda i: int(images.labels[pool[i]]))
            else:
                latest = STRATEGIES[strategy](setting, config.batch)
            if not latest:  # the pool is used up: what follows would be no new point
                return
            taken = taken + latest


def _labelled(images: Images, rows: list[int]) -> Labelled:
    """The oracle: labels of exactly these rows."""
    return Labelled(images.features[rows], images.labels[rows])


def _online(s: Setting, score: Acquisition, config: SimulationConfig, oracle: Callable[[int], int]) -> list[int]:
    parts = (s.posterior, s.pool, s.targets, s.texts)
    how = config.learning.finetune
    return online_batch(score, *parts, n=config.batch, taken=s.taken, oracle=oracle, rng=s.rng, config=how)


def _by_score(score: Acquisition) -> Callable[[Setting, int], list[int]]:
    def pick(s: Setting, n: int) -> list[int]:
        ranker = make_ranker(score, s.posterior, s.pool, s.targets, s.texts, rng=s.rng, rho=s.rho)
        ranker.condition(s.taken)
        return ranker.pick(n, s.taken)

    return pick


def _near_targets(uncertain: bool) -> Callable[[Setting, int], list[int]]:
    """The pool neighbours (W²) of n target images: the most undecided ones, or random ones."""

    def pick(s: Setting, n: int) -> list[int]:
        undecided = entropy(probit(posterior_logits(s.posterior, s.targets, s.texts)))
        order = rank(undecided) if uncertain else torch.randperm(len(s.targets), generator=s.rng)
        free = torch.ones(len(s.pool), dtype=torch.bool)
        free[s.taken] = False
        left = free.nonzero()[:, 0]
        embed = s.posterior.image.embed
        near = select_nearest(embed(s.pool[left]), embed(s.targets[order[:n]]), 1, Metric.WASSERSTEIN)
        return left[near].tolist()

    return pick


STRATEGIES: dict[Strategy, Callable[[Setting, int], list[int]]] = {
    Strategy.RANDOM: _by_score(Acquisition.RANDOM),
    Strategy.EPIG: _by_score(Acquisition.EPIG),
    Strategy.BALD: _by_score(Acquisition.BALD),
    Strategy.ENTROPY: _by_score(Acquisition.ENTROPY),
    Strategy.RANDOM_WASSERSTEIN: _near_targets(uncertain=False),
    Strategy.ENTROPY_WASSERSTEIN: _near_targets(uncertain=True),
}

ONLINE = {Strategy.EPIG: Acquisition.EPIG, Strategy.BALD: Acquisition.BALD, Strategy.ENTROPY: Acquisition.ENTROPY}
