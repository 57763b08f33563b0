"""The parts of the Simulation page: curves, the table of strategies, and what each picked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from core.simulation.study import tidy
from core.simulation.summary import RANDOM, band, table
from db.repository import PickedRow
from pages.components.explore import image_grid
from pages.parts import sim_charts
from pages.parts.behind import CONFIG, clickable, some_tiles
from pages.parts.one_round import blind_to_answers
from pages.parts.routes import url
from pages.parts.sim_study import (
    USUAL,
    Study,
    class_of,
    counted,
    images_of,
    mark_of,
    point_at,
    title,
)
from pages.parts.sim_words import BETTER, FIGURES, NAMES, axis, columns, explained, strategy_table
from pages.parts.text import count, escape, figure, percent

MOST = {"nlpd": math.inf}  # all others are shares
DRAWN = 6  # curves at first: more cannot be told apart
_WHOLE = '<img src="{}" alt="The image" style="width:100%;max-height:70vh;object-fit:contain;border-radius:8px">'


def curves(study: Study) -> str:
    """The learning curves of a figure, and at the side the images of the point that was clicked; which figure."""
    metric = st.segmented_control(
        "Figure", FIGURES, default=FIGURES[0], required=True, format_func=NAMES.get, key=f"sim-by-{study.row.id}"
    )
    drawn = _drawn(study)
    st.caption(f"{NAMES[metric]}: {BETTER[metric]} · mean of the seeds; shaded: 95 % interval (Student) over them")
    chart, images = st.columns([5, 3], gap="large")
    with chart:
        lines = [_line(study, name, metric) for name in drawn]
        draw = partial(sim_charts.learning_curves, lines, axis(study), NAMES[metric], MOST.get(metric, 1.0))
        chosen = clickable(draw, f"sim-mark-{study.row.id}")
    with images:
        _differences(study, metric)
        _behind_point(study, point_at(study, chosen), metric)
    return metric


def _drawn(study: Study) -> list[str]:
    """The strategies whose curves are shown; while others come in, they are shown too."""
    names = study.strategies
    chosen = st.multiselect(
        "Curves",
        names,
        names[:DRAWN],
        format_func=title,
        key=f"sim-drawn-{study.row.id}-{len(names)}",
        label_visibility="collapsed",
    )
    return [name for name in names if name in chosen]


def _line(study: Study, name: str, metric: str) -> sim_charts.Line:
    found = band(study.curves, name, metric)
    marks = tuple(mark_of(study, name, number) for number in range(len(found.labels)))
    return sim_charts.Line(title(name), found, _look(study, name), marks)


def _look(study: Study, name: str) -> tuple[str, str]:
    others = [each for each in study.strategies if each != RANDOM]
    return sim_charts.RANDOM_LOOK if name == RANDOM else sim_charts.look(others.index(name))


def _differences(study: Study, metric: str) -> None:
    """Each strategy against random by its intervals, the best first."""
    rows = [row for row in table(study.points, metric) if row.difference is not None][:DRAWN]
    if not rows:
        return
    st.markdown(f"**Against random** :gray[{BETTER[metric].split(', ')[-1]}; an interval over 0 may be chance]")
    looks = [(title(row.strategy), row, _look(study, row.strategy)) for row in rows]
    chart = sim_charts.differences(looks, f"{NAMES[metric]} − random's")
    st.plotly_chart(chart, config=CONFIG, key=f"sim-against-{study.row.id}-{metric}")


def _behind_point(study: Study, point: tuple[str, int] | None, metric: str) -> None:
    """The images that a strategy asked in the round before a point, of all seeds."""
    if point is None:
        st.caption("Click a mark of a curve: the images that were asked just before it appear here.")
        return
    name, number = point
    found = band(study.curves, name, metric)
    if number >= len(found.mean):
        return
    st.markdown(f"**{title(name)}, round {number}** · {NAMES[metric]} {figure(found.mean[number])}")
    if number == 0:
        st.caption("Before the first answer: nothing was asked yet.")
        return
    images, rows = images_of(study), []
    for seed in study.seeds:
        asked = study.asked(name, number, seed)
        rows += [(images[path], seed) for path in asked if path in images]
    pictures = [row for row, _ in rows]
    st.caption(escape(_about(study, pictures)))
    some_tiles([(row.sha256, escape(f"{_named(study, row)} · seed {seed}")) for row, seed in rows], across=3, most=9)


def _about(study: Study, rows: Sequence[PickedRow]) -> str:
    """How many, from which domains, and of which classes; not escaped."""
    domains = {row.domain for row in rows if row.domain}
    parts = [count(len(rows), "image")]
    parts += [counted(row.domain or "no domain" for row in rows)] if domains else []
    parts += [] if blind_to_answers(study.project) else [counted(class_of(study, row) for row in rows)]
    return " · ".join(parts)


def _named(study: Study, row: PickedRow) -> str:
    """What may be said of an image; not escaped."""
    parts = [] if blind_to_answers(study.project) else [class_of(study, row)]
    return " · ".join(parts + ([row.domain] if row.domain else [])) or "an image"


def strategies(study: Study, metric: str) -> None:
    """The table of strategies by a figure."""
    st.subheader("Which strategy learns fastest?")
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    left.caption(f"{NAMES[metric]}: {BETTER[metric]}. Chosen above.")
    level = right.number_input(
        "Labels to reach", value=None, step=0.01, format="%.3f", placeholder="random's end", key=f"sim-level-{metric}"
    )
    frame = strategy_table(study, metric, images_of(study), level)
    named = figure(level) if level is not None else "random's end"
    st.dataframe(
        frame,
        hide_index=True,
        width="stretch",
        height="content",
        column_config=columns(study, metric, named),
        placeholder="–",
        key=f"sim-table-{study.row.id}",
    )
    with st.expander("What each strategy is, and when to use it"):
        st.dataframe(explained(), hide_index=True, width="stretch", row_height=50)
    downloads(study)


def downloads(study: Study) -> None:
    """Every point as a table."""
    kinds: dict[str, tuple[str, Callable[[], bytes]]] = {
        "CSV": ("text/csv", lambda: _frame(study).to_csv(index=False).encode()),
        "Parquet": ("application/vnd.apache.parquet", lambda: tidy(study.points).to_parquet(index=False)),
    }
    with st.container(horizontal=True, vertical_alignment="center"):
        for name, (mime, made) in kinds.items():
            st.download_button(
                name,
                made,
                f"simulation-{study.row.id}.{name.lower()}",
                mime,
                on_click="ignore",
                icon=":material/download:",
                type="tertiary",
            )
        st.caption(f"every point of every seed: {count(len(study.points), 'row')}")


def _frame(study: Study):
    frame = tidy(study.points)
    return frame.assign(picked=frame["picked"].map("|".join))


def picks(study: Study) -> None:
    """What two strategies asked with one seed, round by round."""
    st.subheader("What did each ask for?")
    names = study.strategies
    others = [name for name in names if name != RANDOM]
    first = USUAL if USUAL in names else (others or names)[0]
    places = st.columns([2, 2, 1], vertical_alignment="bottom")
    pair = [
        place.selectbox("Strategy" if not i else "Beside it", names, names.index(name), title, key=f"sim-pick-{i}")
        for i, (place, name) in enumerate(zip(places, (first, names[0]), strict=False))
    ]
    seed = places[2].selectbox("Seed", study.seeds, key="sim-pick-seed")
    if study.target:
        st.caption(f"Orange edge: not of {escape(study.target)}. Click an image to see it large.")
    for i, (place, name) in enumerate(zip(st.columns(2, gap="large"), pair, strict=True)):
        with place:
            _strip(study, name, seed, f"{i}-{study.row.id}")


def _strip(study: Study, name: str, seed: int, key: str) -> None:
    images = images_of(study)
    asked = [images[path] for path in study.asked(name, None, seed) if path in images]
    inside = sum(row.domain == study.target for row in asked)
    share = f" · {percent(inside / len(asked))} of {escape(study.target)}" if asked and study.target else ""
    st.markdown(f"**{title(name)}**{share}")
    if not asked:
        st.caption("Its curve with this seed is not stored yet.")
        return
    for number in range(1, study.row.settings["rounds"] + 1):
        rows = [images[path] for path in study.asked(name, number, seed) if path in images]
        if not rows:
            return
        st.caption(f"Round {number} · {escape(_about(study, rows))}")
        tiles = [_tile(study, row) for row in rows]
        opened = image_grid(
            key=f"sim-strip-{key}-{number}", data={"tiles": tiles, "compact": True}, on_open_change=lambda: None
        ).get("open")
        if row := next((row for row in rows if row.item_id == opened), None):
            _large(study, row)


def _tile(study: Study, row: PickedRow) -> dict:
    away = study.target is not None and row.domain != study.target
    return {
        "id": row.item_id,
        "src": url(row.sha256, 256),
        "text": _named(study, row),
        "note": "",
        "tone": "away" if away else "",
    }


@st.dialog("Image", width="large")
def _large(study: Study, row: PickedRow) -> None:
    st.html(_WHOLE.format(url(row.sha256, 1600)))  # a hash only: nothing a person wrote
    st.caption(escape(f"{_named(study, row)} · {row.path}"))
