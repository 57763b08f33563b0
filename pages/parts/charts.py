"""Figures of the Rounds page: plain functions from data frames to Plotly figures."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.simulation.summary import Band
from pages.parts.theme import BLUE, LINES, ORANGE, QUIET

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_INK, _EMPTY = "#17191D", "rgba(128, 128, 128, 0.08)"
_MARGIN = {"l": 8, "r": 8, "t": 8, "b": 8}


def plain(text: str, most: int = 44) -> str:
    """A text as Plotly shows it letter by letter, shortened: its labels read tags and entities."""
    text = " ".join(text.split())
    return (text if len(text) <= most else f"{text[: most - 1]}…").translate(_ENTITIES)


def learning_curve(
    frame: pd.DataFrame,
    metric: str,
    chosen: int | None = None,
    random: Band | None = None,
) -> go.Figure:
    """`metric` over the answers given, one mark a round; the first of its customdata is the round's number.

    `frame` has columns round, labels, <metric> (what is served), <metric>_posterior, <metric>_map, <metric>_low and
    <metric>_high (95 %). None leaves a gap. `random` is a simulated curve to lie behind, and is called so.
    """
    chart = go.Figure()
    if random is not None:
        _add_simulated(chart, random)
    _add_band(chart, frame, metric)
    _add_line(chart, frame["labels"], frame[f"{metric}_map"], "MAP", {"color": QUIET, "width": 2, "dash": "dot"})
    _add_line(chart, frame["labels"], frame[f"{metric}_posterior"], "posterior", {"color": BLUE, "width": 2.5})
    chart.add_scatter(
        x=frame["labels"],
        y=frame[metric],
        name="served",
        mode="markers",
        marker={
            "size": [13 if each == chosen else 9 for each in frame["round"]],
            "color": [ORANGE if each == chosen else BLUE for each in frame["round"]],
        },
        customdata=frame[["round", f"{metric}_low", f"{metric}_high"]].to_numpy().tolist(),
        hovertemplate="model %{customdata[0]}, %{x} answers: %{y:.3f}"
        "<br>95 %: %{customdata[1]:.3f} to %{customdata[2]:.3f}<extra></extra>",
    )
    return styled(chart, 230, x_title="answers given").update_layout(hovermode="closest")


def _add_simulated(chart: go.Figure, random: Band) -> None:
    chart.add_scatter(
        x=random.labels,
        y=random.mean,
        name="random, simulated",
        mode="lines+text",
        line={"color": QUIET, "width": 2.5, "dash": "dash"},
        text=[""] * (len(random.labels) - 1) + ["random, simulated"],
        textposition="top left",
        hovertemplate="random, simulated, %{x} answers: %{y:.3f}<extra></extra>",
    )


def _add_line(chart: go.Figure, x, y, name: str, line: dict) -> None:
    chart.add_scatter(x=x, y=y, name=name, mode="lines", line=line, hoverinfo="skip")


def reliability(bins: pd.DataFrame, chosen: int | None = None) -> go.Figure:
    """How often the model is right against how sure it said it was; below, how many answers each bin holds.

    `bins` has columns lower, upper, count, confidence, accuracy, low, high (the last three None in an empty bin).
    The first of a mark's customdata is the number of its bin; point and bar of the bin `chosen` stand out.
    """
    chart = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.76, 0.24], vertical_spacing=0.04)
    chart.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line={"color": QUIET, "dash": "dot"}, hoverinfo="skip")
    chart.add_scatter(
        x=bins["confidence"],
        y=bins["accuracy"],
        mode="lines+markers",
        connectgaps=False,  # an empty bin says nothing
        line={"color": BLUE, "width": 2.5},
        marker={"size": [13 if each == chosen else 9 for each in bins.index], "color": _colours(bins, chosen)},
        error_y=_whiskers(bins),
        customdata=list(zip(bins.index, bins["count"], strict=True)),
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
    chart.update_xaxes(range=[-0.02, 1.02])
    chart.update_xaxes(title="how sure the model is", row=2, col=1)
    chart.update_yaxes(range=[-0.03, 1.03], title="how often it is right", row=1, col=1)
    chart.update_yaxes(title="images", row=2, col=1)
    return chart.update_layout(showlegend=False, hovermode="closest")


def confusion(counts: Sequence[Sequence[int]], names: Sequence[str], chosen: int | None = None) -> go.Figure:
    """How many images of a true class (row) are taken for each class (column); right ones blue, mistakes orange.

    The colour is the share of the row. The first of a cell's customdata is row·C + column. Each cell is a bar, which a
    click selects wherever it is hit, as no heat map's cell is.
    """
    size = range(len(names))
    cells = [(actual, said) for actual in size for said in size]
    totals = [max(1, sum(row)) for row in counts]
    shown = [plain(name, 24) for name in names]
    values = [counts[actual][said] for actual, said in cells]
    chart = go.Figure(
        go.Bar(
            x=[said for _, said in cells],
            y=[0.92] * len(cells),
            base=[actual - 0.46 for actual, _ in cells],
            width=0.92,
            marker={
                "color": [_cell(a == said, counts[a][said] / totals[a]) for a, said in cells],
                "line": {"color": BLUE, "width": [3 if a * len(names) + said == chosen else 0 for a, said in cells]},
            },
            text=[str(value) if value else "" for value in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            constraintext="none",
            textfont={"color": _INK},
            customdata=[[a * len(names) + said, shown[a], shown[said], counts[a][said]] for a, said in cells],
            hovertemplate="%{customdata[3]} of %{customdata[1]}, taken for %{customdata[2]}<extra></extra>",
        )
    )
    ticks = {"tickvals": list(size), "ticktext": shown, "showgrid": False, "range": [-0.5, len(names) - 0.5]}
    styled(chart, 150 + 34 * len(names))
    chart.update_xaxes(**ticks, title="taken for", tickangle=-40)
    chart.update_yaxes(**ticks, title="is", tickangle=0)
    chart.update_yaxes(range=[len(names) - 0.5, -0.5])
    return chart.update_layout(hovermode="closest", barmode="overlay")


def _cell(right: bool, share: float) -> str:
    """Pale to full: every cell with a number is light enough for dark figures, on any page."""
    if not share:
        return _EMPTY
    pale, full = ((221, 235, 245), (86, 180, 233)) if right else ((251, 235, 207), (230, 159, 0))
    mixed = (round(a + (b - a) * share) for a, b in zip(pale, full, strict=True))
    return f"rgb({', '.join(map(str, mixed))})"


def _colours(bins: pd.DataFrame, chosen: int | None) -> list[str]:
    return [ORANGE if each == chosen else BLUE for each in bins.index]


def _whiskers(bins: pd.DataFrame) -> dict:
    above, below = bins["high"] - bins["accuracy"], bins["accuracy"] - bins["low"]
    return {"array": above, "arrayminus": below, "color": QUIET, "thickness": 1.5, "width": 3}


def _add_band(chart: go.Figure, frame: pd.DataFrame, metric: str) -> None:
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    chart.add_scatter(x=frame["labels"], y=frame[f"{metric}_low"], **edge)
    chart.add_scatter(
        x=frame["labels"], y=frame[f"{metric}_high"], fill="tonexty", fillcolor="rgba(0, 114, 178, 0.2)", **edge
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
