"""What the rounds' metrics say: words, frames for charts, tables. No Streamlit calls but column formats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

import pandas as pd
import streamlit as st

from core.history import copied
from core.metrics import ReliabilityBin
from db.repository import RoundRow
from pages.parts.text import count, escape, figure, percent

METRICS = ("accuracy", "nlpd", "ece")
NAMES = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "nlpd": "NLPD",
    "ece": "ECE",
    "brier": "Brier score",
}
BETTER = {
    "accuracy": "higher is better",
    "balanced_accuracy": "higher is better",
    "nlpd": "nats, lower is better",
    "ece": "lower is better",
    "brier": "0 to 2, lower is better",
}
FEW = 20  # labels: with fewer, the choice of τ is mostly chance
_95 = 1.959964


def served(row: RoundRow) -> dict:
    """The metrics of what is served: the posterior's predictive, or that of the same weights taken as certain (MAP).

    Images are ranked by the posterior either way. Empty where nothing could be measured.
    """
    return row.metrics.get(row.metrics.get("served") or "posterior") or {}


def frame(rows: list[RoundRow]) -> pd.DataFrame:
    """One line a round, as it was measured then: round, labels, each metric; accuracy_low and _high."""
    lines = []
    for row in rows:
        line = {"round": row.number, "labels": row.labels}
        for metric in METRICS:
            line[metric] = served(row).get(metric)
        line["accuracy_low"], line["accuracy_high"] = wilson(line["accuracy"], row.metrics.get("n") or 0)
        lines.append(line)
    return pd.DataFrame(lines)


def of_the_same_classes(rows: list[RoundRow]) -> list[RoundRow]:
    """The rounds measured on the newest one's classes: figures of others say nothing about a change."""
    return [row for row in rows if row.class_version == rows[-1].class_version]


def wilson(share: float | None, n: int) -> tuple[float | None, float | None]:
    """95 % interval of a share of n (Wilson 1927): within [0, 1], sound for small n."""
    if share is None or n <= 0:
        return None, None
    z2 = _95**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def bins(row: RoundRow) -> pd.DataFrame | None:
    """The reliability diagram's bins as the round stored them, or None where nothing was measured."""
    listed = row.metrics.get("reliability")
    if not listed or not sum(each["count"] for each in listed):
        return None
    return with_intervals([ReliabilityBin(**each) for each in listed])


def with_intervals(listed: Sequence[ReliabilityBin]) -> pd.DataFrame:
    """One line a bin, with the 95 % interval of its share of right answers."""
    intervals = [wilson(_known(each.accuracy), each.count) for each in listed]
    table = pd.DataFrame([asdict(each) for each in listed])
    return table.assign(low=[low for low, _ in intervals], high=[high for _, high in intervals]).astype(
        {name: float for name in ("confidence", "accuracy", "low", "high")}
    )


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def is_measured(row: RoundRow) -> bool:
    return served(row).get("accuracy") is not None


def sentence(row: RoundRow) -> str:
    """The model in plain words."""
    accuracy = served(row).get("accuracy")
    if accuracy is None:
        return f"Model {row.number} ranks the images; how good it is cannot be said without classes in the test split."
    domain = row.metrics.get("domain")
    where = f"test images of {escape(domain)}" if domain else "test images"
    again = "" if copied(row) is None else f", which is model {copied(row)} again,"
    start = f"Model {row.number}{again} is right on {percent(accuracy)} of the {where}"
    sure = _sure(bins(row))
    return f"{start}; {sure}." if sure else f"{start}."


def _sure(table: pd.DataFrame | None, least: int = 10) -> str:
    """“when it says about 90 % it is right 87 % of the time”, from the surest bin with enough images."""
    enough = table[table["count"] >= least] if table is not None else None
    if enough is None or enough.empty:
        return ""
    surest = enough.iloc[-1]
    return f"when it says {percent(surest['confidence'])} it is right {percent(surest['accuracy'])} of the time"


def trust(table: pd.DataFrame) -> str:
    """Whether confidence is too high or too low overall."""
    n = table["count"].sum()
    gap = float(((table["confidence"] - table["accuracy"]) * table["count"]).sum() / n)
    if abs(gap) < 0.02:
        return "**Well placed.** On average it is as sure as it is right."
    word, side = ("Too sure", "above") if gap > 0 else ("Too shy", "below")
    return f"**{word}.** On average its confidence is {abs(100 * gap):.0f} points {side} its share of right answers."


def basis(row: RoundRow) -> str:
    """Of what the figures are."""
    if not is_measured(row):
        return " · ".join([f"Model {row.number}", "nothing measured", *_chosen(row)])
    metrics = row.metrics
    measured = f"{metrics.get('split', 'test')} split, {count(metrics['n'], 'image')}"
    settings = [f"ECE with {metrics.get('bins', 15)} bins", f"seed {row.seed}"]
    return " · ".join([f"Model {row.number}", measured, *_chosen(row), *settings])


def _chosen(row: RoundRow) -> list[str]:
    """What is served, and by what it was chosen."""
    how, on = row.metrics.get("chosen_by"), row.metrics.get("chosen_on") or {}
    if how is None:
        return []
    what = "MAP" if row.metrics.get("served") == "map" else f"posterior at τ {row.metrics['tau']:g}"
    doubt = " (few: the choice is uncertain)" if 0 < sum(on.values()) < FEW else ""
    return [f"{what} by {how}{doubt}"]


def kept_pretrained(row: RoundRow) -> bool:
    """Whether there were answers, and fine-tuning on them found no head with a lower validation loss."""
    return row.labels > 0 and row.settings.get("steps") == 0


def value_and_change(table: pd.DataFrame, metric: str) -> tuple[str, str | None]:
    """The last figure, and the change since the round before; none where either is missing."""
    before, last = _last_two(table, metric)
    return figure(last), None if before is None or last is None else f"{last - before:+.3f}"


def says_something(table: pd.DataFrame, metric: str) -> bool:
    """Whether the last change is more than nothing; for accuracy, more than the 95 % interval of the one before."""
    before, last = _last_two(table, metric)
    if before is None or last is None or round(last - before, 3) == 0:
        return False
    if metric != "accuracy":
        return True
    low, high = table["accuracy_low"].iloc[-2], table["accuracy_high"].iloc[-2]
    return bool(pd.isna(low) or not low <= last <= high)


def _last_two(table: pd.DataFrame, metric: str) -> tuple[float | None, float | None]:
    values = [None if pd.isna(value) else float(value) for value in table[metric].iloc[-2:]]
    return (None, values[0]) if len(values) == 1 else (values[0], values[1])


def newer(number: int, model: int) -> str:
    if not number:
        return f"no answer is newer than model {model}"
    return f"{count(number, 'answer')} newer than model {model}"


def table(rows: list[RoundRow]) -> pd.DataFrame:
    """All rounds, newest first."""
    lines = [
        {
            "model": row.number,
            "answers": row.labels,
            **{NAMES[metric]: served(row).get(metric) for metric in METRICS},
            "test images": row.metrics.get("n"),
            "seconds": row.seconds,
            "made": row.created_at,
            "note": "" if copied(row) is None else f"rolled back to model {copied(row)}",
        }
        for row in reversed(rows)
    ]
    return pd.DataFrame(lines).astype({NAMES[metric]: float for metric in METRICS})


def columns() -> dict:
    number = st.column_config.NumberColumn
    figures = {NAMES[metric]: number(format="%.3f") for metric in METRICS}
    return figures | {"seconds": number(format="%.1f"), "made": st.column_config.DatetimeColumn(format="distance")}
