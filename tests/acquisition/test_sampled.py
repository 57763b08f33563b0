"""Monte Carlo scores in chunks, and what their noise floor says."""

import math

import pytest
import torch
from torch.testing import assert_close

from core.acquisition import sampled as module
from core.acquisition.bald import bald_monte_carlo
from core.acquisition.epig import epig_halves, epig_monte_carlo
from core.acquisition.sampled import Sampled, bald_scores, epig_scores, sampled_bald, sampled_epig
from core.draws import HeadDraws, draw_heads
from core.values import Features
from tests.small import P_TEXT, generator, random_features, random_posterior

POOL, TARGETS, TEXTS = random_features(7), random_features(4, seed=9), random_features(3, P_TEXT, seed=2)


def drawn(K: int, seed: int = 1, **posterior) -> HeadDraws:
    return draw_heads(random_posterior(**posterior), TEXTS, K, generator(seed))


def test_they_are_the_plain_estimates_of_the_same_draws(monkeypatch):
    draws = drawn(51)
    pool, targets = draws.probabilities(POOL), draws.probabilities(TARGETS)
    for held in (10**9, 2 * 51 * 3):  # all at once, and two images at a time
        monkeypatch.setattr(module, "HELD", held)
        assert_close(sampled_bald(draws, POOL).scores, bald_monte_carlo(pool))
        assert_close(sampled_epig(draws, POOL, TARGETS).scores, epig_monte_carlo(pool, targets))
        assert_close(bald_scores(draws, POOL), sampled_bald(draws, POOL).scores, atol=0, rtol=0)
        assert_close(epig_scores(draws, POOL, TARGETS), sampled_epig(draws, POOL, TARGETS).scores)


def test_halves_are_the_estimates_of_each_half():
    draws = drawn(20)
    pool, targets = draws.probabilities(POOL), draws.probabilities(TARGETS)
    slow = [epig_monte_carlo(pool[:, rows], targets[:, rows]) for rows in (slice(20), slice(10), slice(10, 20))]
    assert_close(epig_halves(pool, targets), torch.stack(slow))


@pytest.mark.parametrize("scale", [0.3, 3.0, 60.0])
def test_bald_and_epig_lie_between_zero_and_the_logarithm_of_the_classes(scale):
    draws = drawn(400, scale=scale, tau=0.5)
    for found in (sampled_bald(draws, POOL), sampled_epig(draws, POOL, TARGETS)):
        assert (found.scores >= 0).all()
        assert (found.scores <= math.log(3)).all()


def test_the_floor_is_what_unrelated_draws_would_score():
    """Targets paired with other draws tell nothing, so that their score is all bias: what the halves say it is."""
    draws = drawn(200, scale=2.0)
    pool, targets = draws.probabilities(POOL), draws.probabilities(TARGETS)
    unrelated = float(epig_monte_carlo(pool, targets.roll(100, dims=1)).mean())
    many = [sampled_epig(drawn(200, seed, scale=2.0), POOL, TARGETS).bias for seed in range(30)]
    assert sum(many) / 30 == pytest.approx(unrelated, rel=0.35)


def test_the_noise_is_the_spread_over_seeds():
    many = [sampled_bald(drawn(200, seed, scale=2.0), POOL) for seed in range(40)]
    spread = torch.stack([each.scores for each in many]).var(dim=0).mean().sqrt()
    claimed = torch.tensor([each.noise for each in many], dtype=torch.float64).square().mean().sqrt()
    assert_close(claimed, spread, atol=0, rtol=0.25)


def test_broken_features_spoil_their_own_score_only():
    pool, targets = POOL.activations.clone(), TARGETS.activations.clone()
    pool[2], targets[1] = float("nan"), float("inf")
    found = sampled_epig(drawn(50), Features(pool), Features(targets))
    assert found.scores.isfinite().tolist() == [True, True, False, True, True, True, True]
    assert epig_scores(drawn(50), Features(pool), Features(targets)).isfinite().equal(found.scores.isfinite())
    assert math.isfinite(found.bias)
    assert math.isfinite(found.noise)
    nothing = Sampled.of(torch.full((3, 2), float("nan")))
    assert math.isnan(nothing.noise)
