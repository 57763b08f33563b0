"""What a draft of a project amounts to, before anything is written. No Streamlit here."""

from __future__ import annotations

import re
from collections.abc import Sequence

VAGUE = " :orange-badge[vague: the model reads this name]"
_VAGUE = re.compile(r"(class|category|label|type|group|misc|other|others|unknown|none|new)?[\W\d_]*", re.IGNORECASE)


def class_names(found: Sequence[str], typed: str) -> list[str]:
    """The folder's classes, then the typed ones, each once."""
    lines = [" ".join(line.split()) for line in typed.splitlines()]
    return list(dict.fromkeys([*found, *(line for line in lines if line)]))


def trouble(classes: Sequence[str], prompt: str) -> str:
    """Why this cannot be a project yet, "" if it can."""
    if len(classes) < 2:
        return f"A project tells classes apart, so it needs 2 or more; here {'is 1' if classes else 'are none'}."
    if "{class}" not in prompt:
        return "The prompt needs {class} where the name goes, as in: a photo of a {class}"
    return ""


def vague(classes: Sequence[str]) -> set[str]:
    """Names that say little to a model that reads them: numbers, single letters, “other”."""
    return {each for each in classes if len(each) < 2 or _VAGUE.fullmatch(each)}


def splits(images: int, test: float = 0.2, validation: float = 0.1) -> str:
    """How many images will be for what."""
    measured, tuned = round(images * test), round(images * validation)
    rest = images - measured - tuned
    return f"About **{rest:,}** to label, **{tuned:,}** to choose settings by, **{measured:,}** to measure with."
