"""Rounds: what the model can do, how far its confidence can be trusted, and how both grew with the answers."""

import streamlit as st

from core import class_texts
from core.queue import MEASURE, unmeasured
from db import repository
from pages.parts import measures, working
from pages.parts.behind import behind_bin, chosen_bin
from pages.parts.charts import learning_curve, reliability
from pages.parts.state import database, go, project_in_address
from pages.parts.text import escape
from pages.parts.who import person_menu

CONFIG = {"displayModeBar": False}
HELP = {
    "accuracy": "Accuracy: share of test images whose first guess is right.",
    "nlpd": "NLPD: how surprised the model is by the right class, in nats. Lower is better.",
    "ece": "ECE: how far stated confidence and share of right answers lie apart, on average. Lower is better.",
}


def main() -> None:
    project = project_in_address()
    if project is None:
        return _no_project()
    with database().read() as session:
        rows = repository.rounds(session, project.id)
        newer = repository.answers_since(session, project.id, rows[-1].label_watermark) if rows else 0
    _header(project, rows, newer)
    if not rows:
        return _no_rounds()
    last = rows[-1]
    st.markdown(f"##### {measures.sentence(last)}")
    if measures.kept_pretrained(last):
        st.write("Fine-tuning found no head with a lower validation loss: the pre-trained head stays.")
    _way_to_measure(project, last)
    frame = measures.frame(rows)
    _figures(frame, last)
    _curves(frame)
    _trust(last)
    _table(rows)
    return None


def _no_project() -> None:
    st.title("Rounds")
    st.write("Choose a project first.")
    if st.button("See the projects", type="primary"):
        go("projects")


def _no_rounds() -> None:
    st.write("There is no model yet: the images have to be read and ranked first. This starts on the Projects page.")
    if st.button("See the projects", type="primary"):
        go("projects")


def _header(project, rows, newer: int) -> None:
    title, start, who = st.columns([6, 2, 1.4], vertical_alignment="center")
    target = f" → {escape(project.target_domain)}" if project.target_domain else ""
    title.title(f"{escape(project.name)}{target}")
    with who:
        person_menu()
    running = working.current(project.id, "round") or working.current(project.id, "prepare")
    if running:
        working.show_progress(running)
        return
    working.await_start(project.id, "round")
    if rows:
        changed = class_texts.changed(project, rows[-1])
        with start:
            _next_step(project, newer or changed)
            st.caption(measures.newer(newer, rows[-1].number), text_alignment="center")
        if changed:
            st.info(f"Texts changed since model {rows[-1].number}: start a round to use them.", icon=":material/info:")
    working.show_failure(working.last(project.id, "round"))


def _next_step(project, something_new: int | bool) -> None:
    """The one strong button: learn from new answers or texts, or give some answers."""
    if not something_new:
        if st.button("Label images", type="primary", icon=":material/label:", width="stretch"):
            go("annotate", project.id)
    elif st.button("Start round", type="primary", icon=":material/model_training:", width="stretch"):
        working.start(project.id, "round")
        st.rerun()


def _way_to_measure(project, last) -> None:
    """Where nothing can be measured: label images of the splits that measure."""
    if measures.is_measured(last) or not (images := unmeasured(database(), project.id)):
        return
    help_ = "Test and validation images without a known class. Answers there are never trained on."
    if st.button(f"Label {images:,} images to measure with", icon=":material/straighten:", help=help_):
        go("annotate", project.id, order=MEASURE)


def _figures(frame, last) -> None:
    st.caption(measures.basis(last))
    for place, metric in zip(st.columns(3, gap="medium"), measures.METRICS, strict=True):
        value, change = measures.value_and_change(frame, metric)
        look = _look(frame, metric) if change else {}
        place.metric(measures.NAMES[metric], value, change, help=HELP[metric], border=True, **look)


def _look(frame, metric: str) -> dict:
    """Of a change: coloured, with an arrow, only where it says something."""
    if not measures.says_something(frame, metric):
        note = "within the noise" if metric == "accuracy" else "no change"
        return {"delta_color": "gray", "delta_arrow": "off", "delta_description": note}
    return {"delta_color": "normal" if metric == "accuracy" else "inverse"}


def _curves(frame) -> None:
    metrics = measures.measured_metrics(frame)
    if not metrics:
        return
    st.subheader("With every answer")
    if frame[metrics].notna().sum().max() < 2:
        which = "first" if len(frame) < 2 else "next"
        st.write(f"The curves begin with the {which} round: label, then press Start round.")
        return
    st.caption("One point a round. Dotted: the same weights taken as certain (MAP). Shaded: 95 % interval.")
    for place, metric in zip(st.columns(3, gap="medium"), metrics, strict=False):
        place.markdown(f"**{measures.NAMES[metric]}** :gray[{measures.BETTER[metric]}]")
        place.plotly_chart(learning_curve(frame, metric), config=CONFIG, key=f"curve-{metric}")


def _trust(last) -> None:
    st.subheader("Can its confidence be trusted?")
    bins = measures.bins(last)
    if bins is None:
        st.write("Not measured: the test split has no image with a known class.")
        return
    chart, words = st.columns([3, 2], gap="large")
    with chart:
        chosen = _chosen(last, bins)
    words.markdown(measures.trust(bins))
    words.caption("On the dotted line, confidence is what it says. Above it the model is too shy, below it too sure.")
    with words:
        behind_bin(last, bins, chosen)


def _chosen(last, bins) -> int | None:
    """The diagram, and the bin that was clicked last in it.

    A chart keeps what was selected in its other half, so each choice makes a new chart that marks it instead.
    """
    memory = f"bin-{last.id}"
    chosen = st.session_state.get(memory)
    key = f"reliability-{last.id}-{chosen}"
    figure = reliability(bins, chosen)
    event = st.plotly_chart(figure, config=CONFIG, key=key, on_select="rerun", selection_mode="points")
    clicked = chosen_bin(event)
    if clicked is not None and clicked != chosen:
        st.session_state[memory] = clicked
        st.rerun()
    return chosen


def _table(rows) -> None:
    st.subheader("All rounds")
    st.dataframe(
        measures.table(rows), hide_index=True, width="stretch", column_config=measures.columns(), placeholder="—"
    )


main()
