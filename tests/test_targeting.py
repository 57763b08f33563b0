"""Neighbours of Gaussian embeddings: published values and the slow definitions."""

import pytest
import torch
from torch.testing import assert_close

from core.targeting import (
    Metric,
    expected_cosine,
    narrow,
    neighbours,
    select_nearest,
    wasserstein2_squared,
)
from core.values import GaussianEmbeddings
from tests.small import generator, normal, reference


def random_embeddings(n: int, seed: int = 0, D: int = 5) -> GaussianEmbeddings:
    rng = generator(seed)
    return GaussianEmbeddings(normal(n, D, rng=rng), torch.rand(n, D, generator=rng, dtype=torch.float64))


@pytest.fixture(scope="module")
def published():
    data = reference("targeting")

    def embed(activations):
        spread = (activations @ data["A_img_inv"] * activations).sum(dim=1, keepdim=True)
        return GaussianEmbeddings(activations @ data["image_projection"].T, spread * data["B_img_inv"].diagonal())

    return data, embed(data["pool_activations"]), embed(data["target_activations"])


def test_distances_are_the_published_ones(published):
    data, pool, targets = published
    assert_close(wasserstein2_squared(targets, pool), data["wasserstein2_squared"], atol=1e-8, rtol=0)


@pytest.mark.parametrize("metric", list(Metric))
def test_selections_are_the_published_ones(published, metric):
    data, pool, targets = published
    selected = select_nearest(pool, targets, int(data["k"]), metric)
    assert selected.sort().values.tolist() == data[f"selected_{metric}"].tolist()


def test_wasserstein_is_the_definition():
    one, other = random_embeddings(4), random_embeddings(3, seed=1)
    spread = (one.variance.sqrt()[:, None] - other.variance.sqrt()[None]).square().sum(dim=2)
    slow = (one.mean[:, None] - other.mean[None]).square().sum(dim=2) + spread
    assert_close(wasserstein2_squared(one, other), slow)


def test_an_image_is_at_distance_zero_from_itself():
    same = random_embeddings(6)
    assert wasserstein2_squared(same, same).diagonal().max() < 1e-12
    assert wasserstein2_squared(same, same).min() >= 0


def test_expected_cosine_shrinks_with_variance():
    certain = GaussianEmbeddings(torch.eye(2), torch.zeros(2, 2))
    unsure = GaussianEmbeddings(torch.eye(2), torch.full((2, 2), 1.5))
    assert_close(expected_cosine(certain, certain), torch.eye(2))
    assert_close(expected_cosine(certain, unsure), torch.eye(2) / 2)


@pytest.mark.parametrize("metric", list(Metric))
def test_portions_do_not_change_neighbours(metric, monkeypatch):
    pool, targets = random_embeddings(20), random_embeddings(7, seed=1)
    whole = neighbours(pool, targets, 4, metric)
    monkeypatch.setattr("core.targeting.PAIRS_AT_ONCE", 45)
    assert torch.equal(neighbours(pool, targets, 4, metric), whole)


def test_the_first_target_takes_its_nearest_first():
    pool, targets = random_embeddings(20), random_embeddings(3, seed=1)
    chosen = select_nearest(pool, targets, 2, Metric.WASSERSTEIN)
    assert chosen[0] == wasserstein2_squared(targets, pool)[0].argmin()
    assert len(set(chosen.tolist())) == 6


@pytest.mark.parametrize("metric", list(Metric))
def test_a_pool_smaller_than_asked_is_taken_whole(metric):
    chosen = select_nearest(random_embeddings(5), random_embeddings(9, seed=1), 3, metric)
    assert sorted(chosen.tolist()) == [0, 1, 2, 3, 4]


def test_targets_that_share_all_neighbours_look_further():
    twins = GaussianEmbeddings(torch.ones(4, 5, dtype=torch.float64), torch.ones(4, 5, dtype=torch.float64))
    pool = random_embeddings(30)
    nearest = wasserstein2_squared(twins, pool)[0].argsort()[:8]
    assert select_nearest(pool, twins, 2, Metric.WASSERSTEIN).tolist() == nearest.tolist()


def test_narrowing_keeps_the_union_of_the_neighbours():
    pool, targets = random_embeddings(20), random_embeddings(3, seed=1)
    kept = narrow(pool, targets, 4, Metric.COSINE)
    slow = {int(i) for row in expected_cosine(targets, pool) for i in row.argsort(descending=True)[:4]}
    assert kept.tolist() == sorted(slow)


def test_narrowing_to_more_than_the_pool_keeps_it():
    assert narrow(random_embeddings(5), random_embeddings(2, seed=1), 50, Metric.COSINE).tolist() == [0, 1, 2, 3, 4]
