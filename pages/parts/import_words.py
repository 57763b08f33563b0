"""What an import changed, in words. No Streamlit here."""

from __future__ import annotations

from core.changes import Changes
from pages.parts.text import count, duration

_WORDS = {
    "new": ("new image", "new images"),
    "changed": ("changed file", "changed files"),
    "vanished": ("vanished file", "vanished files"),
    "moved": ("moved file", "moved files"),
    "back": ("file is back", "files are back"),
    "restated": ("other class, domain or split stated", "other classes, domains or splits stated"),
    "unreadable": ("file that cannot be read", "files that cannot be read"),
    "answers": ("answer taken in", "answers taken in"),
    "answers_there": ("answer known before", "answers known before"),
}
MEANINGS = {
    "changed": "Another content at a path that was known: asked as an image of its own, the old answers are kept.",
    "vanished": "Not asked any more. Answers are kept, and count again when the file is back.",
    "moved": "The same content at another path: nothing is asked again.",
}


def line(changes: Changes) -> str:
    """“3 new images · 1 changed file”, or that nothing is different."""
    said = [f"{number:,} {one if number == 1 else many}" for (one, many), number in _counted(changes) if number]
    return " · ".join(said) or "nothing is different"


def name(kind: str) -> str:
    """What one file of a kind is called."""
    return _WORDS[kind][0]


def headline(changes: Changes) -> str:
    """How much was looked at, and whether to the end."""
    looked = f"{count(changes.files, 'file')} looked at in {duration(changes.seconds)}"
    return looked if changes.complete else f"{looked}; it was stopped and goes on when it is started again"


def examples(changes: Changes) -> list[dict]:
    """The first files of each kind, as rows of a table."""
    return [
        {"what": name(kind), "file": path}
        for kind, paths in changes.examples.items()
        if kind in _WORDS
        for path in paths
    ]


def warnings(changes: Changes) -> list[str]:
    """What a person should know of it."""
    said = []
    if changes.kept:
        said.append(f"{count(changes.kept, 'image')} with answers changed or vanished: their answers are kept.")
    if changes.unknown_classes:
        names = ", ".join(f"{name} ({number:,})" for name, number in changes.unknown_classes.items())
        said.append(f"Classes that the project does not have were stated and not taken: {names}.")
    if changes.refused:
        said.append(f"Some answers were not stored: {'; '.join(changes.refused[:5])}.")
    return said


def _counted(changes: Changes):
    return [(words, getattr(changes, kind)) for kind, words in _WORDS.items()]
