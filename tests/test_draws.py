"""Joint draws of the heads have the analytic covariance, and no chunk, set or number of them changes a draw."""

import pytest
import torch
from torch.testing import assert_close

from core import draws as module
from core.draws import HeadDraws, draw_heads, square_root
from core.logits import class_covariance, expected_energy, joint_draws, posterior_logits, whitened
from core.values import Features
from tests.small import P_TEXT, generator, normal, positive_definite, random_features, random_posterior

IMAGES, TEXTS = random_features(5, residuals=True), random_features(3, P_TEXT, seed=2)


def drawn(K: int, with_text: bool = False, seed: int = 7, **posterior) -> HeadDraws:
    return draw_heads(random_posterior(**posterior), TEXTS, K, generator(seed), with_text=with_text)


def all_logits(draws: HeadDraws, images: Features = IMAGES) -> torch.Tensor:
    return torch.cat(list(draws.logits(images)), dim=1)


@pytest.mark.parametrize("with_text", [False, True])
def test_chunks_of_images_and_of_draws_change_nothing(monkeypatch, with_text):
    draws = drawn(11, with_text)
    whole = draws.probabilities(IMAGES)
    parts = torch.cat([draws.probabilities(IMAGES[rows]) for rows in ([0], [1, 2], [3, 4])])
    assert_close(parts, whole, atol=1e-12, rtol=0)
    monkeypatch.setattr(module, "DRAWS_AT_ONCE", 40)  # two draws a block
    assert_close(draws.probabilities(IMAGES), whole, atol=1e-12, rtol=0)


@pytest.mark.parametrize("with_text", [False, True])
def test_fewer_draws_are_the_first_ones(with_text):
    few, many = (
        HeadDraws(random_posterior(), TEXTS, 3, 5, with_text),
        HeadDraws(random_posterior(), TEXTS, 8, 5, with_text),
    )
    assert_close(many.probabilities(IMAGES)[:, :3], few.probabilities(IMAGES), atol=1e-12, rtol=0)


def test_the_seed_decides():
    one, other, third = (drawn(4, seed=seed).probabilities(IMAGES) for seed in (1, 1, 2))
    assert torch.equal(one, other)
    assert not torch.equal(one, third)


def test_the_text_heads_draws_are_not_the_image_heads():
    assert module.TEXT_SEEDS < 1 << 32, "a generator reads 32 bits"
    numbers = [torch.randn(4, generator=torch.Generator().manual_seed(5 + more)) for more in (0, module.TEXT_SEEDS)]
    assert not torch.equal(*numbers)


def test_the_covariance_of_10000_draws_is_within_5_percent_of_the_analytic():
    """Of all images and classes at once: as a matrix, every variance, and every correlation."""
    draws = drawn(10_000)
    logits = all_logits(draws).transpose(0, 1).flatten(1)  # [K, N·C]
    rows, S = whitened(draws.posterior, IMAGES), class_covariance(draws.posterior, TEXTS)
    expected = torch.kron(rows @ rows.T, S)
    sampled = torch.cov(logits.T)
    assert (sampled - expected).norm() < 0.05 * expected.norm()
    assert (sampled.diagonal() / expected.diagonal() - 1).abs().max() < 0.05
    spread = expected.diagonal().sqrt()
    assert ((sampled - expected).abs() < 0.05 * torch.outer(spread, spread)).all()
    mean = posterior_logits(draws.posterior, IMAGES, TEXTS).mean.flatten()
    assert ((logits.mean(dim=0) - mean).abs() < 5 * spread / 100).all()


def test_draws_know_what_the_posterior_was_conditioned_on():
    """The variance of the drawn logits is that of the conditioned head's embeddings, far below the bare one's."""
    bare = random_posterior()
    seen = bare.with_image(bare.image.conditioned_on(IMAGES.activations[:3], torch.full((3,), 10.0)))
    S = class_covariance(seen, TEXTS).diagonal()
    drawn_of = {name: all_logits(HeadDraws(each, TEXTS, 10_000, 5)).var(dim=1) for name, each in
                (("bare", bare), ("seen", seen))}  # fmt: skip
    images = seen.image.embed(IMAGES)
    kappa = images.variance.sum(dim=1) / seen.image.B_inverse.diagonal().sum() / expected_energy(images)
    assert_close(drawn_of["seen"], kappa[:, None] * S, atol=0, rtol=0.06)
    assert (drawn_of["seen"][:3] < drawn_of["bare"][:3] / 5).all()


def test_they_are_distributed_as_the_draws_of_one_set():
    posterior = random_posterior(scale=3.0)
    one = joint_draws(posterior, IMAGES, TEXTS, 20_000, generator(1))
    other = draw_heads(posterior, TEXTS, 20_000, generator(2)).probabilities(IMAGES)
    assert_close(one.mean(dim=1), other.mean(dim=1), atol=0.01, rtol=0)
    assert_close(one.var(dim=1), other.var(dim=1), atol=0.01, rtol=0)


def test_with_the_text_head_mean_and_variance_are_those_of_both_heads_drawn_whole():
    """f = s·(P_kφ + r)·(Q_kψ)/√(e_g e_h) + b with P_k and Q_k drawn as matrices, the slow way."""
    posterior, K = random_posterior(tau=50.0), 20_000
    rng = generator(3)
    embedded = []
    for head, features in ((posterior.image, IMAGES), (posterior.text, TEXTS)):
        noise = normal(K, *head.weight.shape, rng=rng)
        weights = head.weight + square_root(head.B_inverse) @ noise @ head.A_root.T
        drawn_rows = torch.einsum("np,kdp->knd", features.activations, weights)
        drawn_rows = drawn_rows if features.residuals is None else drawn_rows + features.residuals
        moments = head.embed(features)
        energy = (moments.mean.square() + moments.variance).sum(dim=1)
        embedded.append(drawn_rows / energy.sqrt()[:, None])
    slow = posterior.scale * torch.einsum("knd,kcd->knc", *embedded) + posterior.bias
    fast = all_logits(HeadDraws(posterior, TEXTS, K, 5, with_text=True)).transpose(0, 1)
    spread = slow.std(dim=0)
    assert ((fast.mean(dim=0) - slow.mean(dim=0)).abs() < 0.05 * spread).all()
    assert_close(fast.std(dim=0), spread, atol=0, rtol=0.05)
    assert_close(
        torch.cov(fast.flatten(1).T), torch.cov(slow.flatten(1).T), atol=0.06 * float(spread.max()) ** 2, rtol=0
    )


def test_square_root_of_a_batch():
    matrices = torch.stack([positive_definite(4, generator(seed)) for seed in range(3)])
    roots = square_root(matrices)
    assert_close(roots @ roots.mT, matrices)
