"""The clustering baselines against their slow, obvious forms."""

import pytest
import torch
from torch.nn.functional import normalize

from core.simulation.clustering import badge, coreset, typiclust
from tests.small import generator, normal

N, C, D = 40, 3, 5


@pytest.fixture
def embeddings():
    return normalize(normal(N, D, rng=generator(1)), dim=1)


@pytest.fixture
def probs():
    return normal(N, C, rng=generator(2)).mul(2).softmax(dim=1)


def test_badge_draws_as_k_means_plus_plus_on_written_out_gradients(embeddings, probs):
    residual = probs - torch.nn.functional.one_hot(probs.argmax(dim=1), C)
    gradients = torch.einsum("nc,nd->ncd", residual, embeddings).flatten(1)
    taken, rng = [3, 4], generator(7)
    free = torch.ones(N, dtype=torch.bool)
    free[taken] = False
    nearest, expected = gradients.square().sum(dim=1), []
    for i in range(6):
        best = int(torch.multinomial(nearest.where(free, 0.0), 1, generator=rng))
        expected.append(best)
        free[best] = False
        distance = (gradients - gradients[best]).square().sum(dim=1)
        nearest = distance if i == 0 else torch.minimum(nearest, distance)
    assert badge(embeddings, probs, 6, taken, generator(7)) == expected


def test_badge_of_a_sure_model_still_asks(embeddings):
    sure = torch.nn.functional.one_hot(torch.zeros(N, dtype=torch.long), C).double()
    assert len(set(badge(embeddings, sure, 5, [0], generator()))) == 5


def test_coreset_takes_the_farthest_from_all_that_is_covered(embeddings):
    taken = [0, 5]
    covered, expected = list(taken), []
    for _ in range(5):
        distance = torch.cdist(embeddings, embeddings[covered]).amin(dim=1)
        best = int(distance.argmax())
        expected.append(best)
        covered.append(best)
    assert coreset(embeddings, 5, taken, generator()) == expected


def test_coreset_starts_anywhere_and_ends_with_the_pool(embeddings):
    assert sorted(coreset(embeddings, 99, [], generator())) == list(range(N))


def test_typiclust_takes_the_middle_of_each_blob_that_has_no_answer():
    rng = generator(3)
    centres = normalize(torch.eye(3, D, dtype=torch.float64), dim=1)
    rows = torch.cat([centre + 0.05 * normal(n, D, rng=rng) for centre, n in zip(centres, (30, 20, 10), strict=True)])
    rows = normalize(rows, dim=1)
    first = typiclust(rows, 3, [], generator())
    assert sorted(sum(i >= edge for edge in (30, 50)) for i in first) == [0, 1, 2], "one of each blob"
    assert first[0] < 30, "the largest first"
    blob = rows[:30]
    distances = torch.cdist(blob, blob).topk(21, largest=False).values[:, 1:].mean(dim=1)
    assert first[0] == int(distances.argmin())
    assert typiclust(rows, 1, first[:2], generator())[0] not in first[:2]


def test_typiclust_ends_with_the_pool(embeddings):
    assert sorted(typiclust(embeddings, 99, [1, 2], generator())) == sorted(set(range(N)) - {1, 2})
