"""Closed-form curvature against one D × D matrix per image, and against the published code."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from core.errors import FactorMismatch
from core.posterior import curvature
from core.posterior.curvature import (
    PRODUCT_BYTES,
    Likelihood,
    add_pairs,
    estimate_factors,
    kfac_b,
    load_factors,
    no_pairs,
    pair_weights,
    rows_at_once,
    save_factors,
)
from core.values import KroneckerFactors
from tests.small import generator, normal, random_factors, random_features, random_posterior, reference, with_one

LIKELIHOODS = [(Likelihood.INFONCE, "info_nce"), (Likelihood.SIGLIP, "siglip")]


def per_image(embeddings, others, scale, bias, likelihood):
    """Σ H_i by automatic differentiation: Jacobian of the logits, and Hessian of the loss in the logits."""
    y = others / others.norm(dim=1, keepdim=True)
    total = 0
    for g in embeddings:
        jacobian = torch.autograd.functional.jacobian(lambda g: scale * y @ (g / g.norm()) + bias, g)
        logits = scale * y @ (g / g.norm()) + bias
        if likelihood is Likelihood.INFONCE:
            hessian = torch.autograd.functional.hessian(lambda f: -f.log_softmax(0)[0], logits)
        else:
            hessian = torch.autograd.functional.hessian(lambda f: torch.nn.functional.softplus(f).sum(), logits)
        total = total + jacobian.T @ hessian @ jacobian
    return total


@pytest.mark.parametrize("likelihood", list(Likelihood))
def test_closed_form_is_the_sum_of_per_image_hessians(likelihood):
    rng = generator()
    embeddings, others = 3 * normal(7, 5, rng=rng), 2 * normal(11, 5, rng=rng)
    assert_close(
        kfac_b(embeddings, others, 4.0, -1.5, likelihood),
        per_image(embeddings, others, 4.0, -1.5, likelihood),
        atol=1e-12,
        rtol=1e-10,
    )


def test_many_images_and_few_others():
    rng = generator(3)
    embeddings, others = normal(13, 4, rng=rng), normal(2, 4, rng=rng)
    assert_close(
        kfac_b(embeddings, others, 9.0), per_image(embeddings, others, 9.0, 0.0, Likelihood.INFONCE), atol=1e-9, rtol=0
    )


@pytest.mark.parametrize("likelihood", list(Likelihood))
def test_the_result_is_symmetric_and_never_negative(likelihood):
    rng = generator(4)
    B = kfac_b(normal(3, 8, rng=rng), normal(6, 8, rng=rng), 30.0, -3.0, likelihood)
    assert torch.equal(B, B.T)
    assert torch.linalg.eigvalsh(B).min() > -1e-10 * B.trace()


@pytest.mark.parametrize("likelihood", list(Likelihood))
@pytest.mark.parametrize("rows", [1, 3, 13, 50])
def test_rows_at_once_change_nothing_but_rounding(likelihood, rows):
    rng = generator(9)
    embeddings, others = 3 * normal(13, 5, rng=rng), 2 * normal(11, 5, rng=rng)
    whole = kfac_b(embeddings, others, 9.0, -2.0, likelihood)
    assert_close(kfac_b(embeddings, others, 9.0, -2.0, likelihood, rows=rows), whole, atol=1e-12, rtol=1e-12)


def test_the_products_of_the_largest_block_stay_within_their_bound():
    assert rows_at_once(32_768, 8) * 32_768 * 8 <= PRODUCT_BYTES
    assert rows_at_once(10**9, 8) == 1


def test_the_products_are_never_whole(monkeypatch):
    shapes = []

    def watched(logits, likelihood):
        shapes.append(tuple(logits.shape))
        return pair_weights(logits, likelihood)

    monkeypatch.setattr(curvature, "PRODUCT_BYTES", 4 * 300 * 8)
    monkeypatch.setattr(curvature, "pair_weights", watched)
    rng = generator(2)
    kfac_b(normal(10, 4, rng=rng), normal(300, 4, rng=rng), 9.0)
    assert shapes == [(4, 300), (4, 300), (2, 300)]


@pytest.mark.parametrize("bias", [0.0, -3.0])
def test_both_heads_from_one_block_with_residuals(bias):
    heads = replace(random_posterior().heads, bias=bias)
    images, texts = random_features(9, residuals=True), random_features(9, p=4, seed=2)
    image, text = (side.factors() for side in add_pairs(no_pairs(heads), images, texts, heads))
    g, h = images.embed(heads.image), texts.embed(heads.text)
    kind = Likelihood.SIGLIP if bias else Likelihood.INFONCE
    assert_close(image.B, per_image(g, h, heads.scale, bias, kind) / 3, atol=1e-9, rtol=0)
    assert_close(text.B, per_image(h, g, heads.scale, bias, kind) / 3, atol=1e-9, rtol=0)
    assert_close(text.A, texts.activations.T @ texts.activations / 3)


def test_infonce_ignores_the_bias():
    rng = generator(5)
    embeddings, others = normal(3, 4, rng=rng), normal(5, 4, rng=rng)
    assert_close(kfac_b(embeddings, others, 9.0, 2.0), kfac_b(embeddings, others, 9.0))


@pytest.mark.parametrize(("likelihood", "key"), [(Likelihood.INFONCE, "B_infonce"), (Likelihood.SIGLIP, "B_siglip")])
def test_b_is_the_published_one(likelihood, key):
    data = reference("kfac")
    scale, bias = float(data["logit_scale_log"].exp()), float(data["logit_bias"])
    ours = kfac_b(data["source_embeds"], data["target_embeds"], scale, bias, likelihood, data["labels_index"])
    assert_close(ours, data[key], atol=1e-8, rtol=0)


@pytest.mark.parametrize(("likelihood", "name"), LIKELIHOODS)
def test_streamed_factors_are_the_published_ones(likelihood, name):
    data, expected = reference("kfac_ggn_inputs"), reference(f"kfac_ggn_{name}")
    activations = data["source_activations"]
    if likelihood is Likelihood.SIGLIP:
        activations = with_one(activations)
    block = int(data["num_classes_per_block"])
    batches = zip(
        *(part.split(block) for part in (activations, data["source_embeds"], data["target_embeds"])), strict=True
    )
    factors = estimate_factors(batches, float(data["logit_scale_log"].exp()), float(data["logit_bias"]), likelihood)
    assert factors.n == len(activations)
    assert_close(factors.A, expected["A"], atol=1e-8, rtol=0)
    assert_close(factors.B, expected["B"], atol=1e-8, rtol=0)


def test_factors_of_float32_batches_accumulate_in_float64():
    rng = generator(6)
    batch = tuple(normal(4, 3, rng=rng).float() for _ in range(3))
    factors = estimate_factors([batch, batch], 5.0)
    assert factors.A.dtype == factors.B.dtype == torch.float64
    assert_close(factors.A, 2 * batch[0].double().T @ batch[0].double() / 8**0.5)


def test_an_empty_stream_says_so():
    with pytest.raises(ValueError, match="none came"):
        estimate_factors([], 5.0)


def test_factors_survive_the_file(tmp_path):
    image, text = random_factors(3, generator(7), n=327_680), random_factors(5, generator(8), n=12)
    save_factors(tmp_path / "factors.safetensors", image, text, {"encoder": "tiny"})
    image_again, text_again, metadata = load_factors(tmp_path / "factors.safetensors")
    assert metadata == {"encoder": "tiny"}
    for one, other in ((image, image_again), (text, text_again)):
        assert (one.n, torch.equal(one.A, other.A), torch.equal(one.B, other.B)) == (other.n, True, True)


def test_factors_of_1280_stay_small_on_disk(tmp_path):
    def factors(p):
        return KroneckerFactors(torch.eye(p), torch.eye(256), 1)

    save_factors(tmp_path / "factors.safetensors", factors(1280), factors(512))
    assert (tmp_path / "factors.safetensors").stat().st_size < 5_000_000


def test_a_file_of_something_else_is_a_mismatch(tmp_path):
    from safetensors.torch import save_file

    save_file({"x": torch.ones(1)}, tmp_path / "other.safetensors")
    with pytest.raises(FactorMismatch, match="holds no Kronecker factors"):
        load_factors(tmp_path / "other.safetensors")
