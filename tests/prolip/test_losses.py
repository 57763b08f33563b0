"""The objective against the published values, and its terms against the slow obvious form."""

import math

import pytest
import torch
from torch.distributions import Normal, kl_divergence
from torch.testing import assert_close

from core.prolip.inclusion import log_inclusion
from core.prolip.losses import LossWeights, inclusion_loss, ppcl, prolip_loss, variational_loss
from core.values import ProlipEmbeddings
from tests.prolip.gaussians import EXACT, published, published_pair, random_gaussians

TERMS = {
    "contrastive": "loss_ppcl",
    "inclusion": "loss_inclusion",
    "masked_image": "loss_img_inclusion",
    "masked_text": "loss_txt_inclusion",
    "variational": "loss_vib",
}


def published_loss(index=None, **weights):
    values = published("loss")
    scale, bias = values["logit_scale"], values["logit_bias"]
    pairs, masked = published_pair(values), published_pair(values, "masked_")
    chosen = LossWeights(variational=1e-5, **weights)
    return prolip_loss(*pairs, *masked, index, scale=scale, bias=bias, weights=chosen)


def test_every_term_is_the_published_one():
    loss, values = published_loss(), published("loss")
    for ours, theirs in TERMS.items():
        assert_close(getattr(loss, ours), values[theirs], atol=0, rtol=1e-8)
    assert_close(loss.total, sum(values[name] for name in TERMS.values()), **EXACT)
    assert loss.ignored == ()


def test_the_masked_inputs_belong_to_the_first_of_the_batch_unless_said():
    said = published_loss(torch.tensor([0, 1, 2]))
    assert_close(said.masked_image, published_loss().masked_image)
    assert float(published_loss(torch.tensor([5, 6, 7])).masked_image) != float(said.masked_image)


def test_ppcl_is_the_mean_over_images_of_the_sum_over_texts():
    logits = torch.tensor([[1.0, -2.0, 0.5], [0.3, 2.0, -1.0], [-0.2, 0.1, -3.0]], dtype=torch.float64)
    total = 0.0
    for i in range(3):
        for j in range(3):
            sign = 1 if i == j else -1
            total += math.log(1 + math.exp(-sign * float(logits[i, j])))
    assert float(ppcl(logits)) == pytest.approx(total / 3, abs=1e-12)


@pytest.mark.parametrize("shape", [(2, 3), (0, 0), (4,)])
def test_ppcl_refuses_what_is_no_square_of_pairs(shape):
    with pytest.raises(ValueError, match="N pairs"):
        ppcl(torch.zeros(shape))


def test_exact_inclusion_loss_takes_h_summed_over_the_dimensions():
    a, b = random_gaussians(5), random_gaussians(5, seed=1)
    by_pair = [math.log1p(math.exp(-0.1 * float(h))) for h in log_inclusion(a, b)]
    assert float(inclusion_loss(a, b, scale=0.1, exact=True)) == pytest.approx(sum(by_pair) / 5, abs=1e-12)


def test_variational_loss_is_the_divergence_and_the_published_one_takes_deviations_for_variances():
    gaussians = random_gaussians(5)
    origin = Normal(torch.zeros(1, dtype=torch.float64), 1.0)
    exact = kl_divergence(Normal(gaussians.mean, gaussians.variance.sqrt()), origin).mean()
    assert_close(variational_loss(gaussians, exact=True), exact)
    mistaken = kl_divergence(Normal(gaussians.mean, gaussians.variance.sqrt().sqrt()), origin).mean()
    assert_close(variational_loss(gaussians), mistaken)


def test_a_term_over_its_limit_is_left_out_and_named():
    loss = published_loss(inclusion_limit=100.0, variational_limit=1.0)
    assert loss.ignored == ("inclusion", "variational")
    assert float(loss.inclusion) == float(loss.variational) == 0.0
    assert float(loss.masked_image) > 0
    assert_close(loss.total, loss.contrastive + loss.masked_image + loss.masked_text)


@pytest.mark.parametrize("exact", [False, True])
def test_gradients_reach_every_input_and_are_those_of_finite_differences(exact):
    tensors = [random_gaussians(3, 4, seed=seed) for seed in range(4)]
    flat = [each for pair in tensors for each in (pair.mean, pair.log_variance)]
    weights = LossWeights(inclusion=0.1, masked=0.2, variational=0.3, inclusion_scale=0.5, exact=exact)

    def total(*flat):
        images, texts, *masked = (ProlipEmbeddings(*flat[k : k + 2]) for k in range(0, 8, 2))
        index = torch.tensor([2, 0])
        return prolip_loss(images, texts, *(m[:2] for m in masked), index, scale=2.0, bias=-1.0, weights=weights).total

    inputs = [each.clone().requires_grad_() for each in flat]
    assert torch.autograd.gradcheck(total, inputs)
    gradients = torch.autograd.grad(total(*inputs), inputs)
    assert all(bool(gradient.abs().sum() > 0) for gradient in gradients)


def test_half_precision_is_computed_in_single():
    images, texts = random_gaussians(3), random_gaussians(3, seed=1)
    halves = [each.to(torch.bfloat16) for each in (images, texts)]
    loss = prolip_loss(*halves, scale=10.0, bias=-5.0)
    same = prolip_loss(*(each.to(torch.float32) for each in halves), scale=10.0, bias=-5.0)
    assert loss.total.dtype == torch.float32
    assert_close(loss.total, same.total)


def test_extreme_variances_and_one_pair_stay_finite():
    images = ProlipEmbeddings(random_gaussians(1).mean.float(), torch.full((1, 7), -80.0))
    texts = ProlipEmbeddings(random_gaussians(1, seed=1).mean.float(), torch.full((1, 7), 20.0))
    variances = [each.log_variance.requires_grad_() for each in (images, texts)]
    loss = prolip_loss(images, texts, scale=10.0, bias=-5.0)
    gradients = torch.autograd.grad(loss.total, variances)
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)


def test_what_does_not_fit_is_refused():
    images, texts = random_gaussians(3), random_gaussians(4)
    with pytest.raises(ValueError, match="3 images and 4 texts"):
        prolip_loss(images, texts, scale=1.0, bias=0.0)
    with pytest.raises(ValueError, match="2 masked inputs came with 1 positions"):
        prolip_loss(images, images, texts[:2], texts[:2], torch.tensor([0]), scale=1.0, bias=0.0)
    for wrong in ({"inclusion": -1.0}, {"variational": float("nan")}, {"inclusion_scale": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            LossWeights(**wrong)
