"""The grid of Annotate as a Streamlit component: tiles to be confirmed a page at a time, nothing pressed is lost.

Data in: scope, turn, fresh, saved, refused, classes, pile, piles, tiles, ahead, round, facts, end, which
pages/parts/grid_turn.py makes. State out: report {turn, events, pile, passed, screen}: all events that the server has
not acknowledged yet, and what the person looks at. Trigger out: leave. The outbox and the looks are the desk's.
"""

from pathlib import Path

import streamlit as st

_HERE = Path(__file__).parent
_DESK = _HERE.parent / "annotate"


def _text(*files: Path) -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


grid = st.components.v2.component(
    "penumbra_grid_mode",
    html=_text(_HERE / "grid.html"),
    css=_text(_DESK / "annotate.css", _HERE / "grid.css"),
    js=_text(
        _DESK / "outbox.js", *(_HERE / name for name in ("batches.js", "grid.js", "hands.js", "draw.js", "names.js"))
    ),
)
