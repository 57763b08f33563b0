"""The frame around every page: name, menu, who sits here."""

from pathlib import Path

import streamlit as st

from pages.parts.who import let_in

PARTS = Path(__file__).parent / "parts"

st.set_page_config(page_title="Penumbra", page_icon=str(PARTS / "mark.svg"), layout="wide")
st.logo(str(PARTS / "logo.svg"), size="large")
let_in()
page = st.navigation(
    [
        st.Page("projects.py", title="Projects", icon=":material/folder:", default=True),
        st.Page("annotate.py", title="Annotate", icon=":material/label:"),
        st.Page("explore.py", title="Explore", icon=":material/explore:"),
        st.Page("rounds.py", title="Rounds", icon=":material/trending_up:"),
        st.Page("simulation.py", title="Simulation", icon=":material/science:"),
        st.Page("team.py", title="Team", icon=":material/group:"),
        st.Page("scores.py", title="Scores", icon=":material/scatter_plot:"),
        st.Page("prolip.py", title="ProLIP", icon=":material/blur_on:"),
    ],
    position="top",
)
page.run()
