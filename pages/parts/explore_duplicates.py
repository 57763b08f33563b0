"""Explore's list of duplicates: the same file, or nearly the same picture, and where they leak from split to split."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from core.atlas import MOST
from core.batches import NEAR
from core.duplicates import grouped, leaks
from core.fingerprints import NEAR_BITS
from db import repository
from db.repository import ProjectRow, Split
from pages.parts.explore_grid import grid, open_image, tile
from pages.parts.explore_pool import Pool
from pages.parts.state import database
from pages.parts.text import count, escape

GROUPS = 10  # on a page
FROM_GROUP = 24  # images of one group that are shown
PAIRS = 3  # of a leak that are named
SPLITS = {Split.POOL: "the pool", Split.VALIDATION: "validation", Split.TEST: "test"}


def duplicates(project: ProjectRow, pool: Pool) -> None:
    """Groups of images that are the same, or nearly."""
    leaking(project)
    kinds = ["Nearly the same", "The same file"]
    kind = st.segmented_control("Duplicates", kinds, default=kinds[0], label_visibility="collapsed")
    (_same if kind == kinds[1] else _near)(project, pool)


def leaking(project: ProjectRow) -> None:
    """A warning for each two splits that have the same pictures."""
    for leak in leaks(database(), project.id):
        one, other = (SPLITS[each] for each in leak.splits)
        pairs = "; ".join(f"{escape(a.path)} and {escape(b.path)}" for a, b in leak.examples[:PAIRS])
        st.warning(
            f"**{count(leak.alike, 'picture is', 'pictures are')} in both {one} and {other}**, "
            f"{leak.copies:,} of them to the byte: figures look better than they are. Keep each in one split. {pairs}",
            icon=":material/warning:",
        )


def _near(project: ProjectRow, pool: Pool) -> None:
    near = grouped(database(), project.id, pool.atlas.ids, pool.atlas.near)
    groups = _groups(near)
    hashes = f"perceptual hashes that differ in at most {NEAR_BITS} bits of 64"
    features = f"features with a cosine over {NEAR}"
    if pool.atlas.near is None:
        st.caption(f"This project has over {MOST:,} images: features are not compared.")
    if not groups:
        st.write(f"No two images are nearly the same: none have {features} or {hashes}.")
        return
    st.markdown(f"**{count(len(groups), 'group')}** with {features} or {hashes}, the largest first")
    st.caption("Mostly one picture saved twice, mirrored or brightened. A batch asks one image of each group.")
    pages = -(-len(groups) // GROUPS)
    page = st.pagination(pages, key="page-near") if pages > 1 else 1
    _rows(project, pool, groups[(page - 1) * GROUPS : page * GROUPS], "near")


def _groups(near: np.ndarray) -> list[np.ndarray]:
    """Positions of each group, the largest group first."""
    order = np.argsort(near, kind="stable")
    order = order[np.searchsorted(near[order], 0) :]
    found = np.split(order, np.flatnonzero(np.diff(near[order])) + 1) if len(order) else []
    return sorted(found, key=lambda each: (-len(each), int(each[0])))


def _same(project: ProjectRow, pool: Pool) -> None:
    with database().read() as session:
        number = repository.count_same_files(session, project.id)
        page = st.pagination(max(1, -(-number // GROUPS)), key="page-same") if number > GROUPS else 1
        ids = repository.same_files(session, project.id, (page - 1) * GROUPS, GROUPS)
    if not number:
        st.write("No file is there twice: every image has content of its own (SHA-256).")
        return
    st.markdown(f"**{count(number, 'group')}** of files with the same content (SHA-256), the largest first")
    _rows(project, pool, [pool.atlas.positions(each) for each in ids], "same")


def _rows(project: ProjectRow, pool: Pool, groups: Sequence[np.ndarray], key: str) -> None:
    for group in groups:
        if not len(group):
            continue
        more = f", {FROM_GROUP} of them here" if len(group) > FROM_GROUP else ""
        st.caption(f"{count(len(group), 'image')}{more}{_disagree(project, pool, group)}")
        tiles = [tile(project, pool, int(each)) for each in group[:FROM_GROUP]]
        open_image(grid(f"{key}-{int(pool.atlas.ids[group[0]])}", tiles))


def _disagree(project: ProjectRow, pool: Pool, group: np.ndarray) -> str:
    """That duplicates have different known classes, where they do."""
    classes = sorted({int(each) for each in pool.known[group] if each >= 0})
    if len(classes) < 2:
        return ""
    return f" · known as different classes: {', '.join(escape(project.classes[each].name) for each in classes)}"
