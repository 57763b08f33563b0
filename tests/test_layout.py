"""Maps against the textbook forms: PCA by the singular vectors, UMAP's graph by hand, neighbours that stay together."""

import math

import pytest
import torch
from torch.testing import assert_close

from core.layout import by_neighbours, graph, memberships, nearest, principal

N, D = 40, 7


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(3)


def clusters(size: int = 60, groups: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    rng = generator()
    label = torch.arange(size * groups) % groups
    centres = torch.randn(groups, 24, generator=rng)
    return centres[label] + 0.15 * torch.randn(len(label), 24, generator=rng), label


def test_the_main_directions_are_the_first_singular_vectors():
    points = torch.randn(N, D, generator=generator(), dtype=torch.float64)
    centred = points - points.mean(dim=0)
    U, S, _ = torch.linalg.svd(centred, full_matrices=False)
    expected = (U * S)[:, :2].float()
    found = principal(points)
    assert_close(found.abs(), expected.abs(), rtol=1e-5, atol=1e-5)


def test_the_map_does_not_depend_on_the_sign_of_a_vector():
    points = torch.randn(N, D, generator=generator(), dtype=torch.float64)
    assert_close(principal(points), principal(points.clone()))
    shuffled = torch.randperm(N, generator=generator())
    assert_close(principal(points[shuffled]), principal(points)[shuffled])


def test_broken_points_have_no_place_and_move_nobody():
    points = torch.randn(N, D, generator=generator())
    broken = torch.cat([points, torch.full((1, D), torch.nan)])
    laid = principal(broken)
    assert laid[-1].isnan().all()
    assert_close(laid[:-1], principal(points))
    assert by_neighbours(broken, rng=generator(), k=5, epochs=3)[-1].isnan().all()


def test_the_nearest_are_those_of_all_pairs():
    points = torch.randn(N, D, generator=generator())
    cosines = torch.nn.functional.cosine_similarity(points[:, None], points[None], dim=2).fill_diagonal_(-9)
    distances, found = nearest(points, 5)
    assert_close(distances, 1 - cosines.topk(5, dim=1).values)
    assert (found == cosines.topk(5, dim=1).indices).all()


def test_a_neighbourhood_sums_to_log2_k():
    distances = torch.rand(N, 8, generator=generator()).sort(dim=1).values
    weights = memberships(distances)
    assert_close(weights.sum(dim=1), torch.full((N,), math.log2(8)), rtol=1e-3, atol=1e-3)
    assert_close(weights[:, 0], torch.ones(N))


def test_the_graph_is_the_fuzzy_union_of_both_directions():
    points = torch.randn(12, D, generator=generator())
    distances, neighbours = nearest(points, 3)
    directed = torch.zeros(12, 12)
    for i, (row, weights) in enumerate(zip(neighbours, memberships(distances), strict=True)):
        directed[i, row] = weights
    union = directed + directed.T - directed * directed.T
    edges, weights = graph(points, 3)
    assert len(edges) == (union.triu() > 0).sum()
    assert_close(weights, union[edges[:, 0], edges[:, 1]])


def test_neighbours_stay_neighbours():
    points, label = clusters()
    laid = by_neighbours(points, rng=generator())
    distances = torch.cdist(laid, laid).fill_diagonal_(torch.inf)
    near = distances.topk(5, dim=1, largest=False).indices
    assert (label[near] == label[:, None]).float().mean() > 0.98


def test_the_same_seed_gives_the_same_map():
    points, _ = clusters(20)
    assert_close(by_neighbours(points, rng=generator(), epochs=20), by_neighbours(points, rng=generator(), epochs=20))


@pytest.mark.parametrize("size", [1, 2, 3, 16])
def test_few_points_have_a_map_too(size):
    points = torch.randn(size, D, generator=generator())
    assert by_neighbours(points, rng=generator()).shape == (size, 2)
