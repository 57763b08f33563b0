"""Rounds: what the model can do, how far its confidence can be trusted, and how both grew with the answers."""

import streamlit as st

from core import class_texts
from core.history import changed_answers
from core.queue import MEASURE, unmeasured
from db import repository
from pages.parts import measures, one_round, sections, working
from pages.parts.empty import NO_MODEL, NO_PROJECT, to_projects
from pages.parts.state import database, go, project_in_address
from pages.parts.text import escape
from pages.parts.two_rounds import two_rounds
from pages.parts.view import look
from pages.parts.who import person_menu

MEASURED = {
    "curves": sections.curves,
    "more": sections.more_to_learn,
    "reliability": sections.trust,
    "confusion": sections.confused,
    "two-rounds": two_rounds,
}
HELP = {
    "accuracy": "Accuracy: share of test images whose first guess is right.",
    "nlpd": "NLPD: how surprised the model is by the right class, in nats. Lower is better.",
    "ece": "ECE: how far stated confidence and share of right answers lie apart, on average. Lower is better.",
}


def main() -> None:
    project = project_in_address()
    if project is None:
        return to_projects(NO_PROJECT, "Rounds")
    with database().read() as session:
        rows = repository.rounds(session, project.id)
        newer = repository.answers_since(session, project.id, rows[-1].label_watermark) if rows else 0
    changed = changed_answers(database(), rows[-1]) if rows else []
    busy = _header(project, rows, newer, len(changed))
    if not rows:
        return to_projects(NO_MODEL)
    one_round.stale(project, rows[-1], changed)
    _now(project, rows)
    view = look(project, rows)
    if not view.images:
        _nothing_measured(view)
    for name, section in MEASURED.items() if view.images else ():
        sections.show(name, section, view)
    with st.container(key="one-round"):
        one_round.one_round(view, busy)
    _table(rows)
    return None


def _now(project, rows) -> None:
    """The newest model in words and three figures."""
    last = rows[-1]
    st.markdown(f"##### {measures.sentence(last)}")
    if measures.kept_pretrained(last):
        st.write("Fine-tuning found no head with a lower validation loss: the pre-trained head stays.")
    _way_to_measure(project, last)
    _figures(measures.frame(measures.of_the_same_classes(rows)), last)


def _header(project, rows, newer: int, changed: int) -> bool:
    """The title and the next step; whether work is under way."""
    title, start, who = st.columns([6, 2, 1.4], vertical_alignment="center")
    target = f" → {escape(project.target_domain)}" if project.target_domain else ""
    title.title(f"{escape(project.name)}{target}")
    with who:
        person_menu()
    running = working.current(project.id, "round") or working.current(project.id, "prepare")
    if running:
        working.show_progress(running)
        return True
    working.await_start(project.id, "round")
    if rows:
        reworded = class_texts.changed(project, rows[-1])
        with start:
            _next_step(project, newer or changed or reworded)
            st.caption(measures.newer(newer, rows[-1].number), text_alignment="center")
        if reworded:
            st.info(f"Texts changed since model {rows[-1].number}: start a round to use them.", icon=":material/info:")
    working.show_failure(working.last(project.id, "round"))
    return False


def _next_step(project, something_new: int | bool) -> None:
    """The one strong button: learn from new or changed answers or texts, or give some answers."""
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


def _nothing_measured(view) -> None:
    if measures.is_measured(view.last):
        st.write("Nothing to show: no test image of this choice has a known class, or the model's file is gone.")


def _table(rows) -> None:
    st.subheader("All rounds")
    st.dataframe(
        measures.table(rows), hide_index=True, width="stretch", column_config=measures.columns(), placeholder="—"
    )


main()
