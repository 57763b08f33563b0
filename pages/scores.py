"""Scores: which images each would ask for, how alike they rank, and how good the probabilities under them are."""

import streamlit as st

from core.errors import PenumbraError
from db import repository
from pages.parts import score_charts, scoring
from pages.parts.behind import MOST, tiles
from pages.parts.empty import NO_MODEL, NO_PROJECT, to_projects
from pages.parts.predictives import predictives
from pages.parts.state import database, project_in_address
from pages.parts.text import count, escape
from pages.parts.who import person_menu

CONFIG = {"displayModeBar": False}
CHOOSING = {"displayModeBar": True, "displaylogo": False, "modeBarButtons": [["pan2d", "lasso2d", "select2d"]]}
IMAGES, DRAWS = (200, 500, 1000, 3000), (1024, 4096, 16384)
TEXT_HELP = "The class names' own uncertainty, which the closed forms leave out."


def main() -> None:
    project = project_in_address()
    if project is None:
        return to_projects(NO_PROJECT, "Scores")
    with database().read() as session:
        newest = repository.latest_round(session, project.id)
        answered = repository.counts(session, project.id).answered
    _header(project)
    if newest is None:
        return to_projects(NO_MODEL)
    state = (newest.id, answered)
    for section in (_scores, predictives):
        try:
            section(project, state)
        except PenumbraError as error:
            st.error(escape(str(error)), icon=":material/error:")
    _joint()
    return None


def _header(project) -> None:
    title, who = st.columns([6, 1.4], vertical_alignment="center")
    target = f" → {escape(project.target_domain)}" if project.target_domain else ""
    title.title(f"{escape(project.name)}{target}")
    with who:
        person_menu()


def _scores(project, state: tuple[int, int]) -> None:
    st.subheader("Which images would each score ask for?")
    places = st.columns([1, 1, 2, 1.2], vertical_alignment="bottom")
    images = places[0].selectbox("Images of the pool", IMAGES, 1, format_func="{:,}".format)
    draws = places[1].selectbox("Joint draws", DRAWS, 1, format_func="{:,}".format)
    with_text = places[2].checkbox("Draw the text head too", help=TEXT_HELP)
    kept = f"compared-{project.id}"
    if places[3].button("Compare", type="primary", icon=":material/scatter_plot:", width="stretch"):
        st.session_state[kept] = True
    if not st.session_state.get(kept):
        st.caption("Every score of a drawn part of the pool, beside thousands of draws of the model. Takes seconds.")
        return
    found = scoring.comparison(project.id, state, images, draws, with_text)
    st.markdown(scoring.agreement(found))
    st.caption(scoring.basis(found))
    if words := scoring.broken(found):
        st.warning(words, icon=":material/warning:")
    left, right = st.columns(2, gap="large")
    with left:
        _correlations(found)
    with right:
        _scatter(found)
    table, digits = scoring.score_table(found), _digits("mean", "largest")
    st.dataframe(table, hide_index=True, width="stretch", height="content", column_config=digits)
    st.caption(f"Noise floor, from two independent halves of the draws. {scoring.floor(found)}.")


def _correlations(found) -> None:
    st.markdown("**How alike they rank** :gray[Spearman, 1 is the same order]")
    chart = score_charts.correlations(scoring.titles(found), found.correlation)
    st.plotly_chart(chart, config=CONFIG, key="correlations")


def _scatter(found) -> None:
    st.markdown("**Two scores, image by image** :gray[click a mark to see its image]")
    names, places = scoring.titles(found), st.columns(2)
    chosen = [
        place.selectbox(label, range(len(names)), index, format_func=names.__getitem__)
        for place, label, index in zip(places, ("Across", "Up"), (0, names.index("Entropy")), strict=True)
    ]
    x, y = (found.values[each].tolist() for each in chosen)
    chart = score_charts.scatter(x, y, *(names[each] for each in chosen))
    modes = ("points", "box", "lasso")
    event = st.plotly_chart(chart, config=CHOOSING, key="scatter", on_select="rerun", selection_mode=modes)
    _behind(found, sorted({point["point_index"] for point in event.get("selection", {}).get("points", [])}), chosen)


def _behind(found, positions: list[int], chosen: list[int]) -> None:
    if not positions:
        st.caption("Nothing chosen: click a mark, or draw around some with the lasso above them.")
        return
    shown = scoring.captions(found, positions, chosen)[:MOST]
    first = f", the {len(shown)} highest" if len(shown) < len(positions) else ""
    st.markdown(f"**{count(len(positions), 'image')}**{first}")
    tiles(shown)


def _digits(*names: str) -> dict:
    return {name: scoring.FEW_DIGITS for name in names}


def _joint() -> None:
    st.subheader("Why the draws must be joint")
    chart, words = st.columns([3, 2], gap="large", vertical_alignment="center")
    chart.plotly_chart(score_charts.draw_counts(scoring.demonstration()), config=CONFIG, key="draw-counts")
    words.markdown(
        "**With one draw of the model for pool and targets alike, EPIG stays where it is; with separate draws it only "
        "measures their number.**"
    )
    words.caption(
        "A small random model, 20 images, 10 targets, seed 1. Separate draws make two images look unrelated: what is "
        "left is a bias that falls as one over the number of draws."
    )


main()
