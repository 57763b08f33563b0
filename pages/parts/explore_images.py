"""The Images view of Explore: a map, facets beside it, and below it the images that are left."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.acquisition.table import SCORES, Acquisition
from core.atlas import SHOWN, SPLITS
from db.repository import ProjectRow, RoundRow
from pages.components.explore import image_map
from pages.parts import explore_grid, explore_map
from pages.parts.explore_grid import open_image, whole_number
from pages.parts.explore_pool import EVERYTHING, STATES, Facets, Pool, asked, bounds, highest, inside, sound_polygon
from pages.parts.explore_search import search_row
from pages.parts.text import small

MOST_SIMILAR = "similarity"
BY_ID = "as imported"
_PLACE = "<style>.st-key-explore-map { min-height: calc(clamp(22rem, 100vh - 31rem, 38rem) + 6.3rem); }</style>"


def show(project: ProjectRow, newest: RoundRow, pool: Pool) -> None:
    """The view. The grid goes to the browser before the map, which is larger and whose place is kept free."""
    similar, nearest = search_row(project, newest, pool.atlas)
    left, right = st.columns([3.1, 1.2], gap="medium")
    with right:
        facets = _facets(project, pool)
    shown = asked(pool, facets)
    if similar is not None:
        among = np.zeros(len(shown), dtype=bool)
        among[highest(similar, shown)[:nearest]] = True
        shown = among
    with left:
        name, by = _choices(pool)
        st.html(_PLACE)  # as high as map.css makes the map: nothing below it jumps when it comes
        place = st.container(key="explore-map")
    laid = explore_map.places(pool, name)
    some = explore_map.drawn(laid, shown, np.random.default_rng(project.seed))
    missing = int(shown.sum()) - len(some)
    part = f" {missing:,} more are not drawn." if missing else ""
    left.caption(f"{explore_map.meaning(by)} {explore_map.MAP_HELP[name]} Draw around images to choose them.{part}")
    key = f"map-{project.id}-{pool.atlas.round}-{name}"
    outline = sound_polygon((st.session_state.get(key) or {}).get("polygon"))
    _below(project, pool, shown if outline is None else shown & inside(laid, outline), similar)
    data = explore_map.payload(pool, laid, some, explore_map.marks(pool, project, by), outline) | {"scope": key}
    with place:
        done = image_map(key=key, data=data, on_polygon_change=lambda: None, on_open_change=lambda: None)
    open_image(whole_number(done.get("open")))


def _choices(pool: Pool) -> tuple[str, str]:
    """Which map, and what colours it."""
    which, colour = st.columns(2)
    name = which.selectbox(
        "Map", list(pool.atlas.maps), format_func=explore_map.MAPS.get, help="Where an image lies on the map."
    )
    by = colour.selectbox("Colour by", explore_map.colourings(), format_func=explore_map.colouring)
    return name, by


def _facets(project: ProjectRow, pool: Pool) -> Facets:
    """What to keep, chosen at the side."""
    names, found = [each.name for each in project.classes], pool.atlas
    st.markdown("**Keep only**")
    splits = st.multiselect("Split", range(len(SPLITS)), format_func=lambda each: str(SPLITS[each]))
    states = st.multiselect("State", STATES, help="Class known: answered, or stated for a validation or test image.")
    domains: list[int] = []
    if len(found.domains) > 1:
        label = dict(enumerate(each or "no domain" for each in found.domains))
        domains = st.multiselect("Domain", list(label), format_func=label.get)
    predicted = st.multiselect("Predicted class", range(len(names)), format_func=names.__getitem__)
    known = st.multiselect("Known class", range(len(names)), format_func=names.__getitem__)
    errors = st.checkbox("Prediction ≠ known class")
    return Facets(tuple(splits), tuple(states), tuple(domains), tuple(known), tuple(predicted), errors, _sliders(pool))


def _sliders(pool: Pool) -> dict[Acquisition, tuple[int, int]]:
    """A window of each score, in per cent of the images: scores have long tails."""
    windows = {}
    with st.expander("Scores", icon=":material/tune:"):
        st.caption("In per cent of the images: 90 to 100 keeps the tenth that scores highest.")
        for score in SHOWN:
            about = SCORES[score]
            window = st.slider(
                about.title, *EVERYTHING, EVERYTHING, help=f"{about.meaning}; {about.unit}", key=f"s-{score}"
            )
            low, high = bounds(pool.atlas.scores[score], window)
            st.caption(f"{small(low)} to {small(high)} {about.unit.split(',')[0]}" if low == low else "no image has it")
            windows[score] = window
    return windows


def _below(project: ProjectRow, pool: Pool, chosen: np.ndarray, similar: np.ndarray | None) -> None:
    """How many there are, their order, the queue of them, and a page of thumbnails."""
    words, order, ask = st.columns([3, 2, 1.6], vertical_alignment="bottom")
    orders = ([MOST_SIMILAR] if similar is not None else []) + [*map(str, SHOWN), BY_ID]
    by = order.selectbox("Order", orders, format_func=_order_name, key=f"order-{similar is not None}")
    values = similar if by == MOST_SIMILAR else -pool.atlas.ids if by == BY_ID else pool.atlas.scores[Acquisition(by)]
    positions = highest(values, chosen)
    words.markdown(explore_grid.said(positions, pool))
    with ask:
        explore_grid.ask_button(project, pool, positions, "images")
    if not len(positions):
        st.write("No image is left: drop one of the limits at the side, or clear the choice on the map.")
        return
    explore_grid.page_of(project, pool, positions, "images")


def _order_name(name: str) -> str:
    if name == MOST_SIMILAR:
        return "most similar first"
    return name if name == BY_ID else f"{SCORES[Acquisition(name)].title}, highest first"
