"""The Hierarchy tab of the ProLIP page: which image of a set includes which, as a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
import torch

from core import class_texts
from core.encoders import GaussianEncoder
from core.prolip.hierarchy import InclusionRule, Parent
from db.repository import ItemRow, ProjectRow
from pages.components.tree import tree
from pages.parts import hierarchies, prolip, prolip_sources
from pages.parts import prolip_waiting as waits
from pages.parts.background import Background
from pages.parts.hierarchies import Drawn
from pages.parts.pictures import Pictures, Shelf
from pages.parts.reading import read
from pages.parts.text import count
from pages.parts.typed import listed

MOST = 5000
SEED = 0  # of the images drawn from a larger set
POOL, DOMAIN, GUESS, UNSURE, UPLOAD = SETS = (
    "Whole pool",
    "A domain",
    "A predicted class",
    "The least certain",
    "Upload",
)
MEANING = (
    "An image stands under one that includes it: whose Gaussian is wider and lies over it. The general ones are at the "
    "top, the special ones at the bottom."
)
THRESHOLD_HELP = "How much wider: H(image ⊂ other) must be above this many nats. 0 takes every inclusion."
FLOOR_HELP = (
    "H grows with distance, so it alone would let a vague image include everything: only images this alike count. At "
    "first a tenth of all pairs are."
)
PARENTS = {Parent.COVERS: "nearest", Parent.INCLUDES: "most inclusive"}
PARENT_HELP = (
    "Of several that include an image, which one it hangs under: the nearest that is wide enough, or the highest H."
)
OFFICIAL_HELP = (
    "H as the published code computes it, with doubled log-variances. The exact value is the integral itself."
)
AT_ONCE = 0.6  # seconds in which a small set is done without showing a bar

_background = Background()


def show(project: ProjectRow | None, encoder: GaussianEncoder) -> None:
    images = _chosen(project, encoder)
    if images is None:
        return
    rule = _rule(images)
    key = (encoder.fingerprint, images.key, rule)
    task = _background.task(key, lambda report: hierarchies.draw_once(images, rule, encoder.fingerprint, report))
    waits.instead(key, task, _background)
    if not task.ready(AT_ONCE):
        waits.show(task)
        return
    if task.stopped:
        st.info("This was stopped.", icon=":material/info:")
        if st.button("Compare the images", type="primary"):
            _background.forget(key)
            st.rerun()
        return
    _drawn(task.result(), encoder)


def _chosen(project: ProjectRow | None, encoder: GaussianEncoder) -> Pictures | None:
    if project is None:
        shelf = prolip_sources.uploaded(encoder, "hierarchy")
        return None if shelf is None else shelf.take(range(len(shelf)))
    chosen = st.segmented_control(
        "Images", SETS, default=POOL, required=True, key="hierarchy-set", persist_state="session"
    )
    if chosen == UPLOAD:
        shelf = prolip_sources.uploaded(encoder, "hierarchy")
        return None if shelf is None else shelf.take(range(len(shelf)))
    found = prolip_sources.pool(project, encoder)
    if found is None:
        return None
    with st.container(width=420):
        positions = CHOICES[chosen](project, encoder, *found)
    return _at_most(found[0], positions)


def _whole(project: ProjectRow, encoder: GaussianEncoder, shelf: Shelf, items: Sequence[ItemRow]) -> list[int]:
    return list(range(len(shelf)))


def _domain(project: ProjectRow, encoder: GaussianEncoder, shelf: Shelf, items: Sequence[ItemRow]) -> list[int]:
    names = sorted({item.domain or "" for item in items})
    chosen = st.selectbox(
        "Domain", names, format_func=lambda name: name or "none given", key="hierarchy-domain", persist_state="session"
    )
    return [i for i, item in enumerate(items) if (item.domain or "") == chosen]


def _guess(project: ProjectRow, encoder: GaussianEncoder, shelf: Shelf, items: Sequence[ItemRow]) -> list[int]:
    """Those whose nearest class by this encoder is the chosen one, by the weighed mean of the class's prompts."""
    names = [each.name for each in project.classes]
    help_ = "The class whose prompt is nearest to the image by this model, before any answer."
    chosen = st.selectbox(
        "Predicted class",
        range(len(names)),
        format_func=names.__getitem__,
        key="hierarchy-class",
        persist_state="session",
        help=help_,
    )
    guesses = _guesses(project, encoder, shelf)
    return [i for i, guess in enumerate(guesses) if guess == chosen]


def _guesses(project: ProjectRow, encoder: GaussianEncoder, shelf: Shelf) -> list[int]:
    given = listed(class_texts.prompts(project))
    found = dict(zip(given.texts, read(encoder, given, lambda *_: None).gaussians.mean, strict=True))
    texts = [" ".join(text.split()) for text in class_texts.prompts(project)]
    weights = class_texts.weights(project).float()  # [C, T]
    means = torch.stack([found[text] for text in texts]).reshape(*weights.shape, -1)
    classes = torch.nn.functional.normalize((weights[..., None] * means).sum(dim=1), dim=1)  # [C, D]
    parts = [shelf.fetch(part) for part in _parts(range(len(shelf)))]
    return [guess for part in parts for guess in (part.mean @ classes.T).argmax(dim=1).tolist()]


def _parts(positions: Sequence[int], size: int = 4096) -> list[Sequence[int]]:
    return [positions[start : start + size] for start in range(0, len(positions), size)]


def _unsure(project: ProjectRow, encoder: GaussianEncoder, shelf: Shelf, items: Sequence[ItemRow]) -> list[int]:
    most = min(MOST, len(shelf))
    number = st.number_input("How many", 1, most, min(100, most), key="hierarchy-number", persist_state="session")
    return shelf.least_certain()[: int(number)]


CHOICES: dict[str, Callable[..., list[int]]] = {POOL: _whole, DOMAIN: _domain, GUESS: _guess, UNSURE: _unsure}


def _at_most(shelf: Shelf, positions: list[int]) -> Pictures | None:
    if not positions:
        st.info("No image is among these: choose another set.", icon=":material/info:")
        return None
    if len(positions) > MOST:
        drawn = torch.randperm(len(positions), generator=torch.Generator().manual_seed(SEED))[:MOST].sort().values
        st.caption(
            f"{MOST:,} of {count(len(positions), 'image')}, drawn by seed {SEED}: more are not compared at once."
        )
        positions = [positions[i] for i in drawn.tolist()]
    return shelf.take(positions)


def _rule(images: Pictures) -> InclusionRule:
    st.caption(MEANING)
    places = st.columns([1.1, 1.6, 1.6, 1.2], vertical_alignment="bottom", gap="medium")
    threshold = places[0].number_input(
        "H above, nats", 0.0, 1e6, 0.0, help=THRESHOLD_HELP, key="hierarchy-threshold", persist_state="session"
    )
    usual = hierarchies.usual_floor(images.gaussians)
    floor = places[1].slider(
        "Cosine at least",
        -1.0,
        1.0,
        usual,
        0.01,
        help=FLOOR_HELP,
        key=f"hierarchy-floor-{images.key}",
        persist_state="session",
    )
    parent = places[2].segmented_control(
        "Hangs under", list(PARENTS), default=Parent.COVERS, required=True, format_func=PARENTS.get,
        help=PARENT_HELP, key="hierarchy-parent", persist_state="session",
    )  # fmt: skip
    official = places[3].toggle("Official value", help=OFFICIAL_HELP, key="hierarchy-official", persist_state="session")
    return InclusionRule(threshold=threshold, similarity=floor, parent=Parent(parent), official=official)


def _drawn(found: Drawn, encoder: GaussianEncoder) -> None:
    st.markdown(f"**{hierarchies.summary(found)}**")
    if len(found.images) == 1:
        st.caption("One image alone includes nothing: choose more.")
    tree(key="hierarchy-tree", data=hierarchies.for_the_tree(found), height="content")
    st.caption("The tree shows one parent of each image; the JSON has the whole graph. PNG saves what is in view.")
    csv, everything, _ = st.columns([1, 1, 4])
    csv.download_button(
        "CSV", lambda: prolip.table(hierarchies.NODES, hierarchies.node_rows(found)), "penumbra-hierarchy.csv",
        "text/csv", icon=":material/download:", on_click="ignore", width="stretch", key="hierarchy-csv",
    )  # fmt: skip
    everything.download_button(
        "JSON", lambda: hierarchies.as_json(found, encoder.name, encoder.fingerprint), "penumbra-hierarchy.json",
        "application/json", icon=":material/download:", on_click="ignore", width="stretch", key="hierarchy-json",
    )  # fmt: skip
