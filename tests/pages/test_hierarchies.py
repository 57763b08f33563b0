"""A hierarchy in the forms that are drawn and taken away: every value at its image, siblings by uncertainty."""

import json
from pathlib import Path

import pytest
import torch
from torch.nn.functional import normalize

from core.prolip.hierarchy import InclusionRule
from core.prolip.inclusion import log_inclusion
from core.values import ProlipEmbeddings
from pages.parts import hierarchies
from pages.parts.hierarchies import NODES, draw, for_the_tree, node_rows, summary, usual_floor
from pages.parts.pictures import Picture, Pictures


def some(n: int, seed: int = 0, d: int = 5) -> Pictures:
    rng = torch.Generator().manual_seed(seed)
    mean = normalize(torch.randn(n, d, generator=rng, dtype=torch.float64) + 1, dim=1)
    log_variance = torch.randn(n, d, generator=rng, dtype=torch.float64) / 2 - 4
    shown = tuple(Picture(f"{i:064x}", f"<b>{i}</b>.png", f"/t/{i}", f"/l/{i}", Path(f"{i}")) for i in range(n))
    return Pictures(shown, ProlipEmbeddings(mean, log_variance))


@pytest.fixture
def drawn():
    return draw(some(40), InclusionRule(similarity=0.5))


def test_the_tree_goes_from_parents_to_children_and_siblings_by_uncertainty(drawn):
    data = for_the_tree(drawn)
    assert sorted(data["order"]) == list(range(40))
    place = {i: at for at, i in enumerate(data["order"])}
    for i, parent in enumerate(data["parent"]):
        assert parent == -1 or place[parent] < place[i]
    for parent in {-1, *data["parent"]}:
        doubts = [data["uncertainty"][i] for i in data["order"] if data["parent"][i] == parent]
        assert doubts == sorted(doubts, reverse=True)
    json.dumps(data, allow_nan=False)


def test_every_value_is_that_of_its_image_and_its_parent(drawn):
    gaussians = drawn.images.gaussians
    for i, row in enumerate(node_rows(drawn)):
        cells = dict(zip(NODES, row, strict=True))
        assert cells["file"] == f"<b>{i}</b>.png"
        assert cells["uncertainty"] == pytest.approx(float(gaussians[i].uncertainty))
        if cells["parent"] is None:
            assert cells["H(image in parent)"] is cells["cosine to parent"] is None
            assert cells["depth"] == 0
            continue
        parent = gaussians[cells["parent"]]
        assert cells["H(image in parent)"] == pytest.approx(float(log_inclusion(gaussians[i], parent)))
        assert cells["cosine to parent"] == pytest.approx(float(gaussians[i].mean[0] @ parent.mean[0]))
        assert cells["cosine to parent"] >= 0.5


def test_the_json_has_the_whole_graph(drawn):
    found = json.loads(hierarchies.as_json(drawn, "tiny", "f00d"))
    assert len(found["nodes"]) == 40
    assert len(found["edges"]) == len(drawn.found.graph.edges) > 0
    assert found["rule"] == {"H above, nats": 0.0, "cosine at least": 0.5, "parent": "covers", "H": "exact"}
    for edge in found["edges"]:
        assert edge["H"] > 0
        assert edge["cosine"] >= 0.5


def test_the_summary_counts(drawn):
    tops = sum(parent == -1 for parent in for_the_tree(drawn)["parent"])
    assert summary(drawn).startswith(f"40 images · {tops} at the top")


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_images_have_a_tree(n):
    images = some(n)
    drawn = draw(images, InclusionRule(similarity=usual_floor(images.gaussians)))
    assert len(for_the_tree(drawn)["order"]) == n
    assert summary(drawn).startswith(f"{n} image")


def test_the_same_images_twice_under_another_rule_are_drawn_anew():
    images = some(5)
    tokens = {for_the_tree(draw(images, InclusionRule(threshold=t)))["token"] for t in (0.0, 1.0)}
    assert len(tokens) == 2


def test_the_usual_floor_leaves_a_tenth_of_the_pairs():
    gaussians = some(300).gaussians
    pairs = (gaussians.mean @ gaussians.mean.T)[torch.ones(300, 300).triu(1).bool()]
    floor = usual_floor(gaussians)
    assert 0.08 <= float((pairs >= floor).double().mean()) <= 0.2
    assert floor * 20 == pytest.approx(round(floor * 20))


def test_many_images_are_compared_once_over_a_restart(tmp_path, monkeypatch):
    monkeypatch.setenv("PENUMBRA_HOME", str(tmp_path))
    monkeypatch.setattr(hierarchies.kept, "WORTH", 20)
    images, rule = some(40), InclusionRule(similarity=0.5)
    first = hierarchies.draw_once(images, rule, "f")
    monkeypatch.setattr(hierarchies, "hierarchy", lambda *_, **__: pytest.fail("compared again"))
    again = hierarchies.draw_once(some(40), rule, "f")
    assert node_rows(again) == node_rows(first)
    assert hierarchies.as_json(again, "m", "f") == hierarchies.as_json(first, "m", "f")


def test_few_images_and_a_full_disk_leave_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("PENUMBRA_HOME", str(tmp_path))
    hierarchies.draw_once(some(40), InclusionRule(), "f")
    assert not list(tmp_path.iterdir())

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(hierarchies.kept, "WORTH", 20)
    monkeypatch.setattr(hierarchies.kept, "save", full)
    assert len(node_rows(hierarchies.draw_once(some(40), InclusionRule(), "f"))) == 40
