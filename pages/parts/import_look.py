"""How a place is read, shown before anything is written: format, first rows, what is in it, what is left out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from core import sources
from core.data import formats
from core.data.buckets import is_bucket
from core.data.formats import FORMATS, Preview
from core.data.scan import Ignored
from core.data.shelf import TABLES
from core.errors import InputError, PenumbraError
from core.images import read_image
from core.sources import Source
from pages.parts import import_survey
from pages.parts.import_survey import SAMPLES, Survey
from pages.parts.text import count, escape
from pages.parts.uploading import Place

ROWS = 5
FOLDERS = ""  # the format of a folder that is read by its folders
MOST_TABLES = 50


@dataclass(frozen=True, slots=True)
class Plan:
    """What is read and how, and what that amounts to; `root` is the folder that the images' paths start from."""

    place: Place
    source: Source
    root: Path
    found: Survey


def look(place: Place) -> Plan | None:
    """The place as it is understood; None where nothing can be made of it, which is said."""
    try:
        source = _source(place)
        if source is None:
            return None
        with st.spinner("Counting what is in it …"):
            root, found = _surveyed(source, _changed(source))
        _rows(source)
    except PenumbraError as error:
        st.error(escape(str(error)))
        return None
    plan = Plan(place, source, root, found)
    _show(plan)
    return plan if found.usable else None


def understood(source: Source) -> Survey | None:
    """Labels of images that are there already: the first rows, and what they amount to; None where that is nothing."""
    _rows(source)
    root, found = _surveyed(source, _changed(source))
    st.markdown(f"**{import_survey.headline(found)}**")
    _missing(found, root)
    _left_out(found.left_out)
    return found if found.usable else None


def _source(place: Place) -> Source | None:
    if is_bucket(place.where):
        return Source(place.where)
    path = _table_or_folder(place.path)
    format = _format(path)
    if format is None:
        return None
    root = "" if path.is_dir() else _root(path)
    return Source(str(path.resolve()), format, root=root)


def _table_or_folder(path: Path) -> Path:
    """A folder may hold a table that says more than its folders do."""
    tables = _tables(path) if path.is_dir() else []
    if not tables:
        return path
    chosen = st.selectbox(
        "Labels from",
        [None, *tables],
        format_func=lambda each: each.name if each else "the folder as a whole",
        width=420,
        key=f"new-table-{path}",
    )
    return chosen or path


def _tables(folder: Path) -> list[Path]:
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix.lower() in TABLES and path.is_file())
    except OSError:
        return []
    return [path for path in files[:MOST_TABLES] if _is_understood(path)]


def _is_understood(path: Path) -> bool:
    try:
        return formats.recognise(path).read is not None
    except PenumbraError:
        return False


def _format(path: Path) -> str | None:
    """The recognised format, or another that a person picks; None while there is none."""
    try:
        known: str | None = formats.recognise(path).name
    except InputError as error:
        known = FOLDERS if path.is_dir() else None
        if known is None:
            st.warning(escape(str(error)))
    readable = [each.name for each in FORMATS.values() if each.read is not None]
    readable = [FOLDERS, *readable] if path.is_dir() else readable
    return st.selectbox(
        "Read as",
        readable,
        index=readable.index(known) if known in readable else None,
        format_func=lambda each: FORMATS[each].title if each else "Folders and files",
        placeholder="choose a format",
        width=420,
        key=f"new-format-{path}",
    )


def _root(path: Path) -> str:
    """Where the paths of a table start: mostly beside it."""
    typed = st.text_input(
        "Folder that its paths start from",
        str(path.parent),
        width=620,
        help="On the server. Addresses (https://, s3://) in the table need none.",
        key=f"new-root-{path}",
    )
    return str(Path(typed.strip() or path.parent).expanduser().absolute())


def _changed(source: Source) -> int:
    try:
        return Path(source.path).stat().st_mtime_ns
    except (OSError, ValueError):
        return 0


@st.cache_resource(max_entries=4, ttl=600, show_spinner=False)
def _surveyed(source: Source, changed: int) -> tuple[Path, Survey]:
    """Kept while a person goes through the steps: a large source takes seconds."""
    dataset = sources.open_source(source)
    return dataset.root, import_survey.survey(dataset, on_disk=not is_bucket(source.path))


def _rows(source: Source) -> None:
    """The first rows of a table, each column with what it is taken for."""
    path = Path(source.path)
    if is_bucket(source.path) or path.is_dir():
        return
    first = formats.preview(path, ROWS)
    if first.format != source.format:
        return  # a person knows better
    st.caption(" · ".join(f"{escape(name)}: **{escape(value)}**" for name, value in first.about))
    if first.rows:
        st.dataframe(table(first), hide_index=True, height="content")


def table(first: Preview) -> dict[str, list[str]]:
    """The rows by column; a column that is taken for something says so, and two of one name stay two."""
    columns: dict[str, list[str]] = {}
    for place, (name, role) in enumerate(zip(first.columns, first.roles, strict=True)):
        head = f"{name} → {role}" if role and role != name else name
        head += f" ({place + 1})" if head in columns else ""
        columns[head] = [row[place] for row in first.rows]
    return columns


def _show(plan: Plan) -> None:
    found = plan.found
    if not found.images:
        st.warning("There is no image in it that could be read: JPEG, PNG, WebP, BMP, TIFF or GIF.")
    else:
        st.markdown(f"**{import_survey.headline(found)}**")
        _samples(plan)
        how = f"Read as {found.title}. " if plan.source.format == FOLDERS else ""
        st.caption(escape(how + import_survey.set_apart(found)))
        _missing(found, plan.root)
        if found.labelled:
            with st.expander("Images of each class"):
                st.dataframe(import_survey.class_table(found), hide_index=True)
    _left_out((*plan.place.left_out, *found.left_out))
    if st.button("Look again", type="tertiary", icon=":material/refresh:", key="new-look-again"):
        _surveyed.clear()
        st.rerun()


def _samples(plan: Plan) -> None:
    if is_bucket(plan.place.where) or not plan.found.samples:
        return
    for column, path in zip(st.columns(SAMPLES), plan.found.samples, strict=False):
        try:
            column.image(read_image(plan.root / path, max_side=256), width="stretch")
        except PenumbraError as error:
            column.caption(escape(str(error)))


def _missing(found: Survey, root: Path) -> None:
    if found.addresses:
        st.caption(f"{count(found.addresses, 'image')} will be fetched from their addresses when the images are read.")
    if not found.missing:
        return
    first = ", ".join(escape(path) for path in found.first_missing)
    more = found.missing - len(found.first_missing)
    st.warning(
        f"{found.missing:,} of {count(found.images, 'image')} named in it are not there: {first}"
        f"{f' and {more:,} more' if more else ''}. They were looked for in {escape(str(root))}; "
        "what is not there is left out.",
        icon=":material/image_not_supported:",
    )


def _left_out(ignored: tuple[Ignored, ...]) -> None:
    if ignored:
        number = sum(each.count for each in ignored)
        with st.expander(f"{count(number, 'file')} left out, and why", icon=":material/info:"):
            st.dataframe(import_survey.left_out_rows(ignored), hide_index=True)
