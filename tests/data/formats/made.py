"""Datasets for tests: with names that nobody should give, and with files where images are copied."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import strategies as st

from core.data.dataset import Dataset, Event, Guess, Kind, Record, Status
from core.data.formats.answers import shown
from core.data.scan import Split

CLASSES = ("TV/Monitor", "..", "CON", "Mug", "mug", "Mug ", "caf\u00e9", "cafe\u0301", "=1+1", "<b>", "x" * 120, "'+")
CLASSES += ("\u200b", "😀" * 60, "a\nb", "null", "NA", "nan", "1", "train", "_unlabeled", "a;b", "a\tb", '"', "-", "@x")
HOSTILE = st.sampled_from(CLASSES)
TEXTS = (
    st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=12) | HOSTILE
)  # no database holds a NUL
PARTS = st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=12)
PARTS |= st.sampled_from(["a.1", "a.2", "=x", "a?b#c", "é", "e\u0301", "train", "a\\b", 'q"', " x ", "-", "'", "\n"])
PATHS = st.lists(PARTS, min_size=1, max_size=3).filter(lambda parts: not {".", ".."} & set(parts))
PATHS = st.builds(lambda parts, ending: "/".join(parts) + ending, PATHS, st.sampled_from([".jpg", ".JPG", ".png"]))
TIMES = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
WHOLE, REAL = st.integers(0, 2**40), st.floats(-1e9, 1e9)


def maybe(strategy):
    return st.none() | strategy


@st.composite
def events(draw):
    kind = draw(st.sampled_from(Kind))
    label = draw(TEXTS) if kind is Kind.ANSWER else None
    return Event(draw(TEXTS), kind, label, draw(maybe(TIMES)), draw(maybe(WHOLE)), draw(st.just("") | TEXTS))


@st.composite
def records(draw, path):
    status = draw(st.sampled_from(Status))
    answered = {Status.LABELLED: TEXTS, Status.CONFLICT: maybe(TEXTS)}
    figures = {"entropy": REAL, "epig": REAL, "round": WHOLE, "item_id": WHOLE | TEXTS, "other": REAL | TEXTS | WHOLE}
    return Record(
        path=path,
        sha256=draw(maybe(st.just("ab" * 32))),
        domain=draw(maybe(TEXTS)),
        split=draw(maybe(st.sampled_from(Split))),
        stated=draw(maybe(TEXTS)),
        status=status,
        label=draw(answered.get(status, st.none())),
        events=tuple(draw(st.lists(events(), max_size=4))),
        guess=draw(maybe(st.builds(Guess, TEXTS, maybe(st.floats(0, 1)), st.just("") | TEXTS))),
        figures=draw(st.fixed_dictionaries({}, optional=figures)),
    )


@st.composite
def datasets(draw, root=None):
    """A few records with any names; `root` None for formats that look at no file."""
    paths = draw(st.lists(PATHS, max_size=5, unique=True))
    classes = draw(st.lists(TEXTS, max_size=4, unique=True))
    made = [draw(records(path)) for path in paths]
    return Dataset(root, tuple(classes), made)


def with_files(dataset, root):
    """The dataset with a file for each record that the file system has room for; no hash is claimed."""
    kept = []
    for number, record in enumerate(dataset.records):
        file = root / record.path
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(b"image %d" % number)
        except OSError:  # a file where a folder has to be
            continue
        kept.append(replace(record, sha256=None))
    return replace(dataset, root=root, records=kept)


def bare(record):
    """The record as it was before an export gave it another path."""
    return replace(record, path=record.original or record.path, original=None)


def classed(record):
    """What folders can tell of a record."""
    return record.original or record.path, shown(record)
