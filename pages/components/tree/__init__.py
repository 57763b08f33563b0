"""A forest of images as a Streamlit component: on a canvas, so that thousands of nodes move fluidly.

Data in: token (another one draws anew), and of each image at its position parent (−1 at the top), uncertainty,
strength, similarity, name, thumb, large; order: positions, each after its parent (pages/parts/hierarchies.py).
Nothing comes back: expanding, moving and the image at the side need no rerun.
"""

from pathlib import Path

import streamlit as st

_HERE = Path(__file__).parent
_SCRIPTS = ("layout.js", "thumbs.js", "draw.js", "side.js", "tree.js", "hands.js")  # one module, in this order


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


tree = st.components.v2.component(
    "penumbra_tree", html=_text("tree.html"), css=_text("tree.css"), js="\n".join(_text(name) for name in _SCRIPTS)
)
