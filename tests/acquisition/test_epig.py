"""EPIG: published values, the trace identity, and the closed form against joint draws."""

import torch
from torch.testing import assert_close

from core.acquisition import epig as module
from core.acquisition.entropy import entropy
from core.acquisition.epig import epig, epig_monte_carlo, pair_information
from core.logits import class_covariance, joint_draws, posterior_logits, probit, whitened
from core.values import Features
from tests.small import P_TEXT, generator, normal, positive_definite, random_features, random_posterior, reference


def test_monte_carlo_is_the_published_one():
    data = reference("acquisition")
    ours = epig_monte_carlo(data["probs_pool"], data["probs_target"])
    # Float64 inputs, but the published joint is accumulated in float32: rounding of about 1e-7 nats, not of 1e-8.
    assert_close(ours, data["epig"], atol=3e-7, rtol=0)


def test_monte_carlo_is_the_mutual_information_pair_by_pair():
    rng = generator()
    pool, targets = normal(3, 9, 4, rng=rng).softmax(dim=2), normal(2, 9, 4, rng=rng).softmax(dim=2)
    for x, score in zip(pool, epig_monte_carlo(pool, targets), strict=True):
        slow = []
        for y in targets:
            joint = sum(torch.outer(a, b) for a, b in zip(x, y, strict=True)) / 9
            slow.append((joint * (joint / torch.outer(joint.sum(1), joint.sum(0))).log()).sum())
        assert_close(score, torch.stack(slow).mean())


def test_portions_do_not_change_monte_carlo(monkeypatch):
    probs = normal(7, 5, 3, rng=generator()).softmax(dim=2)
    whole = epig_monte_carlo(probs, probs[:2])
    monkeypatch.setattr(module, "JOINT_AT_ONCE", 2 * 9 * 3)
    assert_close(epig_monte_carlo(probs, probs[:2]), whole)


def test_an_image_as_its_own_target_stays_below_its_entropy():
    probs = (2 * normal(6, 30, 3, rng=generator())).softmax(dim=2)
    for row in probs.split(1):
        assert 0 <= epig_monte_carlo(row, row) <= entropy(row.mean(dim=1))


def test_pair_information_is_the_trace():
    rng = generator()
    pool, targets = normal(5, 4, rng=rng).softmax(dim=1), normal(3, 4, rng=rng).softmax(dim=1)
    S = positive_definite(4, rng)

    spread = [[p.diag() - torch.outer(p, p) for p in side] for side in (pool, targets)]
    slow = torch.stack([torch.stack([torch.trace(x @ S @ y @ S) for y in spread[1]]) for x in spread[0]])
    assert_close(pair_information(pool, targets, S), slow)


def test_pair_information_is_never_negative_in_float32():
    S = 1e4 * torch.ones(3, 3)
    probs = torch.cat([torch.eye(3), torch.full((2, 3), 1 / 3)])
    assert (pair_information(probs, probs, S) >= 0).all()


def ratio_to_draws(tau: float) -> torch.Tensor:
    posterior = random_posterior(tau=tau, scale=1.0)
    pool, texts = random_features(3), random_features(3, P_TEXT, seed=2)
    rows = whitened(posterior, pool)
    probs = probit(posterior_logits(posterior, pool, texts))
    closed = epig(rows @ rows[:2].T, probs, probs[:2], class_covariance(posterior, texts))
    draws = joint_draws(posterior, Features.cat([pool, pool[:2]]), texts, 300_000, generator(5))
    return closed / epig_monte_carlo(draws[:3], draws[3:])


def test_closed_form_meets_joint_draws_as_the_covariance_shrinks():
    wide, narrow = ratio_to_draws(tau=1.0), ratio_to_draws(tau=100.0)
    assert (narrow - 1).abs().max() < 0.05
    assert (wide - 1).abs().mean() > (narrow - 1).abs().mean()
