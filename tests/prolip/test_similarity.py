"""Similarities against loops over pairs and against draws."""

import torch
from torch.testing import assert_close

from core.logits import prob_cosine
from core.prolip.similarity import cosine, csd_logits, expected_cosine
from core.values import GaussianEmbeddings
from tests.prolip.gaussians import EXACT, published, published_pair, random_gaussians
from tests.small import generator


def test_csd_logits_are_the_published_ones():
    values = published("loss")
    logits = csd_logits(*published_pair(values), values["logit_scale"], values["logit_bias"])
    assert_close(logits, values["csd_logits"], **EXACT)


def test_csd_logits_follow_the_expected_squared_distance():
    images, texts = random_gaussians(3), random_gaussians(5, seed=1)
    rng = generator(2)
    shape = (20_000, 1, 7)
    distance = torch.empty(3, 5, dtype=torch.float64)
    for i in range(3):
        for j in range(5):
            v, t = (
                each.mean[k] + each.variance[k].sqrt() * torch.randn(shape, generator=rng, dtype=torch.float64)
                for each, k in ((images, i), (texts, j))
            )
            distance[i, j] = (v - t).square().sum(dim=-1).mean()
    assert_close(csd_logits(images, texts, 2.0, 0.5), 2 * (1 - distance / 2) + 0.5, atol=0, rtol=0.03)


def test_cosine_is_the_angle_of_the_means_whatever_their_length():
    a, b = random_gaussians(3), random_gaussians(4, seed=1)
    by_pair = torch.stack([torch.cosine_similarity(row[None], b.mean) for row in a.mean])
    assert_close(cosine(a, b), by_pair)
    assert_close(cosine(type(a)(3 * a.mean, a.log_variance), b), by_pair)


def test_expected_cosine_is_the_first_moment_of_probcosine():
    a, b = random_gaussians(3), random_gaussians(4, seed=1)
    moments = prob_cosine(*(GaussianEmbeddings(each.mean, each.variance) for each in (a, b)), scale=1.0)
    assert_close(expected_cosine(a, b), moments.mean)
    assert bool((expected_cosine(a, b).abs() < cosine(a, b).abs()).all())
