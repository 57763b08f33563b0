"""The heads' posterior: convention of the published code, moments, observations, files."""

import time

import pytest
import torch
from torch.testing import assert_close

from core.errors import FactorMismatch
from core.posterior.curvature import estimate_factors, kfac_b
from core.posterior.laplace import Posterior, fit, fit_head, read_made_of
from core.posterior.prior import optimal_prior_precision
from core.values import Features, Heads, KroneckerFactors
from tests.small import (
    P_IMAGE,
    P_TEXT,
    D,
    generator,
    normal,
    random_factors,
    random_features,
    random_posterior,
    reference,
)


@pytest.mark.parametrize("side", ["img", "txt"])
def test_inverses_are_the_published_ones(side):
    data = reference("covariance")
    factors = KroneckerFactors(data[f"A_{side}"], data[f"B_{side}"], n=1)
    weight = normal(len(factors.B), len(factors.A), rng=generator())
    head = fit_head(weight, factors, float(data[f"n_{side}"]), float(data[f"lambda_{side}"]))
    assert_close(head.A_root @ head.A_root.T, data[f"A_{side}_inv"], atol=1e-8, rtol=0)
    assert_close(head.B_inverse, data[f"B_{side}_inv"], atol=1e-8, rtol=0)


def test_embedding_variance_is_that_of_drawn_heads():
    head = random_posterior().image
    features = random_features(4, residuals=True)
    embeddings = head.embed(features)
    assert_close(embeddings.mean, features.activations @ head.weight.T + features.residuals)
    covariance = torch.kron(head.A_root @ head.A_root.T, head.B_inverse)  # of vec(P), columns stacked
    for row, variance in zip(features.activations, embeddings.variance, strict=True):
        J = torch.kron(row[None], torch.eye(D, dtype=torch.float64))  # vec(P) → Pφ
        assert_close(variance, (J @ covariance @ J.T).diagonal())


def test_prior_precision_comes_from_the_evidence():
    head = random_posterior().text
    assert head.prior_precision == optimal_prior_precision(head.factors, head.weight, head.tau)


def test_observing_the_second_half_equals_estimating_from_all():
    rng = generator(3)
    activations, others = normal(10, P_IMAGE, rng=rng), normal(7, D, rng=rng)
    weight = normal(D, P_IMAGE, rng=rng)
    embeddings = activations @ weight.T
    halves = [(activations[part], embeddings[part], others) for part in (slice(4), slice(4, None))]
    head = fit_head(weight, estimate_factors(halves[:1], 6.0), tau=2.0)
    grown = head.with_observations(activations[4:], kfac_b(embeddings[4:], others, 6.0))
    whole = estimate_factors(halves, 6.0)
    assert (grown.factors.n, head.factors.n) == (10, 4)
    assert_close(grown.factors.A, whole.A)
    assert_close(grown.factors.B, whole.B)
    assert_close(grown.A_root @ grown.A_root.T, (lambda h: h.A_root @ h.A_root.T)(fit_head(weight, whole, tau=2.0)))


def test_repeats_are_the_same_observation_many_times():
    head, rng = random_posterior().image, generator(4)
    activations, hessian = normal(2, P_IMAGE, rng=rng), torch.eye(D, dtype=torch.float64)
    thrice = head.with_observations(activations.repeat(3, 1), 3 * hessian)
    repeated = head.with_observations(activations, hessian, repeats=3)
    assert repeated.factors.n == thrice.factors.n
    assert_close(repeated.factors.A, thrice.factors.A)
    assert_close(repeated.factors.B, thrice.factors.B)


def test_an_observation_narrows_what_it_saw():
    head = random_posterior().image
    seen = random_features(1)
    again = fit_head(head.weight, head.factors, head.tau, prior_precision=head.prior_precision)
    grown = again.with_observations(50 * seen.activations, torch.eye(D, dtype=torch.float64))
    grown = fit_head(head.weight, grown.factors, head.tau, prior_precision=head.prior_precision)
    assert (grown.embed(seen).variance < head.embed(seen).variance).all()


@pytest.mark.parametrize("k", [1, 3, 9])  # fewer rows than p = 5, and more
def test_conditioning_is_the_inverse_of_the_grown_precision(k):
    """The slow way: (Ã + Σ c_i φ_iφ_iᵀ)⁻¹ with c_i = signal_i/(φ_iᵀÃ⁻¹φ_i), and B̃ untouched."""
    head, seen, features = random_posterior().image, random_features(k, seed=8), random_features(4)
    signal = torch.linspace(0, 12, k, dtype=torch.float64)
    phi, inverse = seen.activations, head.A_root @ head.A_root.T
    precision = signal / ((phi @ inverse) * phi).sum(dim=1)
    grown = (inverse.inverse() + phi.T @ (precision[:, None] * phi)).inverse()
    spread = ((features.activations @ grown) * features.activations).sum(dim=1, keepdim=True)
    conditioned = head.conditioned_on(phi, signal)
    assert_close(conditioned.embed(features).variance, spread * head.B_inverse.diagonal())
    assert_close(conditioned.embed(features).mean, head.embed(features).mean)
    assert_close(conditioned.A_root @ conditioned.A_root.T, grown)
    assert torch.equal(conditioned.unconditioned().A_root, head.A_root)


def test_one_label_of_signal_r_leaves_its_image_one_part_in_1_plus_r():
    head, seen = random_posterior().image, random_features(1)
    conditioned = head.conditioned_on(seen.activations, torch.tensor([10.0]))
    assert_close(conditioned.embed(seen).variance, head.embed(seen).variance / 11)


def test_conditions_stay_with_a_new_tau_weight_or_observation():
    head, seen = random_posterior().image, random_features(2)
    signal = torch.tensor([10.0, 3.0], dtype=torch.float64)
    conditioned = head.conditioned_on(seen.activations, signal)
    hessian = torch.eye(D, dtype=torch.float64)
    for change in (
        lambda h: h.with_tau(40.0),
        lambda h: h.with_weight(2 * h.weight),
        lambda h: h.with_observations(seen.activations, hessian),
    ):
        expected = change(head).conditioned_on(seen.activations, signal)
        assert_close(change(conditioned).embed(seen).variance, expected.embed(seen).variance)


@pytest.mark.parametrize("conditions", [0, 2, 7])
def test_embeddings_at_many_taus_are_those_of_each_posterior(conditions):
    head, seen, asked = random_posterior().image, random_features(7), random_features(4, residuals=True)
    signal = torch.tensor([10.0, 3.0, 0.0, 1e3, 1.0, 0.1, 1e30], dtype=torch.float64)[:conditions]
    head = head.conditioned_on(seen.activations[:conditions], signal)
    taus = (0.5, 40.0, 1e4)
    for tau, found in zip(taus, head.embed_at(asked, taus), strict=True):
        expected = head.with_tau(tau).embed(asked)
        assert_close(found.mean, expected.mean)
        assert_close(found.variance, expected.variance, rtol=1e-7, atol=0)


def test_no_condition_is_none_and_any_signal_keeps_the_variance_finite():
    head, seen = random_posterior().image, random_features(7)
    assert head.conditioned_on(seen.activations[:0], torch.empty(0)).conditions is None
    for signal in (0.0, 1e6, float("inf")):
        variance = head.conditioned_on(seen.activations, torch.full((7,), signal)).embed(seen).variance
        assert variance.isfinite().all()
        assert (variance >= 0).all()
    zero = head.conditioned_on(torch.zeros(1, P_IMAGE), torch.ones(1)).embed(seen).variance
    assert_close(zero, head.embed(seen).variance)


def test_new_tau_and_new_weight_equal_a_fit_from_scratch():
    head = random_posterior().image
    weight = 2 * head.weight
    for changed, scratch in (
        (head.with_tau(40.0), fit_head(head.weight, head.factors, 40.0)),
        (head.with_weight(weight), fit_head(weight, head.factors, head.tau)),
        (head.with_tau(40.0, prior_precision=3.0), fit_head(head.weight, head.factors, 40.0, 3.0)),
    ):
        assert changed.prior_precision == pytest.approx(scratch.prior_precision, rel=1e-10)
        assert_close(changed.A_root, scratch.A_root)
        assert_close(changed.B_inverse, scratch.B_inverse)


def test_float32_heads_get_a_float32_posterior():
    weight = normal(D, P_IMAGE, rng=generator()).float()
    head = fit_head(weight, random_factors(P_IMAGE, generator(1)), tau=10.0)
    embeddings = head.embed(random_features(3, residuals=True).to(torch.float16))
    assert embeddings.mean.dtype == embeddings.variance.dtype == torch.float32


def test_factors_of_another_size_name_both():
    heads = Heads(torch.ones(D, P_IMAGE), torch.ones(D, P_TEXT), 1.0)
    right, wrong = random_factors(P_IMAGE, generator()), random_factors(P_TEXT + 1, generator())
    with pytest.raises(FactorMismatch, match=rf"A \[5, 5\].*the text head \[{D}, {P_TEXT}\]"):
        fit(heads, right, wrong, tau=1.0, fingerprint="x")


@pytest.mark.parametrize("tau", [0.0, -1.0, float("nan")])
def test_tau_must_be_positive(tau):
    with pytest.raises(ValueError, match="must be positive"):
        random_posterior().with_tau(tau)


def test_a_posterior_survives_the_file(tmp_path):
    posterior = random_posterior()
    posterior = posterior.with_image(posterior.image.with_tau(17.5, prior_precision=0.25))
    posterior.save(tmp_path / "posterior.safetensors")
    again = Posterior.load(tmp_path / "posterior.safetensors")
    assert (again.scale, again.bias, again.fingerprint) == (posterior.scale, posterior.bias, "small")
    for one, other in ((posterior.image, again.image), (posterior.text, again.text)):
        assert (one.tau, one.prior_precision, one.factors.n) == (other.tau, other.prior_precision, other.factors.n)
        assert torch.equal(one.weight, other.weight)
        assert torch.equal(one.factors.A, other.factors.A)
        assert_close(one.A_root @ one.A_root.T, other.A_root @ other.A_root.T)


def test_the_conditions_and_what_it_was_made_of_survive_the_file(tmp_path):
    posterior, seen = random_posterior(), random_features(3)
    posterior = posterior.with_image(posterior.image.conditioned_on(seen.activations, torch.tensor([1.0, 5.0, 9.0])))
    made_of = {"classes": ["hund", "größe"], "settings": {"tau": 3.0}, "seed": 4}
    posterior.save(tmp_path / "posterior.safetensors", made_of)
    again = Posterior.load(tmp_path / "posterior.safetensors", "small")
    assert torch.equal(again.image.embed(seen).variance, posterior.image.embed(seen).variance)
    assert read_made_of(tmp_path / "posterior.safetensors") == made_of


def test_a_posterior_of_another_encoder_names_both(tmp_path):
    random_posterior().save(tmp_path / "posterior.safetensors")
    with pytest.raises(FactorMismatch, match=r"encoder small, not with large"):
        Posterior.load(tmp_path / "posterior.safetensors", "large")


def test_a_file_of_something_else_is_a_mismatch(tmp_path):
    from safetensors.torch import save_file

    save_file({"x": torch.ones(1)}, tmp_path / "other.safetensors")
    with pytest.raises(FactorMismatch, match="holds no posterior"):
        Posterior.load(tmp_path / "other.safetensors")


def test_a_new_tau_is_cheap_at_full_size():
    eye = KroneckerFactors(torch.eye(1280), torch.eye(256), 1)
    head = fit_head(torch.ones(256, 1280) / 100, eye, tau=1.0)
    started = time.perf_counter()
    head.with_tau(10.0)
    assert time.perf_counter() - started < 1.0  # 0.01 s on an idle machine; an eigendecomposition would be more


def test_changing_returns_a_new_value():
    head = random_posterior().image
    before = head.A_root.clone(), head.factors.A.clone()
    head.with_tau(99.0), head.with_observations(torch.ones(1, P_IMAGE), torch.eye(D))
    assert torch.equal(head.A_root, before[0])
    assert torch.equal(head.factors.A, before[1])
    with pytest.raises(AttributeError):
        head.tau = 1.0


def test_no_rows_embed_to_no_rows():
    assert random_posterior().image.embed(Features(torch.empty(0, P_IMAGE))).variance.shape == (0, D)
