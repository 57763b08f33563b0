"""Where the images of the ProLIP page come from: the project's pool, or files that are read and not kept."""

from __future__ import annotations

import streamlit as st

from core.encoders import GaussianEncoder
from core.gaussians import encoded
from db import repository
from db.repository import ItemRow, ProjectRow, Split
from pages.parts import pictures, prolip
from pages.parts.pictures import MOST_MEGABYTES, MOST_UPLOADS, Shelf
from pages.parts.state import database
from pages.parts.text import count, escape

POOL, UPLOAD = "Project's pool", "Upload"
TYPES = ["jpg", "jpeg", "png", "webp", "gif", "tif", "tiff", "bmp"]


def pool(project: ProjectRow, encoder: GaussianEncoder) -> tuple[Shelf, list[ItemRow]] | None:
    """The pool's encoded images; None, and the way to them, where there is none."""
    with database().read() as session:
        items = repository.items(session, project.id, Split.POOL)
    if not items:
        st.write("This project has no image in its pool: add some on the Projects page.")
        return None
    there, missing = encoded(encoder, items)
    prolip.needs_images(project, encoder, missing)
    if not there:
        return None
    ids = hash(tuple(item.sha256 for item in there))
    return _pool(project.root, encoder.fingerprint, ids, project, encoder, there), there


@st.cache_resource(max_entries=3, show_spinner="Looking up the images …")
def _pool(root: str, fingerprint: str, ids: int, _project, _encoder, _items) -> Shelf:
    """A Gaussian never changes under its fingerprint, so what is kept stays true."""
    return pictures.of_project(_encoder, _project, _items)


def uploaded(encoder: GaussianEncoder, key: str) -> Shelf | None:
    """Files of this session; those that cannot be read are named, the others go on. None where there is none."""
    files = st.file_uploader(
        "Images",
        TYPES,
        accept_multiple_files=True,
        max_upload_size=MOST_MEGABYTES,
        key=f"{key}-files",
        help=f"At most {MOST_UPLOADS} images of {MOST_MEGABYTES} MB each. They are read, not kept.",
    )
    if not files:
        st.info("Drop one image or more here: they are compared among themselves.", icon=":material/upload:")
        return None
    contents = [(file.name, file.getvalue()) for file in files]
    about = (encoder.fingerprint, tuple(file.file_id for file in files))
    shelf = prolip.waited(f"{key}-files", about, lambda report: pictures.of_uploads(encoder, contents, report))
    if shelf is None:
        return None
    _say_refused(shelf)
    if twice := len(files) - len(shelf) - len(shelf.refused):
        st.caption(f"{count(twice, 'file')} came twice and {'is' if twice == 1 else 'are'} shown once.")
    return shelf if len(shelf) else None


def _say_refused(shelf: Shelf, most: int = 5) -> None:
    if not shelf.refused:
        return
    lines = [f"- {escape(name)}: {escape(reason)}" for name, reason in shelf.refused[:most]]
    if len(shelf.refused) > most:
        lines.append(f"- and {len(shelf.refused) - most} more")
    rest = f"The other {count(len(shelf), 'image')} can be used." if len(shelf) else "Choose others."
    said = f"**{count(len(shelf.refused), 'file')} could not be read.** {rest}"
    st.warning("\n".join([said, "", *lines]), icon=":material/broken_image:")
