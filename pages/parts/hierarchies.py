"""A hierarchy of images in the forms that are drawn and taken away.

Axes: N images · E edges.
"""

from __future__ import annotations

import json
import logging
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from core.config import home
from core.prolip import kept
from core.prolip.hierarchy import ROOT, Hierarchy, InclusionRule, hierarchy
from core.prolip.similarity import cosine
from core.values import Progress, ProlipEmbeddings, silent
from pages.parts.pictures import Pictures
from pages.parts.text import count

logger = logging.getLogger(__name__)

SAMPLE = 400  # images that the usual floor is taken from
ALIKE = 0.9  # of all pairs are less alike than the usual floor


@dataclass(frozen=True, slots=True)
class Drawn:
    """A set of images, the rule, what includes what under it, and Σσ² of each image."""

    images: Pictures
    rule: InclusionRule
    found: Hierarchy
    uncertainty: list[float]
    to_parent: list[float | None]  # cosine of an image and its parent
    along: list[float]  # cosine of each edge of the graph


def draw(images: Pictures, rule: InclusionRule, on_progress: Progress = silent) -> Drawn:
    """The hierarchy of some images; raises InputError for too many or broken ones."""
    return described(images, rule, hierarchy(images.gaussians, rule, on_progress=on_progress))


def draw_once(images: Pictures, rule: InclusionRule, fingerprint: str, on_progress: Progress = silent) -> Drawn:
    """The same, of many images from the disk where it was drawn before; `fingerprint` is the encoder's."""
    if len(images) < kept.WORTH:
        return draw(images, rule, on_progress)
    path = kept.path_of(home() / "hierarchies", fingerprint, images.key, rule)
    if (found := kept.load(path, images.gaussians.uncertainty)) is not None:
        return described(images, rule, found)
    drawn = draw(images, rule, on_progress)
    try:
        kept.save(path, drawn.found)
    except OSError as error:  # a full disk: it is here all the same
        logger.warning("%s is not kept: %s", path, error)
    return drawn


def described(images: Pictures, rule: InclusionRule, found: Hierarchy) -> Drawn:
    """A hierarchy with what is said of its images beside it."""
    parents = found.tree.parent
    below = (parents != ROOT).nonzero()[:, 0]
    to_parent: list[float | None] = [None] * len(images)
    for i, value in zip(below.tolist(), _cosines(images.gaussians, below, parents[below]), strict=True):
        to_parent[i] = value
    along = _cosines(images.gaussians, *found.graph.edges.T)
    return Drawn(images, rule, found, images.gaussians.uncertainty.tolist(), to_parent, along)


def _cosines(gaussians: ProlipEmbeddings, left: Tensor, right: Tensor, at_once: int = 100_000) -> list[float]:
    mean = torch.nn.functional.normalize(gaussians.mean, dim=1)
    parts = zip(left.split(at_once), right.split(at_once), strict=True)
    return [value for a, b in parts for value in (mean[a] * mean[b]).sum(dim=1).clamp(-1, 1).tolist()]


def usual_floor(gaussians: ProlipEmbeddings) -> float:
    """A cosine that a tenth of all pairs reach, in steps of 0.05, from at most SAMPLE evenly spaced images."""
    total = len(gaussians)
    if total < 3:
        return 0.0
    some = gaussians[torch.linspace(0, total - 1, min(SAMPLE, total)).long()]
    alike = cosine(some, some)
    pairs = alike[torch.ones_like(alike, dtype=torch.bool).triu(1)]
    return min(0.95, max(-1.0, math.floor(float(pairs.quantile(ALIKE)) * 20) / 20))


def for_the_tree(drawn: Drawn) -> dict:
    """What the component draws: a value of each image at its position, −1 the parent of those at the top."""
    tree, pictures = drawn.found.tree, drawn.images.pictures
    return {
        "token": f"{drawn.images.key}-{hash(drawn.rule)}",
        "parent": tree.parent.tolist(),
        "order": _top_down(drawn),
        "uncertainty": [_short(value) for value in drawn.uncertainty],
        "strength": [None if math.isnan(value) else _short(value) for value in tree.strength.tolist()],
        "similarity": [None if value is None else round(value, 3) for value in drawn.to_parent],
        "name": [each.name for each in pictures],
        "thumb": [each.thumb for each in pictures],
        "large": [each.large for each in pictures],
    }


def _top_down(drawn: Drawn) -> list[int]:
    """Positions, each after its parent, siblings from the most uncertain on."""
    tree, order = drawn.found.tree, []
    todo = list(reversed(tree.tops))
    while todo:
        order.append(i := todo.pop())
        todo.extend(reversed(tree.children[i]))
    return order


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def summary(drawn: Drawn) -> str:
    """The tree in figures, each said of what."""
    tree, total = drawn.found.tree, len(drawn.images)
    alone = sum(not tree.children[i] for i in tree.tops)
    deepest = int(tree.depth.max()) + 1 if total else 0
    neither = f" ({alone:,} include none either)" if alone else ""
    parts = [
        count(total, "image"),
        f"{len(tree.tops):,} at the top, included by none{neither}",
        count(deepest, "level"),
        f"{count(len(drawn.found.graph.edges), 'inclusion')} that no others imply",
    ]
    return " · ".join(parts)


NODES = (
    *("image", "file", "sha256", "uncertainty", "parent", "depth", "H(image in parent)", "cosine to parent"),
    *("included by", "includes"),
)


def node_rows(drawn: Drawn) -> list[tuple]:
    """One row an image, in the set's order; `parent` is a position, empty at the top."""
    tree, graph = drawn.found.tree, drawn.found.graph
    columns = zip(
        drawn.images.pictures, drawn.uncertainty, tree.parent.tolist(), tree.depth.tolist(), tree.strength.tolist(),
        drawn.to_parent, graph.included_by.tolist(), graph.includes.tolist(), strict=True,
    )  # fmt: skip
    return [
        (i, each.name, each.sha256, doubt, None if parent == ROOT else parent, depth,
         None if math.isnan(strength) else strength, alike, included_by, includes)
        for i, (each, doubt, parent, depth, strength, alike, included_by, includes) in enumerate(columns)
    ]  # fmt: skip


def whole(drawn: Drawn, model: str, fingerprint: str) -> dict:
    """Everything, as JSON has it: the model, the rule, nodes and the edges of the graph."""
    rule, graph = drawn.rule, drawn.found.graph
    edges = zip(graph.edges.tolist(), graph.strength.tolist(), drawn.along, strict=True)
    return {
        "model": model,
        "fingerprint": fingerprint,
        "rule": {
            "H above, nats": rule.threshold,
            "cosine at least": rule.similarity,
            "parent": rule.parent.value,
            "H": "as published" if rule.official else "exact",
        },
        "nodes": [dict(zip(NODES, row, strict=True)) for row in node_rows(drawn)],
        "edges": [{"included": a, "including": b, "H": strength, "cosine": alike} for (a, b), strength, alike in edges],
    }


def as_json(drawn: Drawn, model: str, fingerprint: str) -> str:
    return json.dumps(whole(drawn, model, fingerprint), ensure_ascii=False)
