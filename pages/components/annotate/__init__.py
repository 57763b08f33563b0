"""The labelling desk as a Streamlit component: one image large, keys answer, nothing typed is lost.

Data in: scope, place, turn, saved, refused, told, cards, classes, keys, without, facts, end, hint (made by
pages/parts/labelling.py and desk_*.py). State out: report {turn, events, asks}: all events that the server has not
acknowledged yet, and what is asked of it once.
"""

from pathlib import Path

import streamlit as st

_HERE = Path(__file__).parent
_PARTS = "dom outbox keys zoom stage link finder flags settings desk draw reasons mount"
_SCRIPTS = tuple(f"{name}.js" for name in _PARTS.split())  # one module, in this order


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


rerun = st.components.v2.component("penumbra_rerun", js=_text("rerun.js"))

annotate = st.components.v2.component(
    "penumbra_annotate",
    html=_text("annotate.html"),
    css=_text("annotate.css"),
    js="\n".join(_text(name) for name in _SCRIPTS),
)
