"""A file of texts that a person uploads: read, said what was left out, not kept."""

from __future__ import annotations

import streamlit as st

from core.errors import PenumbraError
from pages.parts import typed
from pages.parts.text import escape

HELP = f"At most {typed.MOST_MEGABYTES} MB and {typed.MOST_TEXTS:,} texts. The file is read, not kept."


def columns(label: str, key: str) -> dict[str, list[str]]:
    """The file's columns by name, a .txt has one; empty where there is no file, or it cannot be read, which is said."""
    file = st.file_uploader(label, ["txt", "csv"], max_upload_size=typed.MOST_MEGABYTES, key=key, help=HELP)
    if file is None:
        return {}
    try:
        found, note = typed.from_file(file.name, file.getvalue())
    except PenumbraError as error:
        st.error(escape(str(error)), icon=":material/error:")
        return {}
    if note:
        st.caption(note)
    return found
