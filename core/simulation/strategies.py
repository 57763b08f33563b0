"""The strategies that can be compared: how each chooses what to ask next, what it is, and when to use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize

from core.acquisition.compare import Question, score_pool
from core.acquisition.table import SCORES, Acquisition
from core.batches import rank
from core.errors import UnknownName
from core.kernel import predictive
from core.posterior.laplace import Posterior
from core.ranking import Batch, make_ranker, outside, take_batch
from core.simulation import clustering
from core.targeting import Metric, select_nearest
from core.values import Features

DRAWS = 512  # of the heads, for the scores by draws: their noise floor is on the Scores page


@dataclass(frozen=True, slots=True)
class Setting:
    """What a strategy may see: features and a posterior; no label is in it."""

    posterior: Posterior
    features: Features  # of the pool [N, p]
    targets: Features  # [M, p]
    texts: Features
    taken: list[int]  # pool positions answered so far
    rng: torch.Generator
    rho: float


Pick = Callable[[Setting, int], list[int]]


@dataclass(frozen=True, slots=True)
class Strategy:
    """How a batch is chosen."""

    name: str
    title: str
    what: str
    when: str
    pick: Pick


def strategy(name: str) -> Strategy:
    """The strategy of this name. Raises UnknownName, with the names there are."""
    if name not in STRATEGIES:
        raise UnknownName(f"there is no strategy {name!r}; there are {', '.join(STRATEGIES)}")
    return STRATEGIES[name]


def _by_score(score: Acquisition, batch: Batch = Batch.GREEDY, narrowed: Metric | None = None) -> Pick:
    """The best of the pool by a score; each pick conditions the next where the score can be conditioned."""

    def pick(s: Setting, n: int) -> list[int]:
        left_out = outside(s.posterior, s.features, s.targets, narrowed)
        ranker = make_ranker(score, s.posterior, s.features, s.targets, s.texts, rng=s.rng, rho=s.rho)
        ranker.condition(s.taken)
        picks = take_batch(batch, ranker, s, n, rng=s.rng, exclude=[*s.taken, *left_out])
        if len(picks) < n and left_out:  # the targets' neighbours are used up
            chosen = [pick.position for pick in picks]
            picks += take_batch(batch, ranker, s, n - len(picks), rng=s.rng, exclude=[*s.taken, *chosen])
        return [pick.position for pick in picks]

    return pick


def _by_draws(score: Acquisition) -> Pick:
    """The best of the pool by a Monte Carlo score, all from one look: draws cannot be conditioned."""

    def pick(s: Setting, n: int) -> list[int]:
        free = _free(s)
        if not len(free):
            return []
        question = Question(s.posterior, s.features[free], s.targets, s.texts, s.rng, K=DRAWS)
        return free[rank(score_pool(score, question))[:n]].tolist()

    return pick


def _near_targets(order: Acquisition, metric: Metric) -> Pick:
    """The pool neighbours of the n targets that a score puts first, each once (the paper's targeted selection)."""

    def pick(s: Setting, n: int) -> list[int]:
        wanted = score_pool(order, Question(s.posterior, s.targets, s.targets, s.texts, s.rng))
        free, embed = _free(s), s.posterior.image.embed
        if not len(free):
            return []
        first = s.targets[rank(wanted)[:n]]
        near = select_nearest(embed(s.features[free]), embed(first), -(-n // len(first)), metric)
        return free[near].tolist()[:n]

    return pick


def _badge(s: Setting, n: int) -> list[int]:
    return clustering.badge(_embedded(s), predictive(s.posterior, s.features, s.texts), n, s.taken, s.rng)


def _embedded(s: Setting) -> Tensor:
    return normalize(s.features.embed(s.posterior.image.weight), dim=1)


def _free(s: Setting) -> Tensor:
    free = torch.ones(len(s.features), dtype=torch.bool)
    free[s.taken] = False
    return free.nonzero()[:, 0]


def _score(score: Acquisition, when: str) -> Strategy:
    about = SCORES[score]
    pick = _by_draws(score) if about.sampled else _by_score(score)
    return Strategy(str(score), about.title, f"the highest score: {about.meaning}", when, pick)


def _targeted(order: Acquisition, metric: Metric) -> Strategy:
    distance = {Metric.COSINE: "expected cosine", Metric.WASSERSTEIN: "2-Wasserstein distance"}[metric]
    which = (
        "random target images"
        if order is Acquisition.RANDOM
        else f"the target images of the highest {SCORES[order].title}"
    )
    return Strategy(
        f"{order}-{metric}",
        f"{SCORES[order].title} targets → {'cosine' if metric is Metric.COSINE else 'W²'}",
        f"the pool's nearest to {which}, by {distance}",
        _TARGETED[order],
        _near_targets(order, metric),
    )


_TARGETED = {
    Acquisition.RANDOM: "to see what knowing the target is worth, without any score",
    Acquisition.ENTROPY: "the paper's targeted selection, and the usual simple baseline",
    Acquisition.MARGIN: "the same with many classes of which two compete",
    Acquisition.VARIANCE: "the same for targets that lie far from the pre-training",
    Acquisition.BALD: "the same for targets whose labels would teach the model most",
}
_EVERY = (
    Strategy(
        "random",
        "Random",
        "drawn by chance",
        "always: what the others are measured against",
        _by_score(Acquisition.RANDOM),
    ),
    *(_targeted(order, metric) for metric in (Metric.WASSERSTEIN, Metric.COSINE) for order in _TARGETED),
    _score(Acquisition.ENTROPY, "pool and target alike; likes ambiguous images that no answer makes clearer"),
    _score(Acquisition.MARGIN, "as entropy, with many classes of which two compete"),
    _score(Acquisition.LEAST_CONFIDENCE, "as entropy, the simplest form"),
    _score(Acquisition.VARIANCE, "finds what lies far from the pre-training, whatever the classes"),
    _score(Acquisition.BALD, "pool and target alike; learns the model, not the target"),
    _score(Acquisition.BALD_SATURATING, "as BALD, where the logits' variance is large"),
    _score(Acquisition.BALD_DRAWS, "to check the closed form"),
    _score(Acquisition.EPIG, "a target domain, few labels: the usual choice"),
    _score(Acquisition.EPIG_DRAWS, "to check the closed form"),
    Strategy(
        "epig-narrowed",
        "EPIG, W² narrowed",
        "EPIG among the targets' 50 nearest pool images each, by 2-Wasserstein distance",
        "a pool of which most has nothing to do with the target",
        _by_score(Acquisition.EPIG, narrowed=Metric.WASSERSTEIN),
    ),
    Strategy(
        "bald-narrowed",
        "BALD, W² narrowed",
        "BALD among the targets' 50 nearest pool images each, by 2-Wasserstein distance",
        "BALD with a target domain",
        _by_score(Acquisition.BALD, narrowed=Metric.WASSERSTEIN),
    ),
    Strategy(
        "epig-power",
        "EPIG, power",
        "drawn with weights EPIG: likely the best, never only the best (Kirsch et al. 2021)",
        "big batches that nothing conditions",
        _by_score(Acquisition.EPIG, Batch.POWER),
    ),
    Strategy(
        "epig-quota",
        "EPIG, class quota",
        "EPIG with at most ⌈n/C⌉ images of one likeliest class in a batch",
        "classes that must not be missed",
        _by_score(Acquisition.EPIG, Batch.QUOTA),
    ),
    Strategy(
        "badge",
        "BADGE",
        "k-means++ on the gradients that the likeliest class would give (Ash et al. 2020)",
        "pool and target alike, big batches",
        _badge,
    ),
    Strategy(
        "typiclust",
        "TypiClust",
        "the most typical image of each of the largest clusters without an answer (Hacohen et al. 2022)",
        "the very first labels, pool and target alike",
        lambda s, n: clustering.typiclust(_embedded(s), n, s.taken, s.rng),
    ),
    Strategy(
        "coreset",
        "Core-set",
        "each image the farthest from all that are answered (Sener & Savarese 2018)",
        "to cover the pool; likes outliers",
        lambda s, n: clustering.coreset(_embedded(s), n, s.taken, s.rng),
    ),
)
STRATEGIES: dict[str, Strategy] = {each.name: each for each in _EVERY}
