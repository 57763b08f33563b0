"""One round's mathematics: fine-tune on the answers, refit the posterior, choose what is served, measure.

Axes: N labelled images · V validation images · T test images · C classes. No database here; rounds and simulations
both call this.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

import torch
from torch import Tensor

from core.acquisition.bald import label_information
from core.choice import MAP, POSTERIOR, Choice, choose, cross_validate, folds, judge, predict
from core.finetune import FinetuneConfig, FineTuned, Labelled, Trained, finetune, usable
from core.logits import class_covariance, posterior_logits, probit, whitened
from core.metrics import Metrics, evaluate, reliability_table
from core.posterior.curvature import kfac_b
from core.posterior.laplace import Posterior
from core.values import Features, Progress, silent

TAUS = (1e-6, 1e9)  # beyond them nothing is left of the curvature, or of the prior


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningConfig:
    """How a round learns; checked when made (ValueError). Settings read back from JSON are taken as they are."""

    finetune: FinetuneConfig = field(default_factory=FinetuneConfig)
    tau: float = 10.0  # pseudo-data count where no label can choose it
    taus: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
    bins: int = 15
    folds: int = 5  # of the answers' cross-validation; 0: none
    few: int = (
        20  # validation images; with fewer the answers are cross-validated too, and no descent is stopped by them
    )
    rho: float = 10.0  # the median label's signal-to-noise where the variance is conditioned on them

    def __post_init__(self):
        if isinstance(self.finetune, Mapping):
            object.__setattr__(self, "finetune", FinetuneConfig(**self.finetune))
        object.__setattr__(self, "taus", tuple(float(tau) for tau in self.taus))
        if not self.taus or not all(TAUS[0] <= tau <= TAUS[1] for tau in (self.tau, *self.taus)):
            raise ValueError(f"one τ or more is needed, each from {TAUS[0]:g} to {TAUS[1]:g}: {self}")
        if not 0 < self.rho < math.inf:
            raise ValueError(f"ρ must be positive: {self}")
        if self.bins < 1:
            raise ValueError(f"a reliability table needs 1 bin or more, {self.bins} came")
        if self.folds < 0 or self.few < 0:
            raise ValueError(f"folds and few must not be negative: {self}")

    @staticmethod
    def of(*, head: str = "image", tau: float | None = None) -> LearningConfig:
        """The settings that a person chooses: which head learns, and τ fixed, or None: by validation."""
        config = LearningConfig(finetune=FinetuneConfig(head=Trained(head)))
        return config if tau is None else replace(config, tau=tau, taus=(tau,))


@dataclass(frozen=True, slots=True)
class Learned:
    """The posterior after a round, at the τ of the choice, and what that serves."""

    posterior: Posterior
    choice: Choice
    steps: int

    @property
    def served(self) -> str:
        return self.choice.served


def learn(
    pretrained: Posterior,
    texts: Features,
    training: Labelled | None,
    validation: Labelled | None,
    *,
    rng: torch.Generator,
    config: LearningConfig = LearningConfig(),
    on_progress: Progress = silent,
) -> Learned:
    """Fine-tune from the pre-trained heads, refit the posterior around the new ones with the labelled images, choose τ.

    Without answers the pre-trained heads stay. Validation labels judge if they are of two classes or more. Where those
    are fewer than `few` and the answers can be cross-validated, the answers judge with them, and so few stop no
    descent. Where nothing judges, τ is `config.tau` and the posterior is served.
    """
    answers = training if training is not None and len(training) else None
    judging = usable(validation)
    parts = _parts(answers, judging, len(texts), rng, config)
    stopping = None if parts else judging

    def tune(some: Labelled, progress: Progress = silent) -> tuple[Posterior, int]:
        tuned = finetune(
            some, pretrained, texts, rng=rng, validation=stopping, config=config.finetune, on_progress=progress
        )
        return refit(pretrained, tuned, some, texts, config), tuned.steps

    posterior, steps, crossed = pretrained, 0, None
    if answers is not None:
        posterior, steps = tune(answers, on_progress)
    if answers is not None and parts:
        crossed = cross_validate(answers, parts, lambda some: tune(some)[0], texts, config.taus, on_progress)
    validated = None if judging is None else judge(posterior, judging, texts, config.taus)
    if validated is None and crossed is None:
        return Learned(posterior.with_tau(config.tau), Choice(config.tau, POSTERIOR), steps)
    choice = choose(config.taus, validated, crossed, config.bins)
    return Learned(posterior.with_tau(choice.tau), choice, steps)


def _parts(
    answers: Labelled | None, judging: Labelled | None, classes: int, rng: torch.Generator, config: LearningConfig
) -> list[Tensor]:
    """The answers' folds, where validation images are too few to judge alone."""
    if answers is None or (judging is not None and len(judging) >= config.few):
        return []
    return folds(answers.labels, classes, rng, config.folds)


def refit(
    pretrained: Posterior, tuned: FineTuned, training: Labelled, texts: Features, config: LearningConfig
) -> Posterior:
    """The pre-trained curvature around the tuned heads, with the labelled images; a head that did not learn stays.

    The text head observes, for each labelled image, its class's text against the labelled images.
    """
    posterior = pretrained
    images = training.features
    embedded, classes = images.embed(tuned.image), texts.embed(tuned.text)
    if config.finetune.image:
        head = pretrained.image.with_weight(tuned.image)
        signal = label_signal(pretrained, images, texts, config.rho)
        posterior = posterior.with_image(head.conditioned_on(images.activations, signal))
    if config.finetune.text:
        captions = texts.activations[training.labels]
        hessian = kfac_b(classes[training.labels], embedded, pretrained.scale, pretrained.bias)
        text = pretrained.text.with_weight(tuned.text).with_observations(captions, hessian)
        posterior = posterior.with_text(text)
    return posterior


def label_signal(posterior: Posterior, images: Features, texts: Features, rho: float) -> Tensor:
    """Each label's signal-to-noise κ(i, i)·ω·w_i [k] with w_i = tr(J_i S)/(C − 1), scaled to a median of ρ.

    At the predictive before learning: what the labels told then is what they took off the variance.
    """
    S = class_covariance(posterior, texts)
    probs = probit(posterior_logits(posterior, images, texts)).to(S)
    signal = whitened(posterior, images).square().sum(dim=1) * label_information(probs, S).clamp_min(0)
    informative = signal[signal > 0]
    return rho * signal / informative.median() if len(informative) else signal


def measure(
    learned: Learned, texts: Features, test: Labelled | None, config: LearningConfig = LearningConfig()
) -> dict:
    """What a round reports of its test images: both predictives' metrics and the served one's reliability.

    What is not defined is None, never made up: everything without test images, balanced accuracy with one class.
    """
    common = {"split": "test", "bins": config.bins, "served": learned.served, "tau": learned.posterior.image.tau}
    choice = learned.choice
    common |= {"chosen_by": choice.by, "chosen_on": {"validation": choice.validation, "answers": choice.answers}}
    common |= {"judged_nlpd": choice.nlpd, "judged_ece": choice.ece}
    common |= {"prior_precision": learned.posterior.image.prior_precision}
    if test is None or len(test) == 0:
        return common | {"n": 0, POSTERIOR: None, MAP: None, "reliability": []}
    probs = {kind: predict(learned.posterior, test.features, texts, kind) for kind in (POSTERIOR, MAP)}
    figures = {kind: _defined(evaluate(each, test.labels, config.bins), test) for kind, each in probs.items()}
    table = reliability_table(probs[learned.served], test.labels, config.bins)
    return common | figures | {"n": len(test), "reliability": [asdict(row) for row in table]}


def served_metrics(posterior: Posterior, texts: Features, test: Labelled, served: str, bins: int) -> Metrics:
    """Metrics of one predictive on labelled images."""
    return evaluate(predict(posterior, test.features, texts, served), test.labels, bins)


def _defined(metrics: Metrics, test: Labelled) -> dict:
    """The metrics with None for what is undefined: no number that JSON or a page could not show."""
    figures = {name: value if math.isfinite(value) else None for name, value in asdict(metrics).items()}
    return figures if len(test.labels.unique()) > 1 else figures | {"balanced_accuracy": None}
