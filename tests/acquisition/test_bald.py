"""BALD: published values, bounds, and the closed form against draws."""

import torch
from torch.testing import assert_close

from core.acquisition.bald import bald, bald_monte_carlo, bald_saturating, label_information, squared_information
from core.acquisition.entropy import entropy
from core.logits import class_covariance, joint_draws, posterior_logits, probit, whitened
from tests.small import P_TEXT, generator, normal, positive_definite, random_features, random_posterior, reference


def test_monte_carlo_is_the_published_one():
    data = reference("acquisition")
    assert_close(bald_monte_carlo(data["probs_pool"]), data["bald"], atol=1e-8, rtol=0)


def test_between_zero_and_the_entropy():
    probs = (3 * normal(20, 15, 4, rng=generator())).softmax(dim=2)
    scores = bald_monte_carlo(probs)
    assert (scores >= 0).all()
    assert (scores <= entropy(probs.mean(dim=1))).all()


def test_draws_that_agree_tell_nothing():
    probs = normal(5, 1, 3, rng=generator()).softmax(dim=2).expand(5, 8, 3)
    assert bald_monte_carlo(probs).abs().max() < 1e-12


def test_label_information_is_the_trace():
    rng = generator()
    probs, S = normal(6, 4, rng=rng).softmax(dim=1), positive_definite(4, rng)
    slow = [torch.trace((p.diag() - torch.outer(p, p)) @ S) for p in probs]
    assert_close(label_information(probs, S), torch.stack(slow))


def test_closed_form_is_never_negative():
    S = torch.ones(3, 3)  # classes that move together: no information at all
    assert torch.equal(bald(torch.ones(3), torch.eye(3), S), torch.zeros(3))
    uniform = torch.full((1, 3), 1 / 3)
    assert 0 <= bald(torch.ones(1), uniform, S) < 1e-6


def ratio_to_draws(tau: float) -> torch.Tensor:
    posterior = random_posterior(tau=tau, scale=2.0)
    pool, texts = random_features(6), random_features(3, P_TEXT, seed=2)
    closed = bald(
        whitened(posterior, pool).square().sum(dim=1),
        probit(posterior_logits(posterior, pool, texts)),
        class_covariance(posterior, texts),
    )
    return closed / bald_monte_carlo(joint_draws(posterior, pool, texts, 40_000, generator(5)))


def test_closed_form_meets_draws_as_the_covariance_shrinks():
    wide, narrow = ratio_to_draws(tau=3.0), ratio_to_draws(tau=3000.0)
    assert (narrow - 1).abs().max() < 0.03
    assert (wide - 1).abs().mean() > (narrow - 1).abs().mean()


def test_squared_information_is_the_trace():
    rng = generator()
    probs, S = normal(6, 4, rng=rng).softmax(dim=1), positive_definite(4, rng)
    slow = [torch.trace((p.diag() - torch.outer(p, p)) @ S @ (p.diag() - torch.outer(p, p)) @ S) for p in probs]
    assert_close(squared_information(probs, S), torch.stack(slow))


def test_saturating_has_the_determinants_first_two_terms():
    """½ log|I + κJS| = ½ κ tr(JS) − ¼ κ² tr(JSJS) + …: the difference falls as κ³."""
    rng = generator()
    probs, S = normal(6, 4, rng=rng).softmax(dim=1), positive_definite(4, rng)
    J = torch.stack([p.diag() - torch.outer(p, p) for p in probs])

    def difference(kappa: float) -> torch.Tensor:
        exact = torch.logdet(torch.eye(4, dtype=torch.float64) + kappa * J @ S) / 2
        return (bald_saturating(torch.full((6,), kappa, dtype=torch.float64), probs, S) - exact).abs()

    assert (difference(0.01) < 1.3e-3 * difference(0.1)).all()
    assert difference(0.1).max() < 1e-3


def test_saturating_is_never_above_the_plain_form_and_never_negative():
    rng = generator()
    probs, S, kappa = normal(50, 4, rng=rng).softmax(dim=1), positive_definite(4, rng), normal(50, rng=rng).exp()
    saturating, plain = bald_saturating(kappa, probs, S), bald(kappa, probs, S)
    assert ((saturating >= 0) & (saturating <= plain)).all()
    certain = bald_saturating(torch.ones(3), torch.eye(3), torch.ones(3, 3))
    assert torch.equal(certain, torch.zeros(3))
