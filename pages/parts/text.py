"""Words and figures as people read them; `escape` is the one way for anyone's text into Markdown."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:^=&@/])")
_LINKS = re.compile(r"(https?(?=:)|www(?=\.)|@(?=\w))", re.IGNORECASE)
_JOINER = "\u2060"  # is not seen; addresses become links in what is escaped too, unless they are broken
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def escape(text: str) -> str:
    """`text` as Markdown that shows exactly these characters: no image is fetched, no link or directive is read."""
    return _MARKDOWN.sub(r"\\\1", _LINKS.sub(rf"\1{_JOINER}", " ".join(str(text).split())))


def count(number: int, noun: str, plural: str | None = None) -> str:
    """“1 image”, “1,933 images”."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def figure(value: float | None) -> str:
    """Three digits, or a dash where nothing could be measured."""
    return "–" if value is None else f"{value:.3f}"


def small(value: float) -> str:
    """Two or three digits at any size: “0.0123”, “5.2·10⁻¹¹”."""
    if value == 0 or abs(value) >= 1e-3:
        return f"{value:.3g}"
    digits, power = f"{value:.1e}".split("e")
    return f"{digits}·10{str(int(power)).translate(_RAISED)}"


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def ago(moment: datetime, now: datetime | None = None) -> str:
    """How long ago, in one unit."""
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    if seconds < 60:
        return "just now"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{count(int(seconds // size), unit)} ago"
    raise AssertionError("unreachable")


def duration(seconds: float) -> str:
    """“8 s”, “3 min”, “2 h 5 min”."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def filled(prompt: str, class_name: str) -> str:
    """“a photo of a {class}” with the class put in, as the model reads it."""
    return prompt.replace("{class}", class_name.replace("_", " "))
