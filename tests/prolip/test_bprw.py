"""Prompt weights against the published values, a grid search, and what must not pass unseen."""

import itertools

import pytest
import torch
from torch.distributions import Dirichlet, Independent, Normal
from torch.testing import assert_close

from core.errors import InputError
from core.prolip.bprw import BprwConfig, Start, bprw, draw, log_densities, mixture_weights
from core.prolip.prompts import PromptMethod, equal_weights
from core.values import ProlipEmbeddings
from tests.prolip.gaussians import published, random_gaussians
from tests.small import generator, normal

EQUAL = equal_weights(("dog", "cat", "fox"), ("a {class}", "the {class}", "{class}s", "some {class}"))


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("weights_a2_uniform", BprwConfig(concentration=2, start=Start.UNIFORM, added_variance=0)),
        ("weights_a5_inverse", BprwConfig(concentration=5, start=Start.INVERSE, added_variance=0.02)),
    ],
)
def test_weights_are_the_published_ones(name, config):
    values = published("bprw")
    prompts = ProlipEmbeddings(values["prompt_means"], values["prompt_variances"].log())
    mixture = mixture_weights(values["observations"], prompts, config)
    assert_close(mixture.weights.float(), values[name], atol=1e-5, rtol=0)


def test_densities_are_those_of_the_gaussians():
    prompts, observations = random_gaussians(4), normal(6, 7, rng=generator(3))
    by_prompt = [Independent(Normal(m, v.sqrt()), 1) for m, v in zip(prompts.mean, prompts.variance, strict=True)]
    expected = torch.stack([each.log_prob(observations) for each in by_prompt], dim=1)
    assert_close(log_densities(observations, prompts.mean, prompts.variance), expected)


def test_weights_are_the_most_probable_of_a_fine_grid_whatever_the_start():
    prompts, observations = random_gaussians(3, 2, level=-1.0), normal(9, 2, rng=generator(4))
    prior = Dirichlet(torch.full((3,), 3.0, dtype=torch.float64))
    densities = log_densities(observations, prompts.mean, prompts.variance)

    def log_posterior(weights):
        return torch.logsumexp(densities + weights.log(), dim=1).sum() + prior.log_prob(weights)

    grid = [(a / 100, b / 100) for a, b in itertools.product(range(1, 100), repeat=2) if a + b < 100]
    points = [torch.tensor([a, b, 1 - a - b], dtype=torch.float64) for a, b in grid]
    best = max(points, key=lambda point: float(log_posterior(point)))
    for start in Start:
        config = BprwConfig(concentration=3, start=start, added_variance=0)
        weights = mixture_weights(observations, prompts, config).weights
        assert float(log_posterior(weights)) >= float(log_posterior(best))
        assert_close(weights, best, atol=0.015, rtol=0)


def test_a_class_is_weighed_by_its_own_images_and_the_rest_stay_equal():
    prompts = random_gaussians(12, level=-3.0)
    images = ProlipEmbeddings(prompts.mean[[1, 1, 1, 10]], prompts.log_variance[[1, 1, 1, 10]] - 2)
    weights = bprw(images, torch.tensor([0, 0, 0, -1]), prompts, EQUAL, rng=generator(0))
    assert weights.method is PromptMethod.BPRW
    assert int(weights.weights[0].argmax()) == 1
    assert float(weights.weights[0, 1]) > 0.5
    assert_close(weights.weights[1:], EQUAL.weights[1:])


def test_the_same_seed_gives_the_same_weights_and_another_gives_others():
    prompts, images, labels = random_gaussians(12), random_gaussians(6, seed=1), torch.tensor([0, 1, 2, 0, 1, 2])
    first, again, other = (bprw(images, labels, prompts, EQUAL, rng=generator(seed)).weights for seed in (5, 5, 6))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_draws_have_the_gaussians_moments():
    images = random_gaussians(2)
    points = draw(images, 40_000, generator(1)).view(40_000, 2, 7)
    assert_close(points.mean(dim=0), images.mean, atol=0.02, rtol=0)
    assert_close(points.var(dim=0), images.variance, atol=0, rtol=0.05)


def test_one_prompt_takes_all_and_equal_prompts_share():
    one, observations = random_gaussians(1), normal(3, 7, rng=generator(0))
    assert_close(mixture_weights(observations, one).weights, torch.ones(1, dtype=torch.float64))
    same = mixture_weights(observations, one[[0, 0, 0, 0]]).weights
    assert_close(same, torch.full((4,), 0.25, dtype=torch.float64))


def test_unsettled_weights_are_an_error_that_says_what_to_do():
    prompts, observations = random_gaussians(4), normal(5, 7, rng=generator(0))
    with pytest.raises(InputError, match=r"not settled after 2 steps .*raise the concentration"):
        mixture_weights(observations, prompts, BprwConfig(max_steps=2))


def test_nothing_to_weigh_and_broken_numbers_are_refused():
    prompts, observations = random_gaussians(3), normal(5, 7, rng=generator(0))
    with pytest.raises(InputError, match="3 prompts and 0 observations"):
        mixture_weights(observations[:0], prompts)
    with pytest.raises(InputError, match="0 prompts and 5"):
        mixture_weights(observations, prompts[:0])
    broken = ProlipEmbeddings(prompts.mean * torch.nan, prompts.log_variance)
    flat = ProlipEmbeddings(prompts.mean, torch.full_like(prompts.mean, -torch.inf))
    for each in (broken, flat):
        with pytest.raises(InputError, match="not finite"):
            mixture_weights(observations, each, BprwConfig(added_variance=0))


def test_images_without_any_answer_and_prompts_of_another_project_are_refused():
    images = random_gaussians(2)
    with pytest.raises(InputError, match="no image has an answer"):
        bprw(images, torch.tensor([-1, -1]), random_gaussians(12), EQUAL, rng=generator())
    with pytest.raises(InputError, match="11 prompts do not fit 3 classes with 4"):
        bprw(images, torch.tensor([0, 1]), random_gaussians(11), EQUAL, rng=generator())


@pytest.mark.parametrize(
    "wrong", [{"concentration": 0.5}, {"concentration": float("nan")}, {"added_variance": -1.0}, {"draws": 0}]
)
def test_settings_are_checked(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        BprwConfig(**wrong)
