"""The lists of Explore: answers that the model doubts, files that could not be read."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import streamlit as st

from core import audit
from core.audit import LEAST, Audit
from db import repository
from db.repository import ProjectRow
from pages.parts import working
from pages.parts.explore_grid import TILES, grid, open_image
from pages.parts.explore_pool import Pool
from pages.parts.routes import url
from pages.parts.state import database, go
from pages.parts.text import count, percent

FILES = 100  # on a page
READ_AGAIN = "Mend or replace the file, then “Read new images” on the Projects page."


def doubted(project: ProjectRow, pool: Pool) -> None:
    """Known classes that a model which has not learned from them finds unlikely, the least likely first."""
    found = _judged(project)
    if found is None:
        return
    if not found.doubts:
        st.write("No class is known yet: the list begins with the first answers.")
        if st.button("Label images", type="primary", icon=":material/label:"):
            go("annotate", project.id)
        return
    st.markdown(f"**{count(len(found.doubts), 'known class', 'known classes')}**, the least likely first")
    st.caption(judges(found))
    differ = [each for each in found.doubts if each.predicted != each.known]
    only = st.checkbox(f"Only where the model says another class ({len(differ):,})", value=True)
    doubts = differ if only else list(found.doubts)
    pages = max(1, -(-len(doubts) // TILES))
    page = st.pagination(pages, key="page-doubts") if pages > 1 else 1
    names = [each.name for each in project.classes]
    tiles = [_doubt(pool, names, each) for each in doubts[(page - 1) * TILES : page * TILES]]
    tiles = [each for each in tiles if each]
    if not tiles:
        st.write("The model agrees with every known class.")
        return
    open_image(grid("grid-doubts", tiles))


def judges(found: Audit) -> str:
    """Which models judged, in plain words."""
    if not found.answers:
        who = "There are no answers in the pool yet."
    elif found.folds > 1:
        who = (
            f"Each of the {count(found.answers, 'answer')} is judged by a model of the other {found.folds - 1} fifths."
        )
    else:
        who = f"With under {LEAST} answers, the pre-trained model judges them: it has learned from none."
    return f"{who} Classes of validation and test images are judged by model {found.round}, which never trains on them."


def _doubt(pool: Pool, names: list[str], each: audit.Doubt) -> dict | None:
    position = next(iter(pool.atlas.positions([each.item_id]).tolist()), None)
    if position is None:
        return None
    return {
        "id": each.item_id,
        "src": url(pool.atlas.sha256(position), 256),
        "text": f"{names[each.known]}? {percent(each.probability)}",
        "note": f"model: {names[each.predicted]} {percent(each.confidence)}",
        "tone": "",
    }


def _judged(project: ProjectRow) -> Audit | None:
    """The audit of the answers as they stand; where there is none yet, the way to it."""
    path = audit.path_of(database(), project.id)
    if path.exists():
        return _opened(str(path))
    if running := working.current(project.id, "audit"):
        working.show_progress(running)
        return None
    working.show_failure(working.last(project.id, "audit"))
    st.write("Which answers would models that have not learned from them give a low probability? Takes under a minute.")
    if st.button("Judge the answers", type="primary", icon=":material/fact_check:"):
        working.start(project.id, "audit")
        st.rerun()
    return None


@st.cache_data(max_entries=4, show_spinner=False)
def _opened(path: str) -> Audit:
    return audit.load(Path(path))


def problems(project: ProjectRow) -> None:
    """Files that could not be taken in, and why."""
    with database().read() as session:
        number = repository.count_problems(session, project.id)
        page = st.pagination(-(-number // FILES), key="page-problems") if number > FILES else 1
        rows = repository.problems_page(session, project.id, (page - 1) * FILES, FILES)
    if not number:
        st.write("Every image file of the folder could be read.")
        return
    st.markdown(f"**{count(number, 'file')}** could not be taken in")
    st.caption(READ_AGAIN)
    table = pd.DataFrame([(row.path, row.reason) for row in rows], columns=["file", "why"])
    st.dataframe(table, hide_index=True, width="stretch")
