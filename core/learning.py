"""One round's mathematics: fine-tune on the answers, refit the posterior, choose τ and what is served, measure.

Axes: N labelled images · V validation images · T test images · C classes. No database here; rounds and simulations
both call this.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import torch
from torch import Tensor

from core.finetune import FinetuneConfig, Labelled, finetune
from core.logits import map_logits, posterior_logits, probit
from core.metrics import Metrics, evaluate, nlpd, reliability_table
from core.posterior.curvature import kfac_b
from core.posterior.laplace import Posterior
from core.values import Features, Progress, silent

POSTERIOR, MAP = "posterior", "map"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningConfig:
    """How a round learns."""

    finetune: FinetuneConfig = field(default_factory=FinetuneConfig)
    tau: float = 10.0  # pseudo-data count where no validation label can choose it
    taus: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
    bins: int = 15


@dataclass(frozen=True, slots=True)
class Learned:
    """The posterior after a round; `served` names the predictive with the lower validation NLPD."""

    posterior: Posterior
    served: str
    steps: int
    validation_nlpd: dict[str, float] | None


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
    """Fine-tune the image head from the pre-trained one, add the labelled images to its curvature, choose τ.

    Without answers the pre-trained head stays; without validation labels τ is `config.tau` and the posterior is served.
    """
    posterior, steps = pretrained, 0
    judged = validation if validation is not None and len(validation) else None
    if training is not None and len(training):
        class_embeddings = texts.embed(pretrained.text.weight)
        tuned = finetune(
            training,
            pretrained.image.weight,
            class_embeddings,
            pretrained.scale,
            pretrained.bias,
            rng=rng,
            validation=judged,
            config=config.finetune,
            on_progress=on_progress,
        )
        posterior, steps = (
            pretrained.with_image(_refit(pretrained, tuned.weight, training, class_embeddings)),
            tuned.steps,
        )
    if judged is None:
        return Learned(posterior.with_tau(config.tau), POSTERIOR, steps, None)
    return _choose(posterior, texts, judged, config, steps)


def predict(posterior: Posterior, images: Features, texts: Features, served: str = POSTERIOR) -> Tensor:
    """Probabilities [N, C]: the probit predictive of the posterior, or the most probable heads taken as certain."""
    if served == MAP:
        embedded = images.embed(posterior.image.weight), texts.embed(posterior.text.weight)
        return map_logits(*embedded, posterior.scale, posterior.bias).softmax(dim=1)
    return probit(posterior_logits(posterior, images, texts))


def measure(
    learned: Learned, texts: Features, test: Labelled | None, config: LearningConfig = LearningConfig()
) -> dict:
    """What a round reports of its test images: both predictives' metrics and the served one's reliability."""
    common = {"split": "test", "bins": config.bins, "served": learned.served, "tau": learned.posterior.image.tau}
    common |= {"validation_nlpd": learned.validation_nlpd, "prior_precision": learned.posterior.image.prior_precision}
    if test is None or len(test) == 0:
        return common | {"n": 0, POSTERIOR: None, MAP: None, "reliability": []}
    probs = {kind: predict(learned.posterior, test.features, texts, kind) for kind in (POSTERIOR, MAP)}
    figures = {kind: asdict(evaluate(each, test.labels, config.bins)) for kind, each in probs.items()}
    table = reliability_table(probs[learned.served], test.labels, config.bins)
    return common | figures | {"n": len(test), "reliability": [asdict(row) for row in table]}


def served_metrics(posterior: Posterior, texts: Features, test: Labelled, served: str, bins: int) -> Metrics:
    """Metrics of one predictive on labelled images."""
    return evaluate(predict(posterior, test.features, texts, served), test.labels, bins)


def _refit(pretrained: Posterior, weight: Tensor, training: Labelled, class_embeddings: Tensor):
    """The pre-trained curvature around the new head, with every labelled image observed against the class texts."""
    embeddings = training.features.embed(weight)
    hessian = kfac_b(embeddings, class_embeddings, pretrained.scale, pretrained.bias)
    return pretrained.image.with_weight(weight).with_observations(training.features.activations, hessian)


def _choose(posterior: Posterior, texts: Features, validation: Labelled, config: LearningConfig, steps: int) -> Learned:
    """τ by validation NLPD, and whether the posterior or the plain heads are served by the same measure."""
    candidates = [posterior.with_tau(tau) for tau in config.taus]
    losses = [nlpd(predict(each, validation.features, texts), validation.labels).value for each in candidates]
    best = min(range(len(losses)), key=losses.__getitem__)
    plain = nlpd(predict(posterior, validation.features, texts, MAP), validation.labels).value
    served = POSTERIOR if losses[best] <= plain else MAP
    return Learned(candidates[best], served, steps, {POSTERIOR: losses[best], MAP: plain})
