"""The Texts tab of the ProLIP page: how sure the model is of each text, and which text includes which."""

from __future__ import annotations

from unicodedata import category, combining, normalize

import pandas as pd
import streamlit as st

from core.encoders import GaussianEncoder, TextReading
from db.repository import ProjectRow
from pages.parts import prolip, prolip_charts, texts_file, typed
from pages.parts.reading import Read, compare, read, seen, words
from pages.parts.text import count, figure
from pages.parts.typed import Typed

SAMPLES = """animal
an animal on grass
a dog
a dog runs
a brown dog runs over wet grass
a brown dog with a red collar runs over wet grass towards a yellow ball, early in the morning
a cat
something
photo
a photo of food on a table"""
TYPE, FILE = "Type", "File"
EMPTY = {
    TYPE: "Type or paste a text on the left, one a line: its bar appears here.",
    FILE: "Choose a file of texts on the left, one a line: their bars appear here.",
}
MOST_BARS, MOST_COMPARED = 40, 25
BARS_HELP = "Σσ²: the variance that the model gives a text, summed over all dimensions. A general text is vaguer."
INCLUDES = (
    "H(row ⊂ column) above 0, blue: the column's Gaussian includes the row's. H compares widths in each dimension and "
    "grows with distance, so it can decide otherwise than Σσ²; whether two texts have to do with each other the "
    "similarity beside it says."
)
OFFICIAL_HELP = "As the published code computes it, with doubled log-variances. The exact value is the integral itself."
MOST_LOST = 5  # letters that are named
LENGTH = "The more a text says, the surer the model usually is of it. Special tokens are not counted."

_as_typed = st.components.v2.component(
    "penumbra_as_typed",
    js="""export default ({data}) => {  // does what Ctrl+Enter does in the box, whenever typing pauses
        const selector = `.st-key-${data} textarea`;
        const keys = {key: "Enter", code: "Enter", ctrlKey: true, bubbles: true};
        const read = () => document.querySelector(selector)?.dispatchEvent(new KeyboardEvent("keydown", keys));
        let timer = setTimeout(read, 350);  // for what was typed before this was there
        const typed = (event) => {
            if (!event.target.matches?.(selector) || event.isComposing) return;
            clearTimeout(timer);
            timer = setTimeout(read, 350);
        };
        document.addEventListener("input", typed);
        return () => document.removeEventListener("input", typed);
    };""",
)


def show(project: ProjectRow | None, encoder: GaussianEncoder) -> None:
    typing, bars = st.columns([1, 1.15], gap="large")
    with typing:
        source = _source()
        given = _given(source)
    if not len(given):
        bars.info(EMPTY[source], icon=":material/edit:")
        return
    with bars:
        found = _read(encoder, given)
        if found is None:
            return
        _bars(found)
    compared = _inclusion(found, _table(found))
    _length(found)
    st.divider()
    prolip.take_away("texts", HEADER, _rows(found), _whole(encoder, found, compared))


def _source() -> str:
    return st.segmented_control(
        "Texts", [TYPE, FILE], default=TYPE, required=True, key="texts-source", persist_state="session"
    )


def _given(source: str) -> Typed:
    """What was typed, or the lines of a file; both say what was left out."""
    lines = _from_file() if source == FILE else _typed()
    given = typed.listed(lines)
    for note in given.notes:
        st.caption(note)
    return given


def _typed() -> list[str]:
    text = st.text_area(
        "One text a line",
        SAMPLES,
        height=300,
        key="texts-typed",
        persist_state="session",
        placeholder="a dog\na brown dog runs over wet grass",
    )
    _as_typed(key="texts-as-typed", data="texts-typed", height="content")
    return (text or "").splitlines()


def _from_file() -> list[str]:
    columns = texts_file.columns("A .txt with one text a line, or a .csv", "texts-file")
    if len(columns) < 2:
        return next(iter(columns.values()), [])
    return columns[st.selectbox("Column", list(columns), key="texts-column")]


def _read(encoder: GaussianEncoder, given: Typed) -> Read | None:
    about = (encoder.fingerprint, given.texts)
    return prolip.waited("texts", about, lambda on_progress: read(encoder, given, on_progress))


def _bars(found: Read) -> None:
    st.markdown("**How unsure is the model of each?** :gray[Σσ², the most uncertain on top]", help=BARS_HELP)
    order = found.order[:MOST_BARS]
    texts, values = [found.texts[i] for i in order], [found.uncertainty[i] for i in order]
    if len(order) < len(found.texts):
        st.caption(f"The {len(order)} most uncertain of {count(len(found.texts), 'text')}; the table holds all.")
    chart = prolip_charts.uncertainty_bars(texts, values)
    alt = f"Uncertainty of {count(len(order), 'text')}"
    st.plotly_chart(chart, config=prolip.picture("text-uncertainty"), key="text-bars", alt=alt)


HEADER = ("text", "uncertainty", "tokens", "limit", "seen by the model", "what the tokenizer kept", "times given")


def _rows(found: Read) -> list[tuple]:
    return [
        (each.text, found.uncertainty[i], each.tokens, each.limit, _seen(each), each.kept, found.times[i])
        for i, each in enumerate(found.readings)
    ]


def _seen(reading: TextReading) -> str:
    """How much of a text the model sees; letters and signs that its tokenizer does not know are named."""
    said = seen(reading)
    if said != "all":
        return said
    kept = set(_plain(reading.kept))
    lost = dict.fromkeys(
        each for each in _plain(reading.text) if (each.isalnum() or category(each) == "So") and each not in kept
    )
    return f"all but {' '.join(list(lost)[:MOST_LOST])}{' …' if len(lost) > MOST_LOST else ''}" if lost else said


def _plain(text: str) -> str:
    """Without case and accents, which a tokenizer may drop."""
    return "".join(each for each in normalize("NFKD", text).casefold() if not combining(each))


def _table(found: Read) -> list[int]:
    """All texts; the positions of the rows that were chosen in it."""
    st.subheader("What the model reads")
    for line in words(found):
        st.warning(line, icon=":material/content_cut:")
    frame = pd.DataFrame(_rows(found), columns=list(HEADER))
    if max(found.times) == 1:
        frame = frame.drop(columns=["times given"])
    number, wide = st.column_config.NumberColumn, st.column_config.TextColumn(width="large")
    event = st.dataframe(
        frame,
        hide_index=True,
        width="stretch",
        height="auto" if len(frame) > 10 else "content",
        column_config={"uncertainty": number("uncertainty Σσ²", format="%.4g"), "text": wide},
        on_select="rerun",
        selection_mode="multi-row",
        key="texts-table",
    )  # fmt: skip
    st.caption(
        "Tokens: the pieces a text is cut into before the model sees it. Choose rows to compare only these below."
    )
    return [row for row in event["selection"]["rows"] if row < len(frame)]


def _inclusion(found: Read, chosen: list[int]) -> list[int]:
    """Every two of some texts; the positions of those."""
    st.subheader("Which text includes which?")
    rows = (chosen if len(chosen) > 1 else list(range(len(found.texts))))[:MOST_COMPARED]
    if len(rows) < 2:
        st.write("One text alone includes nothing: add another line.")
        return rows
    said, switch = st.columns([4, 1.2], vertical_alignment="center")
    said.caption(INCLUDES)
    official = switch.toggle("Official value", help=OFFICIAL_HELP, key="texts-official", persist_state="session")
    of = len(chosen) if len(chosen) > 1 else len(found.texts)
    if of > len(rows):
        st.caption(f"The first {len(rows)} of {of:,} are compared: choose rows in the table to compare others.")
    texts, pairs = [found.texts[i] for i in rows], compare(found, rows, official)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**Inclusion** :gray[H(row ⊂ column), {'as published' if official else 'exact'}]")
        chart = prolip_charts.inclusion(texts, pairs.inclusion)
        st.plotly_chart(chart, config=prolip.picture("inclusion"), key="text-inclusion", alt="Inclusion of each pair")
    with right:
        st.markdown("**Similarity** :gray[cosine of the means, 1 is the same direction]")
        chart = prolip_charts.similarity(texts, pairs.similarity)
        st.plotly_chart(chart, config=prolip.picture("similarity"), key="text-similarity", alt="Similarity of pairs")
    with st.expander("The pairs as a table"):
        _pairs(texts, pairs)
    return rows


def _pairs(texts: list[str], pairs) -> None:
    lines = [
        {"text": texts[i], "is included by": texts[j], "H": pairs.inclusion[i][j], "cosine": pairs.similarity[i][j]}
        for i in range(len(texts))
        for j in range(len(texts))
        if i != j and (pairs.inclusion[i][j] > 0 or (i < j and pairs.inclusion[i][j] == 0))
    ]
    frame = pd.DataFrame(lines, columns=["text", "is included by", "H", "cosine"]).sort_values(
        "cosine", ascending=False
    )
    number = st.column_config.NumberColumn
    digits = {"H": number(format="%.4g"), "cosine": number(format="%.3f")}
    st.dataframe(frame, hide_index=True, width="stretch", column_config=digits)
    st.caption("Each pair once, the text that includes the other second; the most alike first. H of 0: they are one.")
    st.download_button(
        "CSV", lambda: prolip.table(list(frame), frame.values.tolist()), "penumbra-inclusion.csv", "text/csv",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip


def _length(found: Read) -> None:
    st.subheader("Are longer texts surer?")
    if len(found.texts) < 3:
        st.caption("Shown from three texts on.")
        return
    st.caption(LENGTH if found.by_length is None else f"{LENGTH} Rank correlation here: {figure(found.by_length)}.")
    tokens = [each.tokens for each in found.readings]
    chart = prolip_charts.against_length(found.texts, tokens, found.uncertainty, found.readings[0].limit)
    st.plotly_chart(
        chart, config=prolip.picture("uncertainty-by-length"), key="text-length", alt="Uncertainty by length"
    )


def _whole(encoder: GaussianEncoder, found: Read, compared: list[int]) -> dict:
    exact, published = (compare(found, compared, official) for official in (False, True))
    return {
        "model": encoder.name,
        "fingerprint": encoder.fingerprint,
        "texts": [dict(zip(HEADER, row, strict=True)) for row in _rows(found)],
        "compared": [found.texts[i] for i in compared],
        "inclusion_exact": exact.inclusion,
        "inclusion_published": published.inclusion,
        "cosine": exact.similarity,
    }
