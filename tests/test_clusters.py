"""k-means on the sphere: well separated bundles are found whole, and the assignment is the slow, obvious one."""

import pytest
import torch
from torch.nn.functional import normalize

from core import clusters
from core.clusters import k_means


def bundles(sizes=(50, 30, 20), d=7, spread=0.05, seed=0):
    """Unit rows [N, D] around random directions, and which bundle each is of, shuffled."""
    rng = torch.Generator().manual_seed(seed)
    centres = normalize(torch.randn(len(sizes), d, generator=rng), dim=1)
    member = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    member = member[torch.randperm(len(member), generator=rng)]
    return normalize(centres[member] + spread * torch.randn(len(member), d, generator=rng), dim=1), member


def sorted_into(rows, k, seed=1):
    return k_means(lambda part: rows[part], len(rows), k, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("seed", range(4))
def test_bundles_are_found_and_the_largest_comes_first(seed):
    rows, member = bundles((50, 40, 30, 20, 15, 10), d=11)
    cluster, cosine = sorted_into(rows, 6, seed)
    assert torch.equal(cluster, member), "bundles of 50, 40, 30 … are clusters 0, 1, 2 …"
    for i in range(6):
        centre = normalize(rows[member == i].sum(dim=0), dim=0)
        torch.testing.assert_close(cosine[member == i], rows[member == i] @ centre)


def test_every_image_is_in_the_cluster_with_the_nearest_centre():
    rows, _ = bundles((200, 100, 60, 9), d=5, spread=0.6)
    cluster, cosine = sorted_into(rows, 4)
    centres = torch.stack([normalize(rows[cluster == i].sum(dim=0), dim=0) for i in range(4)])
    slow = [max(range(4), key=lambda i: float(row @ centres[i])) for row in rows]
    agree = sum(each == int(found) for each, found in zip(slow, cluster, strict=True))
    assert agree >= 0.97 * len(rows), "settled, or nearly so after the last step"
    assert (cosine <= 1 + 1e-6).all()


def test_the_same_seed_gives_the_same_clusters_and_a_sample_is_enough(monkeypatch):
    rows, member = bundles((300, 200, 100))
    first, again = sorted_into(rows, 3)[0], sorted_into(rows, 3)[0]
    assert torch.equal(first, again)
    monkeypatch.setattr(clusters, "SAMPLE", 60)
    monkeypatch.setattr(clusters, "ROWS", 7)
    assert torch.equal(sorted_into(rows, 3)[0], member)


@pytest.mark.parametrize("k", [2, 5])
def test_images_that_coincide_are_one_cluster(k):
    cluster, cosine = sorted_into(normalize(torch.ones(9, 4), dim=1), k)
    assert cluster.tolist() == [0] * 9
    torch.testing.assert_close(cosine, torch.ones(9))


def test_broken_rows_come_last_and_harm_nobody():
    rows, member = bundles((20, 10))
    rows[4] = torch.nan
    cluster, cosine = sorted_into(rows, 2)
    kept = torch.arange(30) != 4
    assert torch.equal(cluster[kept], member[kept])
    assert (int(cluster[4]), float(cosine[4])) == (1, -1.0)
    alone, _ = sorted_into(torch.full((3, 4), torch.nan), 2)
    assert alone.tolist() == [0, 0, 0]
