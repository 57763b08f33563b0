"""The paper's online protocol against the obvious loop."""

import torch
from torch.nn.functional import cross_entropy, normalize
from torch.testing import assert_close

from core.acquisition.table import Acquisition
from core.finetune import FinetuneConfig
from core.online import online_batch
from core.ranking import make_ranker
from tests.small import P_TEXT, generator, random_features, random_posterior

POOL, TARGETS, TEXTS = random_features(30), random_features(8, seed=2), random_features(3, P_TEXT, seed=5)
LABELS = torch.randint(3, (30,), generator=generator(7)).tolist()


def batch(oracle=LABELS.__getitem__, n=4, taken=(3, 5)):
    posterior = random_posterior()
    parts, how = (posterior, POOL, TARGETS, TEXTS), FinetuneConfig()
    return online_batch(Acquisition.EPIG, *parts, n=n, taken=taken, oracle=oracle, rng=generator(), config=how)


def test_the_first_pick_is_epigs_own_and_the_second_follows_one_step_of_adamw():
    posterior, config = random_posterior(), FinetuneConfig()
    first = make_ranker(Acquisition.EPIG, posterior, POOL, TARGETS, TEXTS, rng=generator()).pick(1, [3, 5])
    weight = posterior.image.weight.clone().requires_grad_(True)
    optimizer = torch.optim.AdamW([weight], lr=config.learning_rate, weight_decay=config.weight_decay)
    texts = normalize(TEXTS.activations @ posterior.text.weight.T, dim=1)
    cosines = normalize(POOL.activations[first] @ weight.T, dim=1) @ texts.T
    cross_entropy(8.0 * cosines - 2.0, torch.tensor([LABELS[first[0]]])).backward()
    optimizer.step()
    moved = posterior.with_image(posterior.image.with_weight(weight.detach(), posterior.image.prior_precision))
    second = make_ranker(Acquisition.EPIG, moved, POOL, TARGETS, TEXTS, rng=generator()).pick(1, [3, 5, *first])
    assert batch(n=2) == first + second


def test_the_oracle_is_asked_for_the_picks_and_for_no_other_image():
    asked = []

    def oracle(position):
        asked.append(position)
        return LABELS[position]

    picked = batch(oracle)
    assert asked == picked
    assert len(set(picked)) == 4
    assert not {3, 5} & set(picked)


def test_the_callers_posterior_is_not_changed_and_a_used_up_pool_ends_the_batch():
    posterior = random_posterior()
    before = posterior.image.weight.clone()
    batch()
    assert_close(posterior.image.weight, before, atol=0, rtol=0)
    assert sorted(batch(n=100, taken=())) == list(range(30))
