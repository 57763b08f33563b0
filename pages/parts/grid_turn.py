"""One turn of the grid: store the batch that the browser reports, say which images stand before the person now.

No Streamlit here. The browser is not trusted: `labelling.events` checks every event, `core.grid` whose images they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.grid import PAGE, Grid, Page, Pile, Tile, Wish
from core.queue import MEASURE, is_review
from core.team import TeamSettings
from db.repository import Counts, ProjectRow
from pages.parts import labelling
from pages.parts.routes import url
from pages.parts.text import count

MOST_PASSED = 5000

BLIND = (
    "This project is answered blind: nobody sees the model's guess before their own answer, and the grid is made of "
    "guesses."
)
MEASURED = (
    "Images to measure with are answered one by one: answers given while looking at the model's guess would measure "
    "the model by itself."
)
REVIEWED = "This order asks for decisions, and each image gets one of its own. Choose another order for the grid."


def refusal(project: ProjectRow, source: str) -> str | None:
    """Why this project or order has no grid, in words; None where it has."""
    if TeamSettings.of(project.team).blind:
        return BLIND
    if source == MEASURE:
        return MEASURED
    return REVIEWED if is_review(source) else None


@dataclass(frozen=True, slots=True)
class Granted:
    """The images that a turn put before the person: a rerun of the same turn changes nothing."""

    turn: int
    pile: str | None
    items: tuple[int, ...]


def turn(
    grid: Grid, project: ProjectRow, person_id: int, report: Any, before: Granted | None, pile: str | None
) -> tuple[dict, Granted]:
    """Store the report's events and lease the page it asks for; `pile` is the address's, for a browser without a word.

    Returns what the component takes, and what it stands on.
    """
    labels, _, refused = labelling.events(report)  # notes on images are the desk's to send
    outcome = [*(grid.apply(person_id, labels) if labels else []), *refused]
    number = _turn(report)
    again = before is not None and before.turn == number
    wish = Wish(before.pile, passed(report), before.items) if again and before else _wish(report, pile)
    page = grid.page(person_id, wish)
    shown = {
        "turn": number,
        "fresh": not screen_of(report),
        "round": page.round_number,
        **labelling.acknowledged(outcome),
        **_shown(page, project),
    }
    return shown, Granted(number, page.pile, tuple(tile.item.id for tile in page.tiles))


def _turn(report: Any) -> int:
    value = report.get("turn") if isinstance(report, dict) else None
    return value if type(value) is int and value > 0 else 0


def _wish(report: Any, pile: str | None) -> Wish:
    if not isinstance(report, dict):
        return Wish(pile)
    wanted = report.get("pile")
    return Wish(wanted if isinstance(wanted, str) else pile, passed(report), screen_of(report))


def screen_of(report: Any) -> tuple[int, ...]:
    """The images that the browser shows; none where it asks for a new page."""
    return _whole(report.get("screen"))[:PAGE] if isinstance(report, dict) else ()


def passed(report: Any) -> frozenset[int]:
    """The images that the person left out of this pile, as the browser remembers them."""
    return frozenset(_whole(report.get("passed"))[-MOST_PASSED:] if isinstance(report, dict) else ())


def _whole(values: Any) -> tuple[int, ...]:
    listed = values if isinstance(values, list) else []
    return tuple(each for each in listed if type(each) is int and 0 <= each < 2**53)


def _shown(page: Page, project: ProjectRow) -> dict:
    names = {each.id: each.name for each in project.classes}
    return {
        "pile": page.pile,
        "piles": [told_of(each, names) for each in _with_chosen(page, project)],
        "tiles": [_tile(each, names) for each in page.tiles],
        "ahead": [url(each.sha256, 256) for each in page.ahead],
    }


def _with_chosen(page: Page, project: ProjectRow) -> Sequence[Pile]:
    """The piles, with the chosen one where it is empty by now: it stays in the list while it is looked at."""
    if page.pile is None or any(each.key == page.pile for each in page.piles):
        return page.piles
    kind, _, number = page.pile.partition("-")
    cluster = int(number) if kind == "cluster" else None
    return (Pile(page.pile, cluster, int(number) if cluster is None else 0, 0, 0.0), *page.piles)


def told_of(pile: Pile, names: dict[int, str]) -> dict:
    """“guitar · 212 open, likeliest 0.97”."""
    like = names.get(pile.class_id, "")
    name = like if pile.cluster is None else f"cluster {pile.cluster + 1}"
    more = f", likeliest {pile.best:.2f}" if pile.cluster is None else f", {100 * pile.best:.0f} % look like {like}"
    text = f"{name} · {pile.open:,} open{more}" if pile.open else f"{name} · none open"
    as_ = pile.class_id if pile.cluster is None else None
    return {"key": pile.key, "name": name, "text": text, "class": as_, "open": pile.open}


def _tile(tile: Tile, names: dict[int, str]) -> dict:
    item = tile.item
    return {
        "item": item.id,
        "src": url(item.sha256, 256),
        "view": url(item.sha256, 1600),
        "note": item.domain or "",  # never the path: its folders name the class
        "guess": tile.guess,
        "name": names.get(tile.guess, ""),
        "p": tile.probability,
    }


def end(page: dict, passed: int, counts: Counts, shared: int) -> dict | None:
    """Why there is no tile, and what to do next: {title, text, again, next}; None where there are tiles."""
    if page["tiles"]:
        return None
    others = [each for each in page["piles"] if each["open"] and each["key"] != page["pile"]]
    onward = {"key": others[0]["key"], "text": others[0]["text"]} if others else None
    name = next((each["name"] for each in page["piles"] if each["key"] == page["pile"]), "")
    if passed:
        text = f"{count(passed, 'image')} left out: still open, for you and for others."
        return {"title": f"{name}: only what you left out", "text": text, "again": True, "next": onward}
    if onward:
        text = "What looked like it is answered, set aside or on another screen."
        return {"title": f"{name}: none left", "text": text, "again": False, "next": onward}
    return {"title": "Nothing left to confirm", "text": _nothing(counts, shared), "again": False, "next": None}


def _nothing(counts: Counts, shared: int) -> str:
    if counts.pool == 0:
        return "This project has no images in its pool: add some on the Projects page."
    said = f"{count(counts.answered, 'answer')} of {counts.pool:,}."
    said += f" {count(counts.leased, 'image')} on other screens." if counts.leased else ""
    if shared:
        said += f" {count(shared, 'image')} for several people: answered one at a time, without a guess."
    return f"{said} Go on one image at a time, or start a round so that the model learns."


def facts(counts: Counts, model: int, newer: int, running: str | None) -> dict:
    """How far the project is; `running` says how far a round is, None where there is none."""
    more = f" · {count(newer, 'label')} newer than model {model}" if newer else ""
    said = f"{counts.answered:,} of {counts.pool:,} answered"
    return {"count": said, "model": f"model {model}{more}", "newer": newer, "round": running or ""}
