"""Figures of images on the ProLIP page: plain functions to Plotly figures; what anyone wrote goes through `plain`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from pages.parts.charts import plain, styled
from pages.parts.prolip_charts import UNCERTAINTY
from pages.parts.theme import BLUE, QUIET

BINS = 30


def bins(values: Sequence[float]) -> np.ndarray:
    """Edges of the histogram's bins, the last one included; one bin where all values are alike."""
    low, high = min(values), max(values)
    if high - low <= 1e-9 * max(1.0, abs(high)):
        width = max(abs(high), 1e-3) * 0.05
        return np.array([low - width, high + width])
    return np.histogram_bin_edges(values, bins=min(BINS, max(2, len(values))))


def bin_of(values: Sequence[float], edges: np.ndarray) -> np.ndarray:
    """The number of each value's bin."""
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)


def histogram(values: Sequence[float], edges: np.ndarray) -> go.Figure:
    """How many images each bin of Σσ² holds; a bar's customdata is the number of its bin."""
    held = np.bincount(bin_of(values, edges), minlength=len(edges) - 1)
    middle = (edges[:-1] + edges[1:]) / 2
    chart = go.Figure(
        go.Bar(
            x=middle,
            y=held,
            width=np.diff(edges) * 0.94,
            marker={"color": middle, "colorscale": UNCERTAINTY, "line": {"width": 0}},
            customdata=[[number, low, high] for number, (low, high) in enumerate(pairwise(edges.tolist()))],
            hovertemplate="%{y} images of Σσ² from %{customdata[1]:.4g} to %{customdata[2]:.4g}<extra></extra>",
            unselected={"marker": {"opacity": 0.35}},
        )
    )
    styled(chart, 300, "uncertainty Σσ²")
    chart.update_yaxes(title="images", **({"dtick": 1} if held.max() < 6 else {}))  # an image is whole
    return chart.update_layout(hovermode="closest", dragmode=False)


def against_mask(shares: Sequence[float], values: Sequence[float], title: str, zero: bool = False) -> go.Figure:
    """One value over the share that is masked, in percent; `zero` marks the line above which H speaks of inclusion."""
    chart = go.Figure(
        go.Scatter(
            x=[100 * share for share in shares],
            y=list(values),
            mode="lines+markers",
            line={"color": BLUE, "width": 2.5},
            marker={"size": 8},
            hovertemplate="%{x:.0f} % masked: %{y:.4g}<extra></extra>",
        )
    )
    styled(chart, 250, "masked, %")
    if zero:
        chart.add_hline(0, line={"dash": "dot", "color": QUIET})
    chart.update_yaxes(title=title)
    return chart.update_layout(hovermode="closest")


def path(captions: Sequence[str], values: Sequence[float]) -> go.Figure:
    """Σσ² of the captions that a walk passes, in its order from the left."""
    steps = list(range(len(captions)))
    chart = go.Figure(
        go.Scatter(
            x=steps,
            y=list(values),
            mode="lines+markers",
            line={"color": QUIET, "width": 2},
            marker={"size": 14, "color": list(values), "colorscale": UNCERTAINTY, "line": {"width": 1, "color": QUIET}},
            customdata=[plain(text, 160) for text in captions],
            hovertemplate="%{customdata}<br>Σσ² = %{y:.4g}<extra></extra>",
        )
    )
    styled(chart, 320)
    labels = [plain(text, 26) for text in captions]
    chart.update_xaxes(tickmode="array", tickvals=steps, ticktext=labels, showgrid=False, tickangle=-25)
    chart.update_yaxes(title="uncertainty Σσ²")
    return chart.update_layout(hovermode="closest")
