"""Near duplicates against the obvious search through all pairs."""

import time

import torch
from torch.nn.functional import normalize

from core import alike
from core.alike import near_groups
from core.values import Features


def obvious(activations: torch.Tensor, threshold: float) -> list[int]:
    """Groups by walking from image to image, all pairs."""
    units = normalize(activations, dim=1)
    near = units @ units.T > threshold
    group = [-1] * len(near)
    number = 0
    for start in range(len(near)):
        if group[start] >= 0 or near[start].sum() <= int(near[start, start]):
            continue
        reached, todo = {start}, [start]
        while todo:
            for other in near[todo.pop()].nonzero()[:, 0].tolist():
                if other not in reached:
                    reached.add(other)
                    todo.append(other)
        for each in reached:
            group[each] = number
        number += 1
    return group


def test_groups_are_those_of_all_pairs(monkeypatch):
    monkeypatch.setattr(alike, "ROWS", 7)
    monkeypatch.setattr(alike, "BLOCK", 11)
    rng = torch.Generator().manual_seed(0)
    activations = torch.randn(50, 5, generator=rng)
    activations[40:] = activations[:10] + 0.01 * torch.randn(10, 5, generator=rng)
    found = near_groups(Features(activations), 0.9).tolist()
    assert found == obvious(activations, 0.9)
    assert max(found) >= 5


def test_images_connected_by_others_are_one_group():
    angles = torch.tensor([0.0, 0.2, 0.4, 2.0])  # cosines: 0.98 between neighbours, 0.92 between the ends
    features = Features(torch.stack([angles.cos(), angles.sin()], dim=1))
    assert near_groups(features, 0.96).tolist() == [0, 0, 0, -1]


def test_broken_features_are_like_none():
    features = Features(torch.tensor([[1.0, 0.0], [torch.nan, 0.0], [1.0, 0.01], [0.0, 0.0]]))
    assert near_groups(features).tolist() == [0, -1, 0, -1]


def test_no_groups_at_all():
    assert near_groups(Features(torch.eye(4))).tolist() == [-1] * 4


def test_a_chain_of_groups_in_any_order_is_one_group():
    rng = torch.Generator().manual_seed(1)
    angles = torch.arange(40) * 0.1  # each is like its two neighbours only
    activations = torch.stack([angles.cos(), angles.sin()], dim=1)[torch.randperm(40, generator=rng)]
    assert near_groups(Features(activations), 0.99).tolist() == [0] * 40
    assert near_groups(Features(activations), 0.9999).tolist() == [-1] * 40


def test_thousands_of_copies_are_not_joined_pair_by_pair():
    """Four million pairs, which one after the other would take minutes."""
    activations = torch.eye(2).repeat_interleave(2000, dim=0)
    started = time.perf_counter()
    assert near_groups(Features(activations)).tolist() == [0] * 2000 + [1] * 2000
    assert time.perf_counter() - started < 20
