"""The labelling desk as a Streamlit component: one image large, keys answer, nothing typed is lost.

Data in: scope, turn, saved, refused, cards, classes, facts, end (see pages/parts/labelling.py, which makes them).
State out: report {turn, events}: all events that the server has not acknowledged yet.
"""

from pathlib import Path

import streamlit as st

_HERE = Path(__file__).parent
_SCRIPTS = ("outbox.js", "stage.js", "desk.js", "draw.js", "reasons.js")  # one module, in this order


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


rerun = st.components.v2.component("penumbra_rerun", js=_text("rerun.js"))

annotate = st.components.v2.component(
    "penumbra_annotate",
    html=_text("annotate.html"),
    css=_text("annotate.css"),
    js="\n".join(_text(name) for name in _SCRIPTS),
)
