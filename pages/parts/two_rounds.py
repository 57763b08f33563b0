"""Two rounds side by side on the same images: what differs more than chance, and where."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.cockpit import Step, step
from core.figures import METRICS, SEED, Judged
from db.repository import RoundRow
from pages.parts import measures
from pages.parts.behind import some_tiles
from pages.parts.text import escape, percent
from pages.parts.view import View

FORMAT = st.column_config.NumberColumn(format="%.3f")


def two_rounds(view: View) -> None:
    st.subheader("Two models on the same images")
    rows = {row.number: row for row in view.learned}
    if len(rows) < 2:
        st.write("There is one model so far: the next round makes the second.")
        return
    numbers = list(rows)
    places = st.columns([1, 1, 2], vertical_alignment="bottom")
    first = places[0].selectbox("Model", numbers, len(numbers) - 2, key=f"first-{view.project.id}")
    second = places[1].selectbox("and model", numbers, len(numbers) - 1, key=f"second-{view.project.id}")
    if first == second:
        st.write("Choose two different models.")
        return
    before, after = rows[first], rows[second]
    found = step(before, after, view.on, view.images, view.bins)
    st.markdown(f"**{verdict(found, first, second)}**")
    table, images = st.columns([1, 1], gap="large")
    with table:
        st.dataframe(
            compared(view, before, after, found),
            hide_index=True,
            width="stretch",
            column_config={name: FORMAT for name in (f"model {first}", f"model {second}", "change", "from", "to")},
        )
        st.caption(f"From, to: paired 95 % interval of the change, 500 resamples, seed {SEED} · {view.basis()}")
    with images:
        _different(view, before, after)


def verdict(found: Step, first: int, second: int) -> str:
    """Which of two models is better at what, in words."""
    better = [measures.NAMES[each] for each in METRICS if found.shows(each) and _gain(found, each) > 0]
    worse = [measures.NAMES[each] for each in METRICS if found.shows(each) and _gain(found, each) < 0]
    if not better and not worse:
        return f"Between model {first} and model {second}, these images show no difference beyond chance."
    parts = [f"better in {', '.join(better)}"] if better else []
    parts += [f"worse in {', '.join(worse)}"] if worse else []
    return f"Model {second} is {' and '.join(parts)} than model {first}, beyond chance."


def _gain(found: Step, metric: str) -> float:
    change = found.change[metric] or 0.0
    return change if metric in ("accuracy", "balanced_accuracy") else -change


def compared(view: View, before: RoundRow, after: RoundRow, found: Step) -> pd.DataFrame:
    """One line a metric: both values, the change and its interval."""
    lines = []
    for metric in METRICS:
        low, high = found.interval[metric] or (None, None)
        lines.append(
            {
                "": measures.NAMES[metric],
                f"model {before.number}": view.spread(before).value(metric),
                f"model {after.number}": view.spread(after).value(metric),
                "change": found.change[metric],
                "from": low,
                "to": high,
                "beyond chance": "yes" if found.shows(metric) else "",
            }
        )
    return pd.DataFrame(lines)


def groups(one: Judged, other: Judged) -> list[list[int]]:
    """Positions where only the other is right, only the one is, and where both are wrong in different ways."""
    split: tuple[list[int], list[int], list[int]] = ([], [], [])
    for at, (left, right) in enumerate(zip(one.correct.tolist(), other.correct.tolist(), strict=True)):
        if one.predicted[at] != other.predicted[at]:
            split[0 if right else 1 if left else 2].append(at)
    return list(split)


def _different(view: View, before: RoundRow, after: RoundRow) -> None:
    one, other = view.judged(before), view.judged(after)
    found = groups(one, other)
    names = (f"only model {after.number} is right", f"only model {before.number} is right", "both wrong, differently")
    chosen = st.segmented_control(
        "Where they differ",
        range(len(names)),
        default=0,
        format_func=lambda each: f"{names[each]}: {len(found[each])}",
        key=f"differ-{before.id}-{after.id}",
    )
    if chosen is None or not found[chosen]:
        st.caption("No such image.")
        return
    some_tiles([_both(view, at, one, other) for at in found[chosen]], most=8)


def _both(view: View, at: int, one: Judged, other: Judged) -> tuple[str, str]:
    """The image with both guesses."""
    said = [f"{escape(view.names[int(e.predicted[at])])} {percent(float(e.confidence[at]))}" for e in (one, other)]
    truth = escape(view.names[int(one.labels[at])])
    return view.on.items[view.images[at]].sha256, f"{said[0]} → {said[1]} · is {truth}"
