"""Hierarchies on the disk: what is read is what was computed, and nothing else passes for it."""

import os
from dataclasses import replace

import pytest
from torch.testing import assert_close

from core.prolip import kept
from core.prolip.hierarchy import InclusionRule, Parent, hierarchy
from tests.prolip.gaussians import random_gaussians

RULE = InclusionRule(similarity=0.1)


@pytest.fixture
def images():
    return random_gaussians(37, 5)


def test_what_is_read_is_what_was_computed(images, tmp_path):
    found = hierarchy(images, RULE)
    path = kept.path_of(tmp_path, "f", "i", RULE)
    kept.save(path, found)
    again = kept.load(path, images.uncertainty)
    for name in ("edges", "strength", "included_by", "includes"):
        assert_close(getattr(again.graph, name), getattr(found.graph, name), atol=0, rtol=0)
    for name in ("parent", "depth", "strength"):
        assert_close(getattr(again.tree, name), getattr(found.tree, name), atol=0, rtol=0, equal_nan=True)
    assert (again.tree.tops, again.tree.children) == (found.tree.tops, found.tree.children)


def test_another_encoder_set_or_rule_has_another_file(tmp_path):
    rules = [RULE, replace(RULE, threshold=1.0), replace(RULE, parent=Parent.INCLUDES), replace(RULE, official=True)]
    paths = {kept.path_of(tmp_path, "f", "i", rule) for rule in rules}
    paths |= {kept.path_of(tmp_path, "g", "i", RULE), kept.path_of(tmp_path, "f", "j", RULE)}
    assert len(paths) == 6


def test_what_is_absent_broken_or_of_other_images_is_not_read(images, tmp_path):
    path = tmp_path / "a.safetensors"
    assert kept.load(path, images.uncertainty) is None
    kept.save(path, hierarchy(images, RULE))
    assert kept.load(path, images.uncertainty[:-1]) is None
    path.write_bytes(path.read_bytes()[:-9])
    assert kept.load(path, images.uncertainty) is None


def test_the_longest_unused_goes_first(images, tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "MOST_FILES", 2)
    found = hierarchy(images, RULE)
    for place, name in enumerate("abc"):
        kept.save(tmp_path / f"{name}.safetensors", found)
        os.utime(tmp_path / f"{name}.safetensors", (place, place))
        if name == "b":
            assert kept.load(tmp_path / "a.safetensors", images.uncertainty) is not None  # used: b is the older now
    assert {path.stem for path in tmp_path.iterdir()} == {"a", "c"}
