"""The paper's own protocol, for simulations only: after each pick the oracle answers and the head takes one step.

Nothing conditions the scores here: the changed head alone tells the next pick what was learnt. A labelling team cannot
work so, as every image would wait for the answer to the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.nn.functional import cross_entropy

from core.acquisition.table import Acquisition
from core.finetune import FinetuneConfig
from core.logits import map_logits
from core.posterior.laplace import Posterior
from core.ranking import make_ranker
from core.values import Features


def online_batch(
    score: Acquisition,
    posterior: Posterior,
    pool: Features,
    targets: Features,
    texts: Features,
    *,
    n: int,
    taken: Sequence[int],
    oracle: Callable[[int], int],
    rng: torch.Generator,
    config: FinetuneConfig,
) -> list[int]:
    """n pool positions outside `taken`, one after the other; `oracle(position)` is asked for each pick and no other.

    One AdamW step on the image head [D, p] with the pick's cross-entropy between picks; fewer come when the pool ends.
    """
    weight = posterior.image.weight.clone().requires_grad_(True)
    optimizer = torch.optim.AdamW([weight], lr=config.learning_rate, weight_decay=config.weight_decay)
    class_embeddings = texts.embed(posterior.text.weight)
    picked: list[int] = []
    while len(picked) < n:
        current = posterior.with_image(posterior.image.with_weight(weight.detach(), posterior.image.prior_precision))
        best = make_ranker(score, current, pool, targets, texts, rng=rng).pick(1, [*taken, *picked])
        if not best:
            break
        picked += best
        logits = map_logits(pool[best].embed(weight), class_embeddings, posterior.scale, posterior.bias)
        optimizer.zero_grad()
        cross_entropy(logits, torch.tensor([oracle(best[0])])).backward()
        optimizer.step()
    return picked
