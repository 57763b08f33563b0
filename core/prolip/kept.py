"""Hierarchies on the disk: thousands of images take a minute to compare, and a restart should not ask for it again.

Axes: N images · E edges. A file is named by what it depends on, so what is found is what would be computed.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import asdict
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor

from core.prolip.hierarchy import Hierarchy, InclusionGraph, InclusionRule, grown
from core.tensorfile import write_atomically

logger = logging.getLogger(__name__)

VERSION = 1  # of what is computed and how it is written
WORTH = 300  # images; fewer are compared within a second
MOST_FILES = 40


def path_of(folder: Path, fingerprint: str, images: str, rule: InclusionRule) -> Path:
    """The file of one hierarchy; `fingerprint` names the encoder, `images` which images in which order."""
    about = json.dumps([VERSION, fingerprint, images, asdict(rule)])
    return folder / f"{hashlib.sha256(about.encode()).hexdigest()[:24]}.safetensors"


def save(path: Path, found: Hierarchy) -> None:
    """Write whole or not at all, and drop the files that were longest unused where there are more than MOST_FILES."""
    graph, tree = found.graph, found.tree
    tensors = {
        "edges": graph.edges,
        "strength": graph.strength,
        "included_by": graph.included_by,
        "includes": graph.includes,
        "parent": tree.parent,
        "parent_strength": tree.strength,
    }
    write_atomically(path, {name: each.cpu() for name, each in tensors.items()})
    files = sorted(path.parent.glob("*.safetensors"), key=lambda each: each.stat().st_mtime, reverse=True)
    for old in files[MOST_FILES:]:
        old.unlink(missing_ok=True)


def load(path: Path, uncertainty: Tensor) -> Hierarchy | None:
    """What `save` wrote of images with Σσ² [N], or None where there is nothing that can be read."""
    try:
        with safe_open(str(path), framework="pt") as file:
            found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        path.touch()  # used
        graph = InclusionGraph(*(found[name] for name in ("edges", "strength", "included_by", "includes")))
        if len(found["parent"]) != len(uncertainty):
            raise ValueError(f"{len(found['parent'])} images, not {len(uncertainty)}")
        return Hierarchy(graph, grown(found["parent"], uncertainty, found["parent_strength"]))
    except FileNotFoundError:
        return None
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        logger.warning("%s cannot be used and is computed anew: %s", path, error)
        return None
