"""Figures of the Simulation page: plain functions to Plotly figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from core.simulation.summary import Band, Row
from pages.parts.charts import plain, styled
from pages.parts.theme import BLUE, GREEN, GREY, ORANGE, PINK, QUIET, RED, SKY, YELLOW

RANDOM_LOOK = (GREY, "dash")
_COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW)
_DASHES = ("solid", "dot", "dashdot", "longdash")


@dataclass(frozen=True, slots=True)
class Line:
    """A strategy's mean curve [R], its look, and the number of each of its marks [R]."""

    name: str
    band: Band
    look: tuple[str, str]
    marks: tuple[int, ...]


def look(place: int) -> tuple[str, str]:
    """Colour and dash of the strategy at this place beside random; no two of the first 28 look alike."""
    return _COLOURS[place % len(_COLOURS)], _DASHES[place // len(_COLOURS) % len(_DASHES)]


def learning_curves(
    lines: Sequence[Line], x_title: str, y_title: str, most: float, chosen: int | None = None
) -> go.Figure:
    """Mean curves with their bands, which are cut at 0 and `most`: what no figure of the kind can be.

    The first of a mark's customdata is its number; the mark `chosen` stands out.
    """
    chart = go.Figure()
    for line in lines:
        _add_band(chart, line, 0.0, most)
    for line in lines:
        _add_curve(chart, line, chosen)
    styled(chart, 430, x_title)
    chart.update_yaxes(title=y_title)
    legend = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0}
    return chart.update_layout(showlegend=True, legend=legend, hovermode="closest")


def differences(rows: Sequence[tuple[str, Row, tuple[str, str]]], x_title: str) -> go.Figure:
    """Each strategy's difference to random with its interval, by (title, row, look); the line at 0 is random."""
    chart = go.Figure()
    for name, row, (colour, _) in rows:
        if row.difference is None or row.low is None or row.high is None:
            continue
        chart.add_scatter(
            x=[row.difference],
            y=[plain(name)],
            mode="markers",
            marker={"size": 10, "color": colour},
            error_x={
                "array": [row.high - row.difference],
                "arrayminus": [row.difference - row.low],
                "color": colour,
                "thickness": 2.5,
                "width": 5,
            },
            hovertemplate=f"{plain(name)}: %{{x:+.3f}}<br>95 %: {row.low:.3f} to {row.high:.3f}<extra></extra>",
        )
    styled(chart, 90 + 30 * len(chart.data), x_title)
    chart.add_vline(x=0, line={"color": QUIET, "width": 2, "dash": "dash"})
    chart.update_yaxes(autorange="reversed", showgrid=False)
    return chart.update_layout(hovermode="closest")


def _add_band(chart: go.Figure, line: Line, least: float, most: float) -> None:
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, "legendgroup": line.name}
    low, high = ([min(max(each, least), most) for each in side] for side in (line.band.low, line.band.high))
    chart.add_scatter(x=line.band.labels, y=low, **edge)
    chart.add_scatter(x=line.band.labels, y=high, fill="tonexty", fillcolor=_faint(line.look[0]), **edge)


def _add_curve(chart: go.Figure, line: Line, chosen: int | None) -> None:
    (colour, dash), found = line.look, line.band
    spread = "" if math.isnan(found.low[-1]) else "<br>95 %: %{customdata[1]:.3f} to %{customdata[2]:.3f}"
    chart.add_scatter(
        x=found.labels,
        y=found.mean,
        name=plain(line.name),
        legendgroup=line.name,
        mode="lines+markers",
        line={"color": colour, "width": 2.5, "dash": dash},
        marker={
            "size": [14 if mark == chosen else 9 for mark in line.marks],
            "color": colour,
            "line": {"color": "#17191D", "width": [2 if mark == chosen else 0 for mark in line.marks]},
        },
        customdata=list(zip(line.marks, found.low, found.high, strict=True)),
        hovertemplate=f"{plain(line.name)}, %{{x}} labels: %{{y:.3f}}{spread}<extra></extra>",
    )


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.13)"
