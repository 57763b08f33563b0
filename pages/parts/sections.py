"""The charts of the Rounds page; every mark opens its images at the side."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core import cockpit
from core.errors import PenumbraError
from core.figures import METRICS, confusion
from core.history import origin
from core.metrics import binned, binned_error
from db.repository import RoundRow
from pages.parts import charts, measures
from pages.parts.behind import bin_of, clickable, some_tiles
from pages.parts.sim_baseline import Baseline, baseline, way_to_one
from pages.parts.state import database
from pages.parts.text import count, escape, figure, percent
from pages.parts.view import View, curve_frame, drawn

WIDTH, MASS = "equal width", "equal mass"
MOST_CLASSES = 24  # of a confusion matrix that can be read


def show(name: str, section: Callable[[View], None], view: View) -> None:
    """A section under a name that tests and styles find it by; what stops it is said in its place."""
    with st.container(key=name):
        try:
            section(view)
        except PenumbraError as error:
            st.error(escape(str(error)), icon=":material/error:")


def curves(view: View) -> None:
    """Five figures over the answers, and in the sixth place the images of the mark that was clicked."""
    st.subheader("With every answer")
    if len(view.learned) < 2:
        which = "first" if len(view.rows) < 2 else "next"
        st.write(f"The curves begin with the {which} round: label, then press Start round.")
        return
    st.caption(
        f"One mark a round, on what it serves. Solid: posterior. Dotted: the same weights taken as certain (MAP). "
        f"{drawn()}; that of ECE lies high, as images drawn twice add to it · {view.basis()}"
    )
    beside = baseline(view)
    if beside is None:
        way_to_one(view)
    else:
        st.caption(beside.words)
    frame, memory = curve_frame(view), f"curve-{view.project.id}"
    places = [place for _ in range(2) for place in st.columns(3, gap="medium")]
    for place, metric in zip(places, METRICS, strict=False):
        with place:
            st.markdown(f"**{measures.NAMES[metric]}** :gray[{measures.BETTER[metric]}]")
            _curve(frame, metric, memory, beside)
    with places[-1]:
        _behind_point(view, memory)


def _curve(frame, metric: str, memory: str, beside: Baseline | None) -> None:
    if frame[metric].isna().all():
        st.caption("Not defined on images of one class.")
        return
    random = beside.of(metric) if beside else None
    clickable(lambda chosen: charts.learning_curve(frame, metric, chosen, random), f"{memory}-{metric}", newest=memory)


def _behind_point(view: View, memory: str) -> None:
    """Of the round that was clicked, the images that cost this metric most."""
    metric = (st.session_state.get(memory) or "").removeprefix(f"{memory}-")
    number = st.session_state.get(f"{memory}-{metric}")
    row = next((row for row in view.learned if row.number == number), None)
    if row is None:
        st.caption("Click a mark of a curve: the images that cost that figure most appear here.")
        return
    judged = view.judged(row)
    cost = judged.cost(metric)
    worst = cost.argsort(descending=True, stable=True).tolist()
    wrong = int((~judged.correct).sum())
    st.markdown(f"**Model {number}: {wrong} of {count(len(judged), 'image')} wrong**")
    st.caption(f"{measures.NAMES[metric]} {figure(view.spread(row).value(metric))}, the costliest images first")
    some_tiles([view.said(row, at, judged) for at in worst if float(cost[at]) > 0], across=3, most=6)


def trust(view: View) -> None:
    """The reliability diagram of the newest model."""
    st.subheader("Can its confidence be trusted?")
    chart, words = st.columns([3, 2], gap="large")
    judged = view.judged(view.last)
    with chart:
        binning = st.segmented_control("Bins of", (WIDTH, MASS), default=WIDTH, key=f"bins-{view.project.id}")
        listed = binned(judged.confidence, judged.correct, view.bins, equal_mass=binning == MASS)
        table = measures.with_intervals(listed)
        memory = f"bin-{view.last.id}-{binning}-{view.domain}-{view.label}"
        chosen = clickable(lambda number: charts.reliability(table, number), memory)
    words.markdown(measures.trust(table))
    words.caption("On the dotted line, confidence is what it says. Above it the model is too shy, below it too sure.")
    words.caption(
        f"Model {view.last.number} · {view.measured_on()} · {view.bins} bins of {binning or WIDTH}: "
        f"ECE {figure(binned_error(listed))} · whiskers: 95 % (Wilson)"
    )
    with words:
        _behind_bin(view, table, judged, chosen)


def _behind_bin(view: View, table, judged, number: int | None) -> None:
    """Images whose confidence falls into a bin, the wrong ones first."""
    if number is None or number not in table.index:
        st.caption("Click a point or a bar to see its images.")
        return
    inside = [at for at, each in enumerate(judged.confidence.tolist()) if bin_of(each, table) == number]
    correct = judged.correct.tolist()
    inside.sort(key=lambda at: (correct[at], -float(judged.confidence[at])))
    wrong = sum(not correct[at] for at in inside)
    lower, upper = table.loc[number, ["lower", "upper"]]
    st.markdown(f"**{count(len(inside), 'image')}** where it says {percent(lower)} to {percent(upper)}, {wrong} wrong")
    some_tiles([view.said(view.last, at, judged) for at in inside])


def confused(view: View) -> None:
    """The confusion matrix of the newest model."""
    st.subheader("What does it take for what?")
    judged = view.judged(view.last)
    counts = confusion(judged, len(view.names))
    shown = _most_confused(counts)
    few, names = counts[shown][:, shown].tolist(), [view.names[each] for each in shown]
    chart, words = st.columns([3, 2], gap="large")
    with chart:
        memory = f"cell-{view.last.id}-{view.domain}-{view.label}"
        chosen = clickable(lambda cell: charts.confusion(few, names, cell), memory)
    with words:
        st.caption("Numbers are images; the colour is their share of the row. Blue is right, orange a mistake.")
        left_out = f" · the {len(shown)} of {len(counts)} classes with most mistakes" if len(few) < len(counts) else ""
        st.caption(f"Model {view.last.number} · {view.measured_on()}{left_out}")
        _behind_cell(view, judged, shown, chosen)


def _most_confused(counts) -> list[int]:
    """The classes to show, in their order."""
    mistakes = counts.sum(dim=0) + counts.sum(dim=1) - 2 * counts.diagonal()
    return sorted(mistakes.argsort(descending=True, stable=True)[:MOST_CLASSES].tolist())


def _behind_cell(view: View, judged, shown: list[int], cell: int | None) -> None:
    if cell is None or cell >= len(shown) ** 2:
        st.caption("Click a cell to see its images.")
        return
    actual, said = shown[cell // len(shown)], shown[cell % len(shown)]
    inside = ((judged.labels == actual) & (judged.predicted == said)).nonzero()[:, 0].tolist()
    inside.sort(key=lambda at: -float(judged.confidence[at]))
    is_, guess = escape(view.names[actual]), escape(view.names[said])
    what = f"{is_}, rightly so called" if actual == said else f"{is_} taken for {guess}"
    st.markdown(f"**{count(len(inside), 'image')}** of {what}")
    some_tiles([view.said(view.last, at, judged) for at in inside])


def more_to_learn(view: View) -> None:
    """Whether further answers are worth it, and by what rule."""
    st.subheader("Is there more to learn?")
    first, last, tau = view.rows[0], view.last, view.rows[0].metrics.get("tau")
    if tau is None or not cockpit.readable(first) or not cockpit.readable(last):
        st.write("Not known: a model's file is gone.")
        return
    start, now = (left(row.checkpoint, row.label_watermark, tau, row) for row in (first, last))
    share = now.best / start.best if start and now and start.best > 0 else None
    until = [row for row in view.learned if row.number <= origin(last, view.rows).number]
    ends = until[-1 - cockpit.ROUNDS :: cockpit.ROUNDS]
    change = cockpit.step(*ends, view.on, view.images, view.bins) if len(ends) == 2 else None
    stop, why = cockpit.advice(change, share, now.unanswered if now else 0, len(view.images))
    st.markdown(f"**You could stop here:** {why}." if stop else f"**Go on:** {why}.")
    if start and now and share is not None:
        st.caption(_promise(start, now))


def _promise(start: cockpit.Left, now: cockpit.Left) -> str:
    return (
        f"The best image left promises {_share(now.best, start.best)} of what the best did at the start, an average "
        f"one {_share(now.mean, start.mean)} (EPIG, second order, at τ = {now.tau:g} for both · {now.unanswered:,} "
        f"unanswered of {count(now.images, 'drawn image')} · {count(now.targets, 'target image')} · seed {now.seed}). "
        "In closed form, so without a noise floor; the Scores page shows that of sampled scores."
    )


def _share(now: float, start: float) -> str:
    """In per cent, with a digit more where it is small."""
    return f"{100 * now / start:.{0 if now > 0.1 * start else 1}f} %" if start else "–"


@st.cache_data(max_entries=64, show_spinner="Looking at what is left …")
def left(checkpoint: str, watermark: int, tau: float, _row: RoundRow) -> cockpit.Left | None:
    """What is kept stays true: a checkpoint's name is never used again, and the log up to a watermark stays."""
    return cockpit.left_to_learn(database(), _row, tau)
