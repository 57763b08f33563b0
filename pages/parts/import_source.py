"""Where a new project's images come from: a place on the server, what a browser sends, or addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.data.scan import EXTENSIONS, FOREIGN_EXTENSIONS
from core.data.shelf import TABLES
from core.errors import PenumbraError
from pages.parts import uploading
from pages.parts.text import count, escape
from pages.parts.uploading import Place

KEY = "new-place"
SERVER, FILES, FOLDER, ADDRESSES = "On the server", "Upload files", "Upload a folder", "Addresses"
KINDS = {
    SERVER: ":material/folder_open:",
    FILES: ":material/upload_file:",
    FOLDER: ":material/drive_folder_upload:",
    ADDRESSES: ":material/link:",
}
MOST_MEGABYTES = 1000  # of one file: an upload is held in memory until it is saved
TYPES = sorted(EXTENSIONS | FOREIGN_EXTENSIONS | TABLES | {".zip"})  # foreign ones are named as left out


def choose() -> Place | None:
    """The place that was chosen; None, and the ways to choose one, before."""
    place = st.session_state.get(KEY)
    if place is not None:
        _chosen(place)
        return place
    kind = st.segmented_control(
        "From where",
        list(KINDS),
        default=SERVER,
        required=True,
        format_func=lambda each: f"{KINDS[each]} {each}",
        label_visibility="collapsed",
        key="new-kind",
    )
    _ASK[kind]()
    return None


def forget() -> None:
    """Choose anew; what was uploaded and not used is deleted."""
    uploading.drop(st.session_state.pop(KEY, None))


def _chosen(place: Place) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        where = "In Penumbra's data folder" if place.draft else "On the server"
        shown = place.name if place.draft else place.where
        st.markdown(f"{where}: **{escape(shown)}**", width="content")
        if st.button("Choose another", type="tertiary", icon=":material/undo:", key="new-other"):
            forget()
            st.rerun()


def _server() -> None:
    with st.form("look", border=False):
        wide, press = st.columns([5, 1], vertical_alignment="bottom")
        typed = wide.text_input(
            "Folder or file on the server",
            placeholder="/home/ada/pictures/office, labels.csv, images.zip or s3://bucket/office",
            help="The computer that Penumbra runs on. A folder (class/file, domain/class/file, or a heap of files), "
            "a .zip, a .csv, .tsv, .json, .jsonl or .txt that names images, or a folder of a bucket.",
        )
        sent = press.form_submit_button("Look", type="primary", width="stretch")
    if sent and typed.strip():
        _take(lambda: uploading.on_server(typed.strip()))


def _upload(label: str, how: bool | str, note: str) -> None:
    files = st.file_uploader(
        label,
        TYPES,
        accept_multiple_files=how,
        max_upload_size=MOST_MEGABYTES,
        key=f"new-upload-{how}",
        help=f"At most {MOST_MEGABYTES:,} MB a file. Larger data are better put on the server, then named there.",
    )
    st.caption(note)
    if files and st.button(f"Look at {count(len(files), 'file')}", type="primary", key="new-look"):
        _take(lambda: uploading.from_browser([(file.name, file) for file in files]), files)


def _files() -> None:
    _upload(
        "Images, a .zip, or a table that names images",
        True,
        "A .zip comes alone. A table is .csv, .tsv, .json, .jsonl or .txt. All is kept in Penumbra's data folder.",
    )


def _folder() -> None:
    _upload(
        "A folder of this computer",
        "directory",
        "With all folders in it: their names become classes. All is kept in Penumbra's data folder.",
    )


def _addresses() -> None:
    with st.form("addresses", border=False):
        text = st.text_area(
            "Addresses of images, one a line",
            height=160,
            placeholder="https://example.org/mug.jpg\ns3://bucket/office/lamp.jpg",
            help="https from public servers; s3 and gs with the keys of the server's environment.",
        )
        sent = st.form_submit_button("Look", type="primary")
    if sent:
        _take(lambda: uploading.from_lines(text))


_ASK: dict[str, Callable[[], None]] = {SERVER: _server, FILES: _files, FOLDER: _folder, ADDRESSES: _addresses}


def _take(find: Callable[[], Place], files: Sequence[UploadedFile] = ()) -> None:
    """Keep what was found; uploads are on the disk then, and their memory is given back."""
    try:
        with st.spinner("Looking at it …"):
            st.session_state[KEY] = find()
    except PenumbraError as error:
        st.error(escape(str(error)))
        return
    context = get_script_run_ctx()
    for file in files if context is not None else ():
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
    st.rerun()
