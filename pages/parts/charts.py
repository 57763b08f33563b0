"""Figures of the Rounds page: plain functions from data frames to Plotly figures."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pages.parts.theme import BLUE, LINES, ORANGE, QUIET

_MARGIN = {"l": 8, "r": 8, "t": 8, "b": 8}


def learning_curve(frame: pd.DataFrame, metric: str, other: str = "MAP") -> go.Figure:
    """`metric` over the answers given, one point a round.

    `frame` has columns round, labels, <metric>, and where known <metric>_other (the model that is not served),
    <metric>_low and <metric>_high (95 %). None leaves a gap.
    """
    chart = go.Figure()
    if {f"{metric}_low", f"{metric}_high"} <= set(frame):
        _add_band(chart, frame, metric)
    if f"{metric}_other" in frame:
        dashed = {"color": QUIET, "width": 2, "dash": "dot"}
        chart.add_scatter(
            x=frame["labels"],
            y=frame[f"{metric}_other"],
            name=other,
            mode="lines",
            line=dashed,
            hovertemplate="%{y:.3f}",
        )
    chart.add_scatter(
        x=frame["labels"],
        y=frame[metric],
        name="served",
        mode="lines+markers",
        line={"color": BLUE, "width": 2.5},
        marker={"size": 8},
        customdata=frame[["round"]],
        hovertemplate="model %{customdata[0]}: %{y:.3f}",
    )
    return styled(chart, 230, x_title="answers given")


def reliability(bins: pd.DataFrame, chosen: int | None = None) -> go.Figure:
    """How often the model is right against how sure it said it was; below, how many answers each bin holds.

    `bins` has columns lower, upper, count, confidence, accuracy, low, high (the last three None in an empty bin).
    The first of a mark's customdata is the number of its bin; point and bar of the bin `chosen` stand out.
    """
    chart = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.76, 0.24], vertical_spacing=0.04)
    chart.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line={"color": QUIET, "dash": "dot"}, hoverinfo="skip")
    full = bins[bins["count"] > 0]
    chart.add_scatter(
        x=full["confidence"],
        y=full["accuracy"],
        mode="lines+markers",
        line={"color": BLUE, "width": 2.5},
        marker={"size": [13 if each == chosen else 9 for each in full.index], "color": _colours(full, chosen)},
        error_y=_whiskers(full),
        customdata=list(zip(full.index, full["count"], strict=True)),
        hovertemplate="says %{x:.2f}, is right %{y:.2f} (%{customdata[1]} images)<extra></extra>",
    )
    middle, width = (bins["lower"] + bins["upper"]) / 2, bins["upper"] - bins["lower"]
    chart.add_bar(
        x=middle,
        y=bins["count"],
        width=width * 0.9,
        marker_color=_colours(bins, chosen),
        opacity=0.6,
        customdata=list(zip(bins.index, bins["count"], strict=True)),
        hovertemplate="%{y} images<extra></extra>",
        row=2,
        col=1,
    )
    styled(chart, 420)
    chart.update_xaxes(range=[0, 1.02])
    chart.update_xaxes(title="how sure the model is", row=2, col=1)
    chart.update_yaxes(range=[0, 1.02], title="how often it is right", row=1, col=1)
    chart.update_yaxes(title="images", row=2, col=1)
    return chart.update_layout(showlegend=False, hovermode="closest")


def _colours(bins: pd.DataFrame, chosen: int | None) -> list[str]:
    return [ORANGE if each == chosen else BLUE for each in bins.index]


def _whiskers(full: pd.DataFrame) -> dict:
    above, below = full["high"] - full["accuracy"], full["accuracy"] - full["low"]
    return {"array": above, "arrayminus": below, "color": QUIET, "thickness": 1.5, "width": 3}


def _add_band(chart: go.Figure, frame: pd.DataFrame, metric: str) -> None:
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    chart.add_scatter(x=frame["labels"], y=frame[f"{metric}_low"], **edge)
    chart.add_scatter(
        x=frame["labels"], y=frame[f"{metric}_high"], fill="tonexty", fillcolor="rgba(0, 114, 178, 0.14)", **edge
    )


def styled(chart: go.Figure, height: int, x_title: str | None = None) -> go.Figure:
    """The common looks: no background, quiet grid, no legend."""
    axis = {"gridcolor": LINES, "zeroline": False, "automargin": True}
    chart.update_xaxes(**axis, title=x_title)
    chart.update_yaxes(**axis)
    return chart.update_layout(
        height=height,
        margin=_MARGIN,
        showlegend=False,
        hovermode="x unified",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        colorway=[BLUE, ORANGE],
    )
