"""Figures of the Scores page: plain functions to Plotly figures."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from pages.parts.charts import styled
from pages.parts.theme import BLUE, ORANGE, SKY

_SCALE = [[0.0, "#F2F6F9"], [1.0, SKY]]  # light enough for dark figures on every cell
_INK = "#17191D"


def correlations(names: Sequence[str], values: Sequence[Sequence[float]]) -> go.Figure:
    """Rank correlations of every two scores; negative ones have the colour of 0."""
    chart = go.Figure(
        go.Heatmap(
            x=names,
            y=names,
            z=values,
            zmin=0,
            zmax=1,
            colorscale=_SCALE,
            texttemplate="%{z:.2f}",
            textfont={"color": _INK},
            hovertemplate="%{y} and %{x}: %{z:.3f}<extra></extra>",
            showscale=False,
            xgap=2,
            ygap=2,
        )
    )
    styled(chart, 460)
    chart.update_xaxes(showgrid=False, tickangle=-40)
    chart.update_yaxes(showgrid=False, autorange="reversed")
    return chart.update_layout(hovermode="closest")


def scatter(x: Sequence[float], y: Sequence[float], x_title: str, y_title: str) -> go.Figure:
    """One mark an image; its customdata is its position."""
    chart = go.Figure()
    chart.add_scatter(
        x=x,
        y=y,
        mode="markers",
        marker={"size": 7, "color": BLUE, "opacity": 0.65},
        customdata=list(range(len(x))),
        hovertemplate="%{x:.3g}, %{y:.3g}<extra></extra>",
        unselected={"marker": {"opacity": 0.2}},
    )
    styled(chart, 440, x_title)
    chart.update_yaxes(title=y_title)
    return chart.update_layout(hovermode="closest", dragmode="pan")  # with a lasso, Streamlit lets no mark be clicked


def draw_counts(points: pd.DataFrame) -> go.Figure:
    """EPIG against the number of draws on log axes: columns K, joint, independent."""
    chart = go.Figure()
    lines = (("joint", BLUE, "joint draws", "top left"), ("independent", ORANGE, "independent draws", "bottom left"))
    for name, colour, label, place in lines:
        chart.add_scatter(
            x=points["K"],
            y=points[name],
            name=label,
            mode="lines+markers+text",
            text=[""] * (len(points) - 1) + [label],
            textposition=place,
            line={"color": colour, "width": 2.5},
            marker={"size": 8},
            hovertemplate="%{y:.2g} nats",
        )
    styled(chart, 320, "draws")
    chart.update_xaxes(type="log", dtick=1)
    return chart.update_yaxes(type="log", title="EPIG, nats", exponentformat="power", dtick=1)
