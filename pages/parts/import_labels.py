"""What the labels of a source are: classes that are known, kept from every ranking, or answers that somebody gave."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.sources import Labels, Source
from pages.parts.import_survey import Survey
from pages.parts.state import person
from pages.parts.text import count, escape

NAMED = 12  # people that are named
TITLES = {
    Labels.KNOWN: "known classes",
    Labels.ANSWERS: "answers of one person",
    Labels.AS_FOUND: "answers of those whom it names",
}
MEANINGS = {
    Labels.KNOWN: "Hidden from every ranking and from the model. Validation and test are measured by them.",
    Labels.ANSWERS: "As if given on the Annotate page: the model learns from them, those images are not asked again.",
    Labels.AS_FOUND: "With their times, where it has them. Labels that name nobody are known classes.",
}


def ask(source: Source, found: Survey) -> Source | None:
    """The source with what its labels are taken for; None while a name is missing."""
    if not found.labelled and not found.answers:
        return source
    kinds = [Labels.AS_FOUND] if found.people else []
    kinds += [Labels.KNOWN, Labels.ANSWERS]
    kind = st.radio(
        f"The labels in it ({count(found.labelled, 'image')}) are",
        kinds,
        format_func=TITLES.get,
        captions=[MEANINGS[each] for each in kinds],
        key=f"new-labels-{source.path}",
    )
    if kind is Labels.AS_FOUND:
        more = f" and {len(found.people) - NAMED} more" if len(found.people) > NAMED else ""
        st.caption(f"It names {escape(', '.join(found.people[:NAMED]))}{more}.")
    if kind is not Labels.ANSWERS:
        return replace(source, labels=kind)
    me = person()
    name = st.text_input("They are the answers of", me[1] if me else "", width=420, key="new-annotator").strip()
    if not name:
        st.info("Say whose answers they are.")
        return None
    return replace(source, labels=kind, annotator=name)
