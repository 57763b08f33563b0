"""EPIG target by target against the textbook form: one Gaussian conditioned on the answers, one trace for each pair."""

import pytest
import torch
from torch.testing import assert_close

from core.acquisition.table import Acquisition
from core.bounded import BoundedRanker
from core.kernel import Answers, Kernel, observe_all
from core.logits import class_covariance, posterior_logits, probit, whitened
from core.reasons import most_alike, target_terms, usable_targets
from core.selection import GreedyRanker
from core.values import Features
from tests.small import P_TEXT, random_features, random_posterior

N, M, C = 30, 7, 4
ANSWERED = [3, 8, 21, 2]


@pytest.fixture(scope="module")
def setting():
    """(posterior, pool, targets, texts)"""
    return random_posterior(), random_features(N), random_features(M, seed=3), random_features(C, P_TEXT, seed=4)


def obvious(setting, image: int, answered: list[int], rho: float = 10.0) -> torch.Tensor:
    """½ κ'² tr(J S J_* S)/M [M], κ' by the Gaussian that pool and targets are, given noisy looks at the answered."""
    posterior, pool, targets, texts = setting
    S = class_covariance(posterior, texts)
    rows, target_rows = whitened(posterior, pool), whitened(posterior, targets)
    jacobians = [
        [torch.diag(p) - torch.outer(p, p) for p in probit(posterior_logits(posterior, images, texts))]
        for images in (pool, targets)
    ]
    weight = torch.stack([torch.trace(J @ S) for J in jacobians[0]]) / (C - 1)
    omega = rho / (rows.square().sum(dim=1) * weight).median()
    K = rows[answered] @ rows[answered].T + torch.diag(1 / (omega * weight[answered]))
    prior = rows[image] @ target_rows.T
    kappa = prior - rows[image] @ rows[answered].T @ torch.linalg.inv(K) @ rows[answered] @ target_rows.T
    traces = torch.stack([torch.trace(jacobians[0][image] @ S @ J @ S) for J in jacobians[1]])
    return kappa.square() * traces / (2 * M)


def terms(setting, index, answered):
    kernel = Kernel.of(*setting)
    answers = Answers(len(kernel.root))
    list(observe_all(kernel, answers, answered))
    return target_terms(kernel, answers, index)


@pytest.mark.parametrize("answered", [[], ANSWERED], ids=["no answer", "four answers"])
def test_the_terms_are_those_of_the_textbook_form(setting, answered):
    found = terms(setting, torch.tensor([5, 8, 17]), answered)
    expected = torch.stack([obvious(setting, image, answered) for image in (5, 8, 17)])
    assert_close(found, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("answered", [[], ANSWERED], ids=["no answer", "four answers"])
@pytest.mark.parametrize("ranker", [lambda kernel: GreedyRanker.of(kernel, Acquisition.EPIG), BoundedRanker])
def test_the_terms_sum_to_the_score_that_ranks(setting, answered, ranker):
    ranked = ranker(Kernel.of(*setting))
    ranked.condition(answered)
    assert_close(terms(setting, slice(0, N), answered).sum(dim=1), ranked.scores(), rtol=1e-8, atol=1e-12)


def test_a_target_with_broken_features_has_no_term(setting):
    posterior, pool, targets, texts = setting
    targets = Features(targets.activations.clone())
    targets.activations[2, 1] = torch.nan
    assert usable_targets(posterior, targets, texts).tolist() == [0, 1, 3, 4, 5, 6]
    assert Kernel.of(posterior, pool, targets, texts).dropped_targets == 1


def test_the_most_alike_are_those_of_the_greatest_cosine_under_the_head_as_it_is(setting):
    posterior, pool = setting[:2]
    embeddings = pool.activations @ posterior.image.weight.T
    cosines = torch.nn.functional.cosine_similarity(embeddings[4:5], embeddings[5:], dim=1)
    found, positions = most_alike(posterior, pool[4:5], pool[5:], 3)
    assert positions.tolist() == cosines.argsort(descending=True)[:3].tolist()
    assert_close(found, cosines[positions])
    turned = posterior.with_image(
        posterior.image.with_weight(posterior.image.weight.flip(0) * torch.arange(1.0, 7)[:, None])
    )
    assert not torch.allclose(most_alike(turned, pool[4:5], pool[5:], 3)[0], found)


def test_what_is_broken_is_like_nothing(setting):
    posterior, pool = setting[:2]
    others = Features(pool.activations[:4].clone())
    others.activations[1:] = torch.nan
    assert most_alike(posterior, pool[9:10], others, 3)[1].tolist() == [0]
    assert most_alike(posterior, pool[9:10], others[:0], 3)[1].tolist() == []
