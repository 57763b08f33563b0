"""What a simulation says, in words and tables. No Streamlit calls but column formats."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from core.simulation.strategies import STRATEGIES
from core.simulation.summary import LOWER_IS_BETTER, RANDOM, Row, band, table
from db.repository import PickedRow
from pages.parts import measures
from pages.parts.sim_study import USUAL, Study, title
from pages.parts.text import count, escape, figure

FIGURES = ("accuracy", "weighted_accuracy", "balanced_accuracy", "nlpd", "ece")
NAMES = measures.NAMES | {"weighted_accuracy": "Weighted accuracy"}
BETTER = measures.BETTER | {"weighted_accuracy": "each class as often as in the target, higher is better"}
PROTOCOLS = {
    "rounds": "answers are learned after each batch",
    "batch": "all is chosen before any answer, as in the paper's offline experiments",
    "paper": "EPIG, BALD and entropy learn each answer by one gradient step, as the paper's online experiments",
}
VALIDATIONS = {
    "spent": "validation labels count as spent",
    "unused": "validation labels are not used",
}
FEW_SEEDS = 5


def answer(study: Study) -> str:
    """Whether it pays, in one sentence or three: the usual strategy, or else the best one, against random."""
    rows = {row.strategy: row for row in table(study.points)}
    others = [name for name in rows if name != RANDOM]
    if RANDOM not in rows:
        return "**Nothing to compare with yet:** random, which every strategy is measured against, is not simulated."
    if not others:
        return "**Only random so far.** The strategies that are compared with it come next."
    row = rows.get(USUAL, rows[others[0]])
    return " ".join(filter(None, (_verdict(study, row, rows[RANDOM]), _labels(study, row), _other(study, row, rows))))


def _verdict(study: Study, row: Row, random: Row) -> str:
    name, seeds = title(row.strategy), min(row.seeds, random.seeds)
    if row.difference is None or row.low is None or row.high is None:
        higher = "ahead of" if row.average > random.average else "not ahead of"
        return f"**{name} is {higher} random with one seed, which says nothing about chance:** simulate more seeds."
    found = f"{signed(row.difference)} {interval(row)} in accuracy, averaged over the rounds and {count(seeds, 'seed')}"
    if row.low > 0:
        return f"**{name} learns faster than random here:** {found}."
    if row.high < 0:
        return f"**{name} learns slower than random here:** {found}."
    more = "; more seeds narrow it" if seeds < 2 * FEW_SEEDS else ""
    return f"**{name} and random cannot be told apart here:** {found}: the interval holds 0{more}."


def _labels(study: Study, row: Row) -> str:
    """“It reached what random reached with 70 labels after 30.”"""
    ends = band(study.curves, RANDOM, "accuracy")
    name, level, spent = title(row.strategy), figure(ends.mean[-1]), study.spent
    if row.labels_to_level is None:
        return f"It did not reach random's {level}, for which random took {_without(ends.labels[-1], spent)}."
    if row.labels_to_level <= spent:
        return f"Random ended at {level}, no better than before its first answer."
    if row.labels_to_level >= ends.labels[-1]:
        return ""
    took, random = _without(row.labels_to_level, spent), f"{ends.labels[-1] - spent:,}"
    beside = f"; both spent {count(spent, 'validation label')} beside them" if spent else ""
    return f"{name} reached what random reached with {random} answers ({level}) after {took}{beside}."


def _without(labels: int, spent: int) -> str:
    return count(labels - spent, "answer")


def _other(study: Study, row: Row, rows: Mapping[str, Row]) -> str:
    """A strategy with a better mean, with the warning that it was picked among several."""
    best = next(iter(rows.values()))
    if best.strategy in (row.strategy, RANDOM) or len(rows) < 3:
        return ""
    by = "" if best.difference is None else f" ({signed(best.difference)} {interval(best)})"
    return f"{title(best.strategy)} had the highest mean{by}; the best of {len(rows) - 1} is partly luck."


def basis(study: Study) -> str:
    """Of what every figure here is."""
    about, settings = study.row.about, study.row.settings
    where = f" of {escape(about['target'])}" if about.get("target") else ""
    test = count(about["test_images"], "image") + where if "test_images" in about else f"images{where}"
    parts = [
        f"test split, {test}",
        f"pool of {about['pool_images']:,}" if "pool_images" in about else count(about["images"], "image"),
        f"{count(len(study.seeds), 'seed')}, from {min(study.seeds, default=0)}",
        f"batches of {settings['batch']}",
        PROTOCOLS[settings["protocol"]],
        VALIDATIONS[settings["validation"]],
        f"ECE with {settings['learning']['bins']} bins",
    ]
    return " · ".join(parts)


def axis(study: Study) -> str:
    """The title under a plot: what is counted, and by which protocol."""
    settings = study.row.settings
    spent = f"labels, {study.spent:,} of them validation" if study.spent else "answers, no validation label is used"
    how = {"rounds": "learned in batches of {}", "batch": "all chosen first", "paper": "learned one by one"}
    return f"{spent} · {how[settings['protocol']].format(settings['batch'])}"


def called(row) -> str:
    """A simulation in a list of them."""
    about, settings = row.about, row.settings
    where = about.get("target") or "all domains"
    how = {"rounds": "in rounds", "batch": "in one batch", "paper": "one by one"}[settings["protocol"]]
    return (
        f"{where} · {settings['rounds']} × {settings['batch']} {how} · validation {settings['validation']} · "
        f"{about['images']:,} images · no. {row.id}"
    )


def strategy_table(
    study: Study, metric: str, images: Mapping[str, PickedRow], level: float | None = None
) -> pd.DataFrame:
    """A line for each strategy, the best first. `level` is random's last value unless given."""
    rows = table(study.points, metric, level)
    return pd.DataFrame([_line(study, row, metric, images) for row in rows])


def _line(study: Study, row: Row, metric: str, images: Mapping[str, PickedRow]) -> dict:
    mean = [value for value in band(study.curves, row.strategy, metric).mean if not math.isnan(value)]
    asked = [images[path] for path in study.asked(row.strategy) if path in images]
    inside = [each for each in asked if each.domain == study.target]
    line = {
        "strategy": title(row.strategy),
        "curve": mean,
        "area": row.average,
        "end": row.final,
        "labels": row.labels_to_level,
        "difference": row.difference,
        "95 %": "" if row.low is None else interval(row),
        "seeds": row.seeds,
    }
    if study.target:
        line["of target"] = 100 * len(inside) / len(asked) if asked else None
    return line | {"classes": len({each.position for each in asked})}


def columns(study: Study, metric: str, level: str) -> dict:
    """How the table's columns look, and what each means."""
    config, better = st.column_config, "lower" if metric in LOWER_IS_BETTER else "higher"
    name = NAMES[metric]
    spent = f", {study.spent:,} validation labels among them" if study.spent else ""
    return {
        "strategy": config.TextColumn(pinned=True),
        "curve": config.LineChartColumn(help=f"{name} over the labels, mean of the seeds"),
        "area": config.NumberColumn(
            "area under the curve", format="%.3f", help=f"{name}, mean over the rounds from the first answers on"
        ),
        "end": config.NumberColumn("at the end", format="%.3f"),
        "labels": config.NumberColumn(
            f"labels to {level}", help=f"The fewest labels{spent} at which the mean curve is there"
        ),
        "difference": config.NumberColumn(
            "area − random's", format="%+.3f", help=f"Paired by seed; {better} is better than random"
        ),
        "95 %": config.TextColumn("95 % interval", help="Student's, over the seeds; holds 0: it may be chance"),
        "of target": config.NumberColumn("picks of target", format="%.0f %%"),
        "classes": config.NumberColumn("classes picked", help="of all seeds together"),
    }


def explained() -> pd.DataFrame:
    """What each strategy is, and when to use it."""
    lines = [(each.title, each.what, each.when) for each in STRATEGIES.values()]
    return pd.DataFrame(lines, columns=["strategy", "what it asks", "when to use it"])


def signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def interval(row: Row) -> str:
    """“[0.05, 0.19]”."""
    if row.low is None or row.high is None:
        return ""
    return f"[{row.low:.3f}, {row.high:.3f}]".replace("-", "−")
