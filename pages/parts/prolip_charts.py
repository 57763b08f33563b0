"""Figures of the ProLIP page: plain functions to Plotly figures; what anyone wrote goes through `plain`.

Uncertainty has one sequential scale everywhere, inclusion a diverging one around 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from pages.parts.charts import plain, styled
from pages.parts.theme import QUIET

UNCERTAINTY = [[0.0, "#A6D5F5"], [0.5, "#56B4E9"], [1.0, "#0A5C9E"]]
INCLUSION = [[0.0, "#D55E00"], [0.25, "#F0B27F"], [0.5, "#F3F1EC"], [0.75, "#7FB8DB"], [1.0, "#0072B2"]]
SIMILARITY = [[0.0, "#F2F6F9"], [1.0, "#56B4E9"]]
INK = "#17191D"
NUMBERED = 12  # rows up to which every cell of a heat map carries its number


def uncertainty_bars(texts: Sequence[str], values: Sequence[float]) -> go.Figure:
    """One bar a text, in the order given, from the top."""
    rows = list(range(len(texts)))
    chart = go.Figure(
        go.Bar(
            x=list(values),
            y=rows,
            orientation="h",
            marker={"color": list(values), "colorscale": UNCERTAINTY, "line": {"width": 0}},
            text=[f"{value:.3g}" for value in values],
            textposition="outside",
            cliponaxis=False,
            customdata=[plain(text, 160) for text in texts],
            hovertemplate="%{customdata}<br>Σσ² = %{x:.4g}<extra></extra>",
        )
    )
    styled(chart, max(140, 60 + 26 * len(rows)), "uncertainty Σσ²")
    _name_rows(chart, texts)
    return chart.update_layout(hovermode="closest", bargap=0.3, margin={"r": 52})


def _name_rows(chart: go.Figure, texts: Sequence[str], most: int = 34) -> None:
    rows = list(range(len(texts)))
    labels = [plain(text, most) for text in texts]
    chart.update_yaxes(
        tickmode="array", tickvals=rows, ticktext=labels, showgrid=False, range=[len(rows) - 0.5, -0.5], fixedrange=True
    )


def _name_columns(chart: go.Figure, texts: Sequence[str], most: int = 22) -> None:
    labels = [plain(text, most) for text in texts]
    chart.update_xaxes(
        tickmode="array", tickvals=list(range(len(texts))), ticktext=labels, showgrid=False, tickangle=-55
    )


def _heat(rows: Sequence[str], columns: Sequence[str], values, hover: str, number: str, **look) -> go.Figure:
    """A heat map whose hover shows both texts in full length: customdata is (row, column)."""
    names = [[(plain(row, 120), plain(column, 120)) for column in columns] for row in rows]
    numbers = {"texttemplate": number} if max(len(rows), len(columns)) <= NUMBERED else {}
    heat = go.Heatmap(
        z=values, customdata=names, hovertemplate=f"{hover}<extra></extra>", xgap=2, ygap=2, **numbers, **look
    )
    chart = go.Figure(heat)
    styled(chart, max(260, 150 + 26 * len(rows)))
    _name_rows(chart, rows, most=24)
    _name_columns(chart, columns)
    return chart.update_layout(hovermode="closest")


def inclusion(texts: Sequence[str], values: Sequence[Sequence[float]]) -> go.Figure:
    """H(row ⊂ column) in colours by its logarithm on either side of 0: it spans many orders of magnitude.

    The scale stands beside it where the cells carry no numbers: on a tablet it would take their room.
    """
    colours = [[_signed_log(value) for value in line] for line in values]
    end = max(abs(value) for line in colours for value in line) or 1.0
    ticks = [sign * 10**power for power in range(int(end > 2), int(end) + 1) for sign in (-1, 1)] + [0]
    look = {
        "colorscale": INCLUSION,
        "zmin": -end,
        "zmax": end,
        "showscale": len(texts) > NUMBERED,
        "text": [[compact(value) for value in line] for line in values],
        "colorbar": {
            "thickness": 10,
            "len": 0.8,
            "tickvals": [_signed_log(each) for each in ticks],
            "ticktext": [compact(each) for each in ticks],
        },
    }
    return _heat(texts, texts, colours, "“%{customdata[0]}”<br>⊂ “%{customdata[1]}”<br>H = %{text}", "%{text}", **look)


def _signed_log(value: float) -> float:
    return math.copysign(math.log10(1 + abs(value)), value)


def compact(value: float) -> str:
    """“0”, “-0.52”, “17”, “1.4k”, “23k”."""
    if abs(value) >= 999.5:
        return f"{value / 1000:.{0 if abs(value) >= 9500 else 1}f}k"
    return f"{value:.0f}" if abs(value) >= 9.5 or value == 0 else f"{value:.2g}"


def similarity(texts: Sequence[str], values: Sequence[Sequence[float]]) -> go.Figure:
    """Cosine of every two means; below 0 has the colour of 0."""
    hover = "“%{customdata[0]}”<br>and “%{customdata[1]}”<br>cosine %{z:.3f}"
    look = {"colorscale": SIMILARITY, "zmin": 0, "zmax": 1, "showscale": False, "textfont": {"color": INK}}
    return _heat(texts, texts, values, hover, "%{z:.2f}", **look)


def against_length(texts: Sequence[str], tokens: Sequence[int], values: Sequence[float], limit: int) -> go.Figure:
    """Uncertainty over the length in tokens; the dotted line is where the model stops reading."""
    chart = go.Figure(
        go.Scatter(
            x=list(tokens),
            y=list(values),
            mode="markers",
            marker={"size": 9, "color": list(values), "colorscale": UNCERTAINTY, "line": {"width": 1, "color": QUIET}},
            customdata=[plain(text, 120) for text in texts],
            hovertemplate="%{customdata}<br>%{x} tokens, Σσ² = %{y:.4g}<extra></extra>",
        )
    )
    styled(chart, 320, "length, tokens")
    chart.update_yaxes(title="uncertainty Σσ²")
    if max(tokens, default=0) - min(tokens, default=0) < 8:
        chart.update_xaxes(dtick=1)  # a token is whole
    if max(tokens, default=0) > limit:
        chart.add_vline(limit, line={"dash": "dot", "color": QUIET}, annotation_text="cut here")
    return chart.update_layout(hovermode="closest")


def vagueness(classes: Sequence[str], templates: Sequence[str], values, vague: Sequence[Sequence[bool]]) -> go.Figure:
    """Σσ² of each class's prompts, the vague ones crossed."""
    hover = "%{customdata[0]}<br>%{customdata[1]}<br>Σσ² = %{z:.4g}"
    look = {"colorscale": UNCERTAINTY, "colorbar": {"thickness": 10, "len": 0.7}}
    chart = _heat(classes, templates, values, hover, "%{z:.3~g}", **look)
    return _cross(chart, vague)


def weights(classes: Sequence[str], templates: Sequence[str], values) -> go.Figure:
    """What each prompt weighs in its class, from 0 to 1."""
    hover = "%{customdata[0]}<br>%{customdata[1]}<br>weight %{z:.3f}"
    look = {"colorscale": SIMILARITY, "zmin": 0, "zmax": 1, "showscale": False, "textfont": {"color": INK}}
    return _heat(classes, templates, values, hover, "%{z:.2f}", **look)


def _cross(chart: go.Figure, marked: Sequence[Sequence[bool]]) -> go.Figure:
    """A cross in the upper right of each marked cell, beside its number."""
    spots = [(column, row) for row, line in enumerate(marked) for column, mark in enumerate(line) if mark]
    if spots:
        cross = {"symbol": "x", "size": 8, "color": INK, "line": {"width": 1, "color": "white"}}
        x, y = [column + 0.4 for column, _ in spots], [row - 0.24 for _, row in spots]
        chart.add_scatter(x=x, y=y, mode="markers", marker=cross, hoverinfo="skip")
    return chart
