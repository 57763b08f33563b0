"""Walks towards the root, step by step the slow way."""

from itertools import pairwise

import pytest
import torch
from torch.testing import assert_close

from core.prolip import traversal
from core.prolip.inclusion import log_inclusion, log_overlap
from core.prolip.traversal import Begin, RootCaption, joined_root, most_general, most_inclusive, passed, traverse, walk
from core.values import ProlipEmbeddings
from tests.prolip.gaussians import random_gaussians


def walked(image, captions, root, steps, start):
    """Positions at each step, one point at a time."""
    positions = []
    for k in range(steps):
        point = start + k / steps * (root - start)
        point = point / point.norm()
        positions.append(max(range(len(captions)), key=lambda j: float(captions.mean[j] @ point)))
    return positions


@pytest.mark.parametrize("begin", list(Begin))
@pytest.mark.parametrize("steps", [1, 7, 50])
def test_a_walk_notes_the_nearest_caption_at_each_step(begin, steps):
    images, captions, root = random_gaussians(3), random_gaussians(40, seed=1), random_gaussians(1, seed=2).mean[0]
    positions = walk(images, captions, root, steps=steps, begin=begin)
    assert positions.shape == (3, steps)
    for i, image in enumerate(images.mean):
        start = image if begin is Begin.IMAGE else captions.mean[int((captions.mean @ image).argmax())]
        assert positions[i].tolist() == walked(image, captions, root, steps, start)


def test_portions_and_roots_of_their_own_change_nothing(monkeypatch):
    images, captions, roots = random_gaussians(5), random_gaussians(30, seed=1), random_gaussians(5, seed=2).mean
    whole = walk(images, captions, roots)
    monkeypatch.setattr(traversal, "POINTS", 1)
    assert torch.equal(walk(images, captions, roots), whole)
    one_by_one = [walk(images[i], captions, roots[i])[0] for i in range(5)]
    assert torch.equal(torch.stack(one_by_one), whole)


def test_traverse_begins_at_the_own_caption_and_drops_repeats():
    image, captions, root = random_gaussians(1), random_gaussians(200, seed=1), random_gaussians(1, seed=2).mean[0]
    path = traverse(image, captions, root, 50)
    assert path[0] == int((captions.mean @ image.mean[0]).argmax())
    assert len(path) > 2
    assert all(one != after for one, after in pairwise(path))
    near = ProlipEmbeddings(root[None], image.log_variance)
    assert path[-1] == traverse(near, captions, root)[0]


def test_repeats_are_dropped_where_they_follow_each_other_alone():
    assert passed([3, 3, 1, 1, 3, 2]) == [3, 1, 3, 2]
    assert passed([]) == []


@pytest.mark.parametrize("official", [False, True])
def test_the_most_inclusive_caption_is_the_best_of_all_pairs(official):
    images, captions = random_gaussians(4), random_gaussians(9, seed=1)
    for by, value in ((RootCaption.COVERS, log_overlap), (RootCaption.INCLUDES, log_inclusion)):
        best = [
            int(value(image, captions, official=official, epsilon=0.0).argmax())
            for image in map(images.__getitem__, range(4))
        ]
        assert most_inclusive(images, captions, by, official=official).tolist() == best


def test_the_most_general_caption_includes_the_others_most():
    captions = random_gaussians(9)
    means = [float(log_inclusion(captions, captions[j]).mean()) for j in range(9)]
    assert most_general(captions) == most_general(captions, budget=30) == means.index(max(means))
    wide = ProlipEmbeddings(captions.mean, captions.log_variance + 3 * (torch.arange(9)[:, None] == 4))
    assert most_general(wide) == 4


def test_a_joined_root_lies_between_its_parts():
    a, b = random_gaussians(2).mean
    root = joined_root(5 * a, b)
    assert_close(root @ a, root @ b)
    assert_close(root.norm(), torch.ones((), dtype=torch.float64))


def test_what_cannot_be_walked_is_refused():
    image, captions = random_gaussians(1), random_gaussians(3)
    with pytest.raises(ValueError, match="captions and steps, 0 and 50"):
        walk(image, captions[:0], captions.mean[0])
    with pytest.raises(ValueError, match="captions and steps, 3 and 0"):
        walk(image, captions, captions.mean[0], steps=0)
    with pytest.raises(ValueError, match="one image is traversed at a time, 3 came"):
        traverse(captions, captions, captions.mean[0])
    assert walk(image[:0], captions, captions.mean[0]).shape == (0, 50)
