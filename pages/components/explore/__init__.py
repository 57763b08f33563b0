"""The map of a project's images and the grid of thumbnails, as Streamlit components.

`image_map` data in: see pages/parts/explore_map.py, which makes it. State out: polygon, the outline drawn around images
in the map's unit square, or None; trigger out: open, the id of the image that was clicked.
`image_grid` data in: tiles, a list of {id, src, text, note, tone}; compact: small images alone, their text on hover.
Trigger out: open, the id of the tile clicked.
"""

from pathlib import Path

import streamlit as st

_HERE = Path(__file__).parent


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


image_map = st.components.v2.component(
    "penumbra_map", html=_text("map.html"), css=_text("map.css"), js="\n".join(map(_text, ("places.js", "map.js")))
)
image_grid = st.components.v2.component(
    "penumbra_grid",
    html='<div class="grid" role="group" aria-label="Images"></div>',
    css=_text("grid.css"),
    js=_text("grid.js"),
)
