"""A file of texts that a person uploads: read, said what was left out, not kept."""

from __future__ import annotations

import csv
from io import StringIO

import streamlit as st

from core.errors import InputError, PenumbraError
from pages.parts import typed
from pages.parts.text import escape

HELP = f"At most {typed.MOST_MEGABYTES} MB and {typed.MOST_TEXTS:,} texts. The file is read, not kept."


def columns(label: str, key: str) -> dict[str, list[str]]:
    """The file's columns by name, a .txt has one; empty where there is no file, or it cannot be read, which is said."""
    file = st.file_uploader(label, ["txt", "csv"], max_upload_size=typed.MOST_MEGABYTES, key=key, help=HELP)
    if file is None:
        return {}
    try:
        found, note = _read(file.name, file.getvalue())
    except PenumbraError as error:
        st.error(escape(str(error)), icon=":material/error:")
        return {}
    if note:
        st.caption(note)
    return found


def _read(name: str, data: bytes) -> tuple[dict[str, list[str]], str]:
    """Columns and what is to be said. One column has commas within its texts, and a header only where it says so."""
    found, note = typed.from_file(name, data)
    if len(found) > 1 or not name.lower().endswith(".csv"):
        return found, note
    (header,) = found
    lines = [",".join(row) for row in csv.reader(StringIO(typed.decoded(data)[0])) if row]
    if header.casefold() in typed.NAMES:
        lines = lines[1:]
    if not lines:
        raise InputError(f"this file has a header, {header!r}, and no text below it: give one text a line")
    return {header: lines}, note
