"""Entropy of probabilities."""

import math

import torch
from torch.testing import assert_close

from core.acquisition.entropy import entropy
from tests.small import reference


def test_uniform_is_the_logarithm_of_the_classes():
    assert_close(entropy(torch.full((2, 3, 5), 0.2)), torch.full((2, 3), math.log(5)))


def test_certainty_is_zero_and_finite():
    assert torch.equal(entropy(torch.eye(4)), torch.zeros(4))


def test_marginal_entropy_is_the_published_one():
    data = reference("acquisition")
    assert_close(entropy(data["probs_pool"].mean(dim=1)), data["marginal_entropy"], atol=1e-8, rtol=0)
