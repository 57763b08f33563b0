"""docs/strategies.md: every strategy, what it is and when to use it. `python -m core.simulation.document` writes it."""

from __future__ import annotations

from pathlib import Path

from core.simulation.strategies import STRATEGIES

FILE = Path(__file__).resolve().parents[2] / "docs" / "strategies.md"

HEAD = """# Strategies

How the next images to label are chosen, as `python -m core simulate --strategies NAME,NAME` takes them. Every one sees
the images' features, the model and which images are answered, and no label. *Target* images are drawn from the domain
that the model is to be good at; without a target domain they are drawn from the whole pool. Where answers change a
score, each pick conditions the next within a batch, as if it were answered already.

Written from the code by `python -m core.simulation.document`; a test holds it equal.

| Name | Strategy | What it is | When to use it |
| --- | --- | --- | --- |
"""


def document() -> str:
    """The whole file: a row for each strategy in the order of the table in the code."""
    rows = [
        f"| `{each.name}` | {_cell(each.title)} | {_cell(each.what)} | {_cell(each.when)} |\n"
        for each in STRATEGIES.values()
    ]
    return HEAD + "".join(rows)


def _cell(words: str) -> str:
    return words.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
