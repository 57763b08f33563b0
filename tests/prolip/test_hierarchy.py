"""The hierarchy of a set of images against all pairs, one at a time, and against powers of the graph."""

import pytest
import torch
from torch.testing import assert_close

from core.errors import Cancelled, InputError
from core.prolip import hierarchy as module
from core.prolip.hierarchy import ROOT, InclusionRule, Parent, hierarchy, transitive_reduction
from core.prolip.inclusion import log_inclusion, log_overlap
from core.prolip.similarity import cosine
from core.values import ProlipEmbeddings
from tests.prolip.gaussians import random_gaussians
from tests.small import generator

RULES = [
    InclusionRule(),
    InclusionRule(parent=Parent.INCLUDES),
    InclusionRule(threshold=2.0, similarity=-0.1),
    InclusionRule(threshold=-1.0, similarity=0.2, parent=Parent.INCLUDES),
    InclusionRule(official=True, threshold=1.0),
]


def including(images: ProlipEmbeddings, rule: InclusionRule) -> dict[int, list[int]]:
    """For each image those that include it, pair by pair."""
    uncertainty = images.uncertainty.tolist()

    def includes(i: int, j: int) -> bool:
        later = (uncertainty[j], j) > (uncertainty[i], i)
        near = rule.similarity is None or float(cosine(images[i], images[j])) >= rule.similarity
        return later and near and float(log_inclusion(images[i], images[j], official=rule.official)) > rule.threshold

    count = range(len(images))
    return {i: [j for j in count if i != j and includes(i, j)] for i in count}


def reachable(edges: torch.Tensor) -> torch.Tensor:
    """Who reaches whom, by N powers of the graph."""
    reach = edges.double()
    for _ in range(len(edges)):
        reach = ((reach + reach @ edges.double()) > 0).double()
    return reach > 0


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize(("budget", "sparse"), [(10, 0), (10, 10**9), (200_000, 0), (200_000, 10**9), (200_000, 8)])
def test_graph_and_tree_are_those_of_all_pairs(rule, budget, sparse, monkeypatch):
    monkeypatch.setattr(module, "BAND", 5)
    monkeypatch.setattr(module, "SPARSE", sparse)
    images = random_gaussians(23, seed=3)
    found, expected = hierarchy(images, rule, budget=budget), including(images, rule)
    assert found.graph.included_by.tolist() == [len(expected[i]) for i in range(23)]
    assert found.graph.includes.tolist() == [sum(i in each for each in expected.values()) for i in range(23)]
    value = log_overlap if rule.parent is Parent.COVERS else log_inclusion
    for i, candidates in expected.items():
        by_value = {float(value(images[i], images[j], official=rule.official)): j for j in candidates}
        assert int(found.tree.parent[i]) == (by_value[max(by_value)] if candidates else ROOT)
    full = torch.zeros(23, 23, dtype=torch.bool)
    for i, candidates in expected.items():
        full[i, candidates] = True
    reduced = torch.zeros_like(full)
    reduced[found.graph.edges[:, 0], found.graph.edges[:, 1]] = True
    assert torch.equal(reachable(reduced), reachable(full))
    assert 0 < len(found.graph.edges) < int(full.sum())


def test_edges_and_parents_carry_their_inclusion():
    images = random_gaussians(12)
    found = hierarchy(images)
    inner, outer = found.graph.edges.T
    assert_close(found.graph.strength, log_inclusion(images[inner], images[outer]))
    below = found.tree.parent != ROOT
    assert_close(found.tree.strength[below], log_inclusion(images[below], images[found.tree.parent[below]]))
    assert bool(found.tree.strength[~below].isnan().all())


def test_depth_children_and_tops_agree_with_parents():
    images = random_gaussians(30, 3, seed=1)
    tree = hierarchy(images, InclusionRule(threshold=0.5)).tree
    for i, parent in enumerate(tree.parent.tolist()):
        chain = [i]
        while int(tree.parent[chain[-1]]) != ROOT:
            chain.append(int(tree.parent[chain[-1]]))
        assert int(tree.depth[i]) == len(chain) - 1
        assert (i in tree.tops) == (parent == ROOT)
        assert [k for k in range(30) if i in tree.children[k]] == ([] if parent == ROOT else [parent])
    for siblings in (tree.tops, *tree.children):
        uncertainty = images.uncertainty[list(siblings)].tolist()
        assert uncertainty == sorted(uncertainty, reverse=True)
    assert int(tree.depth.max()) > 1


def test_circles_of_inclusion_are_cut_by_uncertainty():
    """H of summed dimensions can run in a circle; two equal images include neither each other."""
    log_variance = torch.tensor([[0.0, -6.0, -3.0], [-3.0, 0.0, -6.0], [-6.0, -3.0, 0.0]], dtype=torch.float64)
    mean = torch.eye(3, dtype=torch.float64)[[0, 0, 0]]
    rolled = ProlipEmbeddings(mean, log_variance)
    around = [float(log_inclusion(rolled[i], rolled[j])) for i, j in ((0, 1), (1, 2), (2, 0))]
    assert min(around) > 0.1
    for rule in (InclusionRule(threshold=-100.0), InclusionRule()):
        order = hierarchy(rolled, rule).graph.edges
        assert not bool(torch.isin(order[:, 0] * 3 + order[:, 1], order[:, 1] * 3 + order[:, 0]).any())
    twins = hierarchy(rolled[[0, 0]])
    assert len(twins.graph.edges) == 0
    assert twins.tree.tops == (1, 0)


@pytest.mark.parametrize("nearest", [0, 1, 32])
@pytest.mark.parametrize("share", [0.05, 0.3, 1.0])
def test_a_reduction_is_the_smallest_graph_with_the_same_paths(nearest, share, monkeypatch):
    monkeypatch.setattr(module, "NEAREST", nearest)
    edges = (torch.rand(18, 18, generator=generator(2)) < share).triu(diagonal=1)
    before = edges.clone()
    kept = transitive_reduction(edges)
    reduced = torch.zeros_like(before)
    reduced[kept[:, 0], kept[:, 1]] = True
    assert not bool((reduced & ~before).any())
    assert torch.equal(reachable(reduced), reachable(before))
    assert torch.equal(edges, reachable(before))
    for i, j in kept.tolist():
        less = reduced.clone()
        less[i, j] = False
        assert not torch.equal(reachable(less), reachable(before))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_the_smallest_sets(count):
    found = hierarchy(random_gaussians(3)[:count])
    assert found.tree.parent.shape == (count,)
    assert found.graph.edges.shape[1] == 2
    assert len(found.tree.children) == count
    assert len(found.tree.tops) + int((found.tree.parent != ROOT).sum()) == count


def test_progress_is_told_and_can_cancel():
    told = []
    hierarchy(random_gaussians(70), on_progress=lambda *report: told.append(report[:2]))
    assert told == [(64, 70), (70, 70), (6, 70), (70, 70)]

    def stop(*_):
        raise Cancelled

    with pytest.raises(Cancelled):
        hierarchy(random_gaussians(3), on_progress=stop)


def test_what_cannot_be_compared_is_refused(monkeypatch):
    images = random_gaussians(3)
    with pytest.raises(InputError, match="not finite"):
        hierarchy(ProlipEmbeddings(images.mean * torch.nan, images.log_variance))
    monkeypatch.setattr(module, "MOST_IMAGES", 2)
    with pytest.raises(InputError, match="takes 2 images, 3 came"):
        hierarchy(images)
    for wrong in ({"threshold": float("nan")}, {"similarity": 1.5}):
        with pytest.raises(InputError, match=r"came|no number"):
            InclusionRule(**wrong)
