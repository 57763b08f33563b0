"""The plain scores against their definitions."""

import torch
from torch.testing import assert_close

from core.acquisition.baselines import least_confidence, logit_variance, margin, random
from tests.small import generator, normal

PROBS = torch.tensor([[0.5, 0.3, 0.2], [0.9, 0.05, 0.05], [1 / 3, 1 / 3, 1 / 3], [0.0, 1.0, 0.0]])


def test_least_confidence_and_margin_by_hand():
    assert_close(least_confidence(PROBS), torch.tensor([0.5, 0.1, 2 / 3, 0.0]))
    assert_close(margin(PROBS), torch.tensor([0.8, 0.15, 1.0, 0.0]))


def test_variance_is_the_mean_over_the_classes():
    variance = normal(4, 3, rng=generator()).square()
    assert_close(logit_variance(variance), torch.stack([row.sum() / 3 for row in variance]))


def test_random_is_the_same_for_the_same_seed_and_has_no_preference():
    one, other = (random(10_000, generator(5)) for _ in range(2))
    assert torch.equal(one, other)
    assert abs(float(one.mean()) - 0.5) < 0.02
