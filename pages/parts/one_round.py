"""One round: what was asked, who answered, how it learned; and the way back to its model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.errors import PenumbraError
from core.history import Changed, asked, copied, origin, roll_back
from core.team import TeamSettings
from db.repository import Given, ProjectRow, RoundRow
from pages.parts.behind import some_tiles
from pages.parts.state import database
from pages.parts.text import ago, count, escape
from pages.parts.view import View
from pages.parts.who import Role, may, require

ACROSS, MOST = 8, 24


def stale(project: ProjectRow, row: RoundRow, changed: Sequence[Changed]) -> None:
    """Say that answers which the newest model learned from have changed since."""
    if not changed:
        return
    have = "has" if len(changed) == 1 else "have"
    said = f"{count(len(changed), 'answer')} that model {row.number} learned from {have} changed: start a round."
    st.warning(said, icon=":material/history:")
    if blind_to_answers(project):
        return
    names = {each.position: escape(each.name) for each in project.classes}
    with st.expander("Which answers"):
        some_tiles(
            [(e.sha256, f"was {names.get(e.was, '?')}, now {names.get(e.now, 'withdrawn')}") for e in changed],
            ACROSS,
            MOST,
        )


def one_round(view: View, busy: bool) -> None:
    """The details of a round that is chosen here, and its way back unless work is under way."""
    st.subheader("One round")
    numbers = [row.number for row in reversed(view.rows)]
    place, back = st.columns([1, 3], vertical_alignment="bottom")
    number = place.selectbox("Model", numbers, format_func=lambda each: f"model {each}", key=f"one-{view.project.id}")
    row = next(row for row in view.rows if row.number == number)
    if not busy and row.checkpoint != view.last.checkpoint:
        with back:
            _way_back(row)
    st.markdown(made(row))
    if copied(row) is not None:
        st.write(f"It is model {copied(row)} again: what follows is of that round.")
    _asked(view, row)
    with st.expander("Settings and versions"):
        st.dataframe(settings(origin(row, view.rows)), hide_index=True, width="stretch")


def _way_back(row: RoundRow) -> None:
    if not may(Role.REVIEWER):
        return
    with st.popover(f"Roll back to model {row.number}", icon=":material/undo:"):
        st.write(
            f"Model {row.number} then ranks the images and is measured again, as a new round. No answer and no round "
            "is lost, and the next round learns from all answers."
        )
        if st.button("Roll back", type="primary", key=f"roll-back-{row.id}"):
            require(Role.REVIEWER)
            try:
                roll_back(database(), row.project_id, row.number)
            except PenumbraError as error:
                st.error(escape(str(error)), icon=":material/error:")
            else:
                st.session_state.pop(f"one-{row.project_id}", None)
                st.rerun()


def made(row: RoundRow) -> str:
    """When and how a round was made, in one line."""
    steps, metrics = row.settings.get("steps"), row.metrics
    parts = [f"Made {ago(row.created_at)}", f"learned from {count(row.labels, 'answer')}"]
    parts += [f"in {row.seconds:.1f} s"] if copied(row) is None else []
    parts += [f"fine-tuned for {count(steps, 'step')}"] if steps is not None else []
    parts += [f"τ = {metrics['tau']:g} by {metrics.get('chosen_by', 'validation')}"] if metrics.get("tau") else []
    parts += [f"serves {'MAP' if metrics.get('served') == 'map' else 'the posterior'}", f"seed {row.seed}"]
    return " · ".join(parts)


def _asked(view: View, row: RoundRow) -> None:
    given = asked(database(), row, view.rows)
    if not given:
        st.write("It learned no answer that an earlier model had not.")
        return
    st.markdown(who(given))
    names = {each.id: escape(each.name) for each in view.project.classes}
    if blind_to_answers(view.project):
        st.caption("This project is labelled blind: what others answered is shown to reviewers and owners.")
        return
    some_tiles([(each.sha256, names.get(each.class_id, "a class that is gone")) for each in given], ACROSS, MOST)


def blind_to_answers(project: ProjectRow) -> bool:
    """Whether who sits here labels, and is not to see what others answered."""
    return TeamSettings.of(project.team).blind and not may(Role.REVIEWER)


def who(given: Sequence[Given]) -> str:
    """How many new answers, by whom, and what asked for them."""
    people = Counter(each.person for each in given).most_common()
    sources = Counter(each.source for each in given).most_common()
    by = ", ".join(f"{escape(name)} {number:,}" for name, number in people)
    asked_by = ", ".join(f"{escape(source)} {number:,}" for source, number in sources)
    return f"**{count(len(given), 'new answer')}** · {by} · asked for by {asked_by}"


def settings(row: RoundRow) -> pd.DataFrame:
    """Everything that makes the round again, one setting a line."""
    lines = dict(_flat(row.settings)) | {"label watermark": row.label_watermark, "encoder": row.fingerprint}
    lines |= {f"version of {name}": version for name, version in row.versions.items()}
    shown = [(name, str(value)) for name, value in lines.items()]
    return pd.DataFrame(shown, columns=["setting", "value"])


def _flat(values: dict, above: str = "") -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for name, value in values.items():
        whole = f"{above}{name}"
        found += _flat(value, f"{whole}.") if isinstance(value, dict) else [(whole, value)]
    return found
