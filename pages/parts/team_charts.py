"""The figure of the Team page: how far every two people agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from core.agreement import Agreement
from pages.parts.charts import plain, styled
from pages.parts.text import count
from pages.parts.theme import BLUE

_EMPTY = "rgba(128, 128, 128, 0.08)"
_INK = "#17191D"


def kappas(names: Sequence[str], found: Mapping[tuple[str, str], Agreement], chosen: int | None = None) -> go.Figure:
    """Cohen's κ of every two people, below the diagonal; blue over chance, orange under it, grey where not defined.

    The first of a cell's customdata is row·P + column, P people. Each cell is a bar, which a click selects wherever it
    is hit, as no heat map's cell is.
    """
    size = len(names)
    cells = [(row, column) for row in range(1, size) for column in range(row)]
    values = [found.get((names[column], names[row]), Agreement(None, 0)) for row, column in cells]
    shown = [plain(name, 20) for name in names]
    chart = go.Figure(
        go.Bar(
            x=[column for _, column in cells],
            y=[0.92] * len(cells),
            base=[row - 0.46 for row, _ in cells],
            width=0.92,
            marker={
                "color": [_colour(each.value) for each in values],
                "line": {"color": BLUE, "width": [3 if r * size + c == chosen else 0 for r, c in cells]},
            },
            text=["–" if each.value is None else f"{each.value:.2f}" for each in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            constraintext="none",
            textfont={"color": ["gray" if each.value is None else _INK for each in values]},
            customdata=[
                [r * size + c, shown[r], shown[c], _said(each)] for (r, c), each in zip(cells, values, strict=True)
            ],
            hovertemplate="%{customdata[1]} and %{customdata[2]}<br>%{customdata[3]}<extra></extra>",
        )
    )
    styled(chart, 110 + 46 * size)
    ticks = {"tickvals": list(range(size)), "ticktext": shown, "showgrid": False}
    chart.update_xaxes(**ticks, range=[-0.5, size - 1.5], tickangle=-30)
    chart.update_yaxes(**ticks, range=[size - 0.5, 0.5])
    return chart.update_layout(hovermode="closest", barmode="overlay")


def _said(each: Agreement) -> str:
    images = count(each.items, "image")
    return plain(each.why, 120) if each.value is None else f"κ {each.value:.3f} on {images} both answered"


def _colour(value: float | None) -> str:
    """Pale at chance, full at ±1; light enough for dark figures on any page."""
    if value is None:
        return _EMPTY
    pale, full = ((221, 235, 245), (86, 180, 233)) if value >= 0 else ((251, 235, 207), (230, 159, 0))
    mixed = (round(a + (b - a) * min(1.0, abs(value))) for a, b in zip(pale, full, strict=True))
    return f"rgb({', '.join(map(str, mixed))})"
