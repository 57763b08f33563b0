"""ProbCosine, predictives and joint draws: published values, and sampling as the slow way."""

import math

import pytest
import torch
from torch.nn.functional import normalize
from torch.testing import assert_close

from core.logits import (
    class_covariance,
    interval,
    joint_draws,
    map_logits,
    monte_carlo,
    posterior_logits,
    prob_cosine,
    probit,
    whitened,
)
from core.posterior.laplace import HeadPosterior, Posterior, fit_head
from core.values import Features, GaussianEmbeddings, GaussianLogits, KroneckerFactors
from tests.small import (
    P_IMAGE,
    P_TEXT,
    generator,
    normal,
    random_features,
    random_posterior,
    reference,
    reference_scale,
    with_one,
)

EXACT = {"atol": 1e-8, "rtol": 0}


def published_head(weight, A, B, side: str) -> HeadPosterior:
    settings = reference("covariance")
    return fit_head(weight, KroneckerFactors(A, B, 1), float(settings[f"n_{side}"]), float(settings[f"lambda_{side}"]))


def published_clip():
    data, factors = reference("probcosine_clip"), reference("covariance")
    heads = [
        published_head(data[f"{name}_projection"], factors[f"A_{side}"], factors[f"B_{side}"], side)
        for name, side in (("image", "img"), ("text", "txt"))
    ]
    posterior = Posterior(*heads, reference_scale(data), 0.0, "clip")
    return posterior, Features(data["image_activations"]), Features(data["text_activations"]), data


def published_siglip():
    data = reference("probcosine_siglip")
    heads = [
        published_head(
            torch.cat([data[f"{name}_projection"], data[f"{name}_bias"][:, None]], dim=1),
            data[f"A_{side}"],
            data[f"B_{side}"],
            side,
        )
        for name, side in (("image", "img"), ("text", "txt"))
    ]
    posterior = Posterior(*heads, reference_scale(data), 0.0, "siglip")
    images = Features(with_one(data["image_activations"]), data["image_residuals"])
    return posterior, images, Features(with_one(data["text_activations"])), data


@pytest.mark.parametrize("published", [published_clip, published_siglip])
def test_moments_are_the_published_ones(published):
    posterior, images, texts, data = published()
    logits = posterior_logits(posterior, images, texts)
    assert_close(logits.mean, data["mean"], **EXACT)
    assert_close(logits.variance, data["var"], **EXACT)


def test_map_and_probit_are_the_published_ones():
    posterior, images, texts, data = published_clip()
    embedded = images.embed(posterior.image.weight), texts.embed(posterior.text.weight)
    assert_close(map_logits(*embedded, posterior.scale), data["map_logits"], **EXACT)
    assert_close(probit(GaussianLogits(data["mean"], data["var"])), data["probit_probs"], **EXACT)


def test_without_variance_the_mean_is_the_model_itself():
    posterior = random_posterior()
    images, texts = random_features(4, residuals=True), random_features(3, P_TEXT)
    g, h = images.embed(posterior.image.weight), texts.embed(posterior.text.weight)
    certain = prob_cosine(
        GaussianEmbeddings(g, torch.zeros_like(g)), GaussianEmbeddings(h, torch.zeros_like(h)), 8.0, -2.0
    )
    assert_close(certain.mean, map_logits(g, h, 8.0, -2.0))
    assert_close(certain.variance, torch.zeros(4, 3, dtype=torch.float64))
    assert_close(probit(certain), map_logits(g, h, 8.0, -2.0).softmax(dim=1))


def test_moments_are_those_of_sampled_embeddings():
    rng = generator()
    images = GaussianEmbeddings(normal(2, 6, rng=rng), 0.3 * torch.rand(2, 6, generator=rng, dtype=torch.float64))
    texts = GaussianEmbeddings(normal(3, 6, rng=rng), 0.2 * torch.rand(3, 6, generator=rng, dtype=torch.float64))
    g, h = (e.mean + e.variance.sqrt() * normal(200_000, *e.mean.shape, rng=rng) for e in (images, texts))
    energy = g.square().sum(-1).mean(0)[:, None] * h.square().sum(-1).mean(0)  # the claim's fixed denominators
    products = torch.einsum("knd,kcd->knc", g, h) / energy.sqrt()
    logits = prob_cosine(images, texts, scale=1.0)
    assert_close(logits.mean, products.mean(dim=0), atol=0.01, rtol=0)
    assert_close(logits.variance, products.var(dim=0), atol=0.003, rtol=0.02)


@pytest.mark.parametrize("share", [0.001, 0.01, 1.0, 10.0])  # variance in units of the squared mean
def test_moments_of_the_cosine_itself_where_they_hold_and_where_they_do_not(share):
    rng, D, K = generator(), 16, 20_000
    texts = normal(5, D, rng=rng)
    images = normal(20, D, rng=rng) + 2 * texts[torch.arange(20) % 5] * (torch.arange(20) < 5)[:, None]
    sets = [GaussianEmbeddings(x, share * x.square().mean(dim=1, keepdim=True).expand_as(x)) for x in (images, texts)]
    g, h = (normalize(e.mean + e.variance.sqrt() * normal(K, *e.mean.shape, rng=rng), dim=2) for e in sets)
    cosines = torch.einsum("knd,kcd->knc", g, h)
    moments = prob_cosine(*sets, scale=1.0)
    error = cosines.std(dim=0).max() / K**0.5
    assert (moments.mean - cosines.mean(dim=0)).abs().max() < 0.008 + 4 * error
    ratio, cos = moments.variance / cosines.var(dim=0), normalize(images, dim=1) @ normalize(texts, dim=1).T
    apart = cos.abs() < 0.3
    assert (ratio[apart] - 1).abs().max() < 0.1 + 0.05  # five standard errors of a variance of 20,000 draws
    assert (ratio < 1.05 / (1 - cos.square())).all()
    if share < 0.1:
        assert ratio[cos.abs() > 0.8].min() > 1.5, "nearly parallel: the stated exception"


def test_monte_carlo_and_probit_agree_on_two_classes():
    logits = GaussianLogits(torch.tensor([[1.0, -0.5], [0.2, 0.1]]), torch.tensor([[0.4, 0.4], [1.0, 1.0]]))
    sampled = monte_carlo(logits, 50_000, generator())
    difference = logits.mean[:, 0] - logits.mean[:, 1]
    expected = (difference / (1 + math.pi / 8 * 2 * logits.variance[:, 0]).sqrt()).sigmoid()  # MacKay, two classes
    assert_close(sampled[:, 0], expected, atol=0.01, rtol=0)
    assert_close(sampled.sum(dim=1), torch.ones(2))


def test_portions_do_not_change_the_number_of_draws(monkeypatch):
    monkeypatch.setattr("core.logits.DRAWS_AT_ONCE", 13)
    logits = GaussianLogits(torch.zeros(2, 3), torch.ones(2, 3))
    assert_close(monte_carlo(logits, 7, generator()).sum(dim=1), torch.ones(2))
    assert interval(logits, generator(), draws=50).lower.shape == (2, 3)


def test_interval_of_two_classes_is_the_normal_quantile():
    logits = GaussianLogits(torch.tensor([[0.7, 0.0]]), torch.tensor([[0.5, 0.0]]))
    bounds = interval(logits, generator(), level=0.9, draws=100_000)
    half = 1.6449 * 0.5**0.5
    assert_close(bounds.lower[0, 0], torch.tensor(0.7 - half).sigmoid(), atol=0.01, rtol=0)
    assert_close(bounds.upper[0, 0], torch.tensor(0.7 + half).sigmoid(), atol=0.01, rtol=0)


def test_interval_of_certain_logits_is_a_point():
    bounds = interval(GaussianLogits(torch.tensor([[2.0, 0.0, 1.0]]), torch.zeros(1, 3)), generator())
    assert_close(bounds.lower, bounds.upper)


@pytest.mark.parametrize("level", [0.0, 1.0, 90.0])
def test_interval_level_is_a_share(level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        interval(GaussianLogits(torch.zeros(1, 2), torch.ones(1, 2)), generator(), level=level)


def test_the_same_seed_gives_the_same_draws():
    posterior = random_posterior()
    images, texts = random_features(4), random_features(3, P_TEXT)
    one, other, third = (joint_draws(posterior, images, texts, 5, generator(seed)) for seed in (1, 1, 2))
    assert torch.equal(one, other)
    assert not torch.equal(one, third)


def test_whitened_rows_and_classes_give_the_covariance_of_drawn_heads():
    """Cov(f(x), f(x*)) = κ·S, against the covariance of vec(P) carried through s·Ĥ P φ/√e."""
    posterior = random_posterior()
    images, texts = random_features(3), random_features(4, P_TEXT)
    rows, S = whitened(posterior, images), class_covariance(posterior, texts)
    head = posterior.image
    h = texts.embed(posterior.text.weight)
    directions = posterior.scale * h / h.norm(dim=1, keepdim=True)
    embedded = head.embed(images)
    energy = (embedded.mean.square() + embedded.variance).sum(dim=1)
    J = torch.stack([torch.kron(phi[None], directions) for phi in images.activations]) / energy.sqrt()[:, None, None]
    dense = torch.einsum("nia,ab,mjb->nmij", J, torch.kron(head.A_root @ head.A_root.T, head.B_inverse), J)
    assert_close(torch.einsum("np,mp,ij->nmij", rows, rows, S), dense)


@pytest.mark.parametrize("n", [2, P_IMAGE + 3])
def test_draws_are_joint_and_have_that_covariance(n):
    posterior = random_posterior(scale=3.0)
    images, texts = random_features(n), random_features(3, P_TEXT)
    draws = joint_draws(posterior, images, texts, 100_000, generator())
    centred = draws.log() - draws.log().mean(dim=2, keepdim=True)  # logits up to what a softmax forgets
    deviations = centred - centred.mean(dim=1, keepdim=True)
    sampled = torch.einsum("nki,mkj->nmij", deviations, deviations) / 100_000
    rows, S = whitened(posterior, images), class_covariance(posterior, texts)
    forget = torch.eye(3, dtype=torch.float64) - 1 / 3
    expected = torch.einsum("np,mp,ij->nmij", rows, rows, forget @ S @ forget)
    assert_close(sampled, expected, atol=0.02 * float(expected.abs().max()), rtol=0.05)
