"""What the labelling desk says: what an order is, why an image comes, how far it is, and why nothing comes."""

from __future__ import annotations

from core.acquisition.table import SCORES, Acquisition
from core.jobs import JobRow
from core.queue import DISAGREEMENTS, ERRORS, MEASURE, End, Ending, is_review, is_selection
from db.repository import Counts
from pages.parts.text import count, small

NEVER_TRAINED_ON = "answers here are never trained on"
_TITLES = {MEASURE: "to measure", DISAGREEMENTS: "disagreements", ERRORS: "likely errors"}
_MEANINGS = {
    MEASURE: f"Images to measure with: test and validation images without a known class; {NEVER_TRAINED_ON}.",
    DISAGREEMENTS: "Disagreements: people say different things of this image. Your answer decides.",
    ERRORS: "Likely errors: models that did not learn from this answer doubt it. Your answer decides.",
}
_SELECTED = "Chosen in Explore: these images were picked there, and come in the order they had."


def is_scored(source: str) -> bool:
    """Whether a score of the model makes an order: one that has a value, a unit and reasons."""
    return source not in _TITLES and not is_selection(source)


def title(source: str) -> str:
    """The field's name of an order."""
    if is_selection(source):
        return "chosen in Explore"
    return _TITLES.get(source) or SCORES[Acquisition(source)].title


def meaning(source: str, score: float) -> str:
    """Why this image comes now, in one line: the field's name and value, then plain words."""
    if not is_scored(source):
        return _MEANINGS.get(source, _SELECTED)
    about = SCORES[Acquisition(source)]
    nats = " nats" if about.unit.startswith("nats") else ""  # other units are formulas: they are in the tooltip
    value = "" if about.unit == "none" else f" {small(score)}{nats}"
    return f"{title(source)}{value}: {about.meaning}."


def unit(source: str) -> str:
    """In what the order's score counts, in full; "" where it has no score."""
    return SCORES[Acquisition(source)].unit.replace("none", "") if is_scored(source) else ""


def facts(counts: Counts, model: int | None, newer: int, left: int | None = None) -> dict:
    """How far it is; `left` images to measure with, where those are served."""
    name = "no model yet" if model is None else f"model {model}"
    aside = "" if left is None else f" · {NEVER_TRAINED_ON}"
    return {"done": counts.answered, "total": counts.pool, "model": name, "newer": newer, "left": left, "aside": aside}


def under_way(job: JobRow, waits: str) -> dict:
    """A round that runs or waits, for the line of facts."""
    share = min(1.0, job.done / job.total) if job.total else 0.0
    return {"share": share, "said": waits or "learning from the answers"}


def failure(job: JobRow) -> str:
    """That a round did not end well; "" where it did."""
    failed = {"failed": "the last round failed: see Rounds", "cancelled": "the last round was stopped"}
    return failed.get(str(job.state), "")


def hint(found: Ending) -> str:
    """What is to be known of the images on the desk: whether they were passed before."""
    return "only what you set aside is left" if found.kind is End.LATER else ""


def end(found: Ending, source: str) -> dict:
    """Why there is no image to show, and what to do; the page puts its own clock's time for “{until}”."""
    title, text = _ends(found, source)[found.kind]
    return {"title": title, "text": text, "until": found.until.isoformat() if found.until else None}


def _ends(found: Ending, source: str) -> dict[End, tuple[str, str]]:
    done = f"{count(found.answered, 'answer')} of {found.total:,}."
    aside = f" {count(found.set_aside, 'image')} unusable." if found.set_aside else ""
    waiting = f" {count(found.waiting, 'image')} still waiting for other people's answers." if found.waiting else ""
    disputed = count(found.review, "image waits", "images wait")
    learn = " Retrain, so that the model learns from them."
    held = f"{count(found.held, 'image')} on other screens. What is not answered there comes here by {{until}}."
    none = "There is none in this order: choose another one above, or see Projects."
    return {
        End.EMPTY: ("No images to answer", none),
        End.FILTERED: ("Filtered out", f"Your filter hides {count(found.left, 'image')}. Take it off above."),
        End.HELD: ("The rest is with others", held),
        End.LATER: ("Only what you set aside is left", f"{count(found.later, 'image')} that you passed come again."),
        End.MEASURED: (
            "No more images to measure with",
            "The next round measures with them. Choose another order above.",
        ),
        End.SELECTION: ("That was your choice", f"{done}{aside} Choose another order above, or more in Explore."),
        End.REVIEW: (
            "All answered, some in dispute",
            f"{done} {disputed} for a review, as people differ: the order “disagreements”.",
        ),
        End.SET_ASIDE: ("All done", f"{done}{aside}{waiting}{learn}"),
        End.DONE: ("Nothing left to review", "Choose another order above.")
        if is_review(source)
        else ("All done", f"{done}{waiting}{learn}"),
    }
