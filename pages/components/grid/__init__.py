"""The grid of Annotate as a Streamlit component: tiles to be confirmed a page at a time, nothing pressed is lost.

Data in: scope, turn, fresh, saved, refused, told, classes, keys, pile, piles, tiles, ahead, round, facts, end, made by
pages/parts/grid_turn.py. State out: report {turn, events, asks, pile, passed, screen}: all events that the server has
not acknowledged yet, and what the person looks at. Trigger out: leave. Drawing, outbox, keys, line to the server,
finder and looks are the desk's.
"""

from pathlib import Path

import streamlit as st

_HERE = Path(__file__).parent
_DESK = _HERE.parent / "annotate"
_SCRIPTS = [_DESK / f"{name}.js" for name in ["dom", "outbox", "keys", "link", "finder"]]
_SCRIPTS += [_HERE / f"{name}.js" for name in ["batches", "grid", "hands", "tiles", "draw"]]


def _text(*files: Path) -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


grid = st.components.v2.component(
    "penumbra_grid_mode",
    html=_text(_HERE / "grid.html"),
    css=_text(_DESK / "annotate.css", _HERE / "grid.css"),
    js=_text(*_SCRIPTS),
)
