"""A new project in four steps, each with a preview of what it means. Nothing is written before the last button."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.data.scan import Scan, scan_folder
from core.errors import PenumbraError
from core.images import read_image
from core.projects import create_from_folder
from pages.parts import drafting, working
from pages.parts.state import database, go
from pages.parts.text import count, escape, filled

MODELS = ("mini", "ViT-B-32/laion2b_s34b_b79k", "ViT-B-16/datacomp_xl_s13b_b90k", "ViT-L-14/datacomp_xl_s13b_b90k")
PROMPT = "a photo of a {class}"
SAMPLES = 6


def new_project() -> None:
    title, leave = st.columns([6, 1], vertical_alignment="center")
    title.title("New project")
    if leave.button("Cancel", icon=":material/close:", type="tertiary"):
        _close()
        st.rerun()
    st.caption("Nothing is written before the last step. The images stay where they are.")
    scan = _images()
    if scan is None:
        return
    classes, prompt = _classes(scan)
    if not classes or prompt is None:
        return
    model = _model()
    _create(scan, classes, prompt, model)


def _close() -> None:
    for key in ("new-project", "new-folder"):
        st.session_state.pop(key, None)


def _images() -> Scan | None:
    st.subheader("1 · Images")
    with st.form("look", border=False):
        place, press = st.columns([5, 1], vertical_alignment="bottom")
        folder = place.text_input(
            "Folder on this computer",
            placeholder="/home/ada/pictures/office",
            help="Layouts that are understood: class/file, domain/class/file, or all files in one folder.",
        )
        if press.form_submit_button("Look", type="primary", width="stretch"):
            st.session_state["new-folder"] = folder.strip()
    if not st.session_state.get("new-folder"):
        return None
    scan = _scan()
    if scan is not None:
        _show_scan(scan)
    return scan if scan and scan.files else None


def _folder() -> Path:
    return Path(st.session_state["new-folder"]).expanduser().absolute()


def _scan() -> Scan | None:
    try:
        with st.spinner("Looking into the folder …"):
            return scan_folder(_folder())
    except PenumbraError as error:
        st.error(escape(str(error)))
        return None


def _show_scan(scan: Scan) -> None:
    if not scan.files:
        st.warning("There is no image in this folder that could be read: JPEG, PNG, WebP, BMP, TIFF or GIF.")
    else:
        parts = [count(len(scan.files), "image"), count(len(scan.classes), "class", "classes")]
        parts += [count(len(scan.domains), "domain")] if scan.domains else []
        st.markdown(f"**{' · '.join(parts)}**")
        _samples(scan)
        st.caption(f"Read as {drafting.LAYOUTS[scan.layout]}.")
        if scan.classes:
            with st.expander("Images of each class"):
                st.dataframe(drafting.class_table(scan), hide_index=True)
    if scan.ignored:
        left_out = sum(each.count for each in scan.ignored)
        with st.expander(f"{count(left_out, 'file')} left out, and why", icon=":material/info:"):
            rows = [{"file": each.path, "reason": each.reason, "files": each.count} for each in scan.ignored]
            st.dataframe(rows, hide_index=True)


def _samples(scan: Scan) -> None:
    step = max(1, len(scan.files) // SAMPLES)
    for place, file in zip(st.columns(SAMPLES), scan.files[::step], strict=False):
        try:
            place.image(read_image(_folder() / file.path, max_side=256), width="stretch")
        except PenumbraError as error:
            place.caption(escape(str(error)))


def _classes(scan: Scan) -> tuple[list[str], str | None]:
    st.subheader("2 · Classes and prompt")
    left, right = st.columns(2, gap="large")
    if scan.classes:
        label, given = "More classes, one on a line", ""
        left.caption(f"From the folders: {escape(', '.join(scan.classes))}")
    else:
        label, given = "Classes, one on a line", ""
    typed = left.text_area(label, given, height=140, key="new-classes")
    classes = drafting.class_names(scan.classes, typed)
    prompt = right.text_input("Prompt: how a caption would say it", PROMPT, key="new-prompt")
    trouble = drafting.trouble(classes, prompt)
    if trouble:
        right.warning(escape(trouble))
        return classes, None
    vague = drafting.vague(classes)
    lines = [f"- {escape(filled(prompt, each))}{drafting.VAGUE if each in vague else ''}" for each in classes[:8]]
    right.caption("The model will read")
    right.markdown("\n".join(lines) + (f"\n- … and {len(classes) - 8} more" if len(classes) > 8 else ""))
    return classes, prompt


def _model() -> str:
    st.subheader("3 · Model")
    model = st.selectbox(
        "Model",
        MODELS,
        accept_new_options=True,
        width=420,
        help="Any name of open_clip, as architecture/pretrained.",
    )
    if model == "mini":
        st.caption(
            "Comes with Penumbra: works offline and takes seconds. Right for a first try and for small machines."
        )
    else:
        st.caption(
            "Fetched from the model hub when the images are read: stronger, larger, and it needs the network once."
        )
    return model or "mini"


def _create(scan: Scan, classes: list[str], prompt: str, model: str) -> None:
    st.subheader("4 · Name and target")
    with st.form("create", border=False):
        left, right = st.columns(2, gap="large")
        name = left.text_input("Name", _folder().name)
        target = right.selectbox(
            "Target domain",
            [None, *scan.domains],
            format_func=lambda each: each or "all images",
            help="What the model should become good at: images are ranked by how much an answer helps there.",
        )
        seed = left.number_input("Seed of the splits", 0, 2**31, 0, help="The same seed gives the same splits.")
        right.markdown(drafting.splits(len(scan.files)))
        sent = st.form_submit_button("Create and read the images", type="primary")
    if not sent:
        return
    options = {"model": model, "prompt": prompt, "target_domain": target, "seed": int(seed), "classes": tuple(classes)}
    try:
        project_id = create_from_folder(database(), name=name, folder=_folder(), **options)
        working.start(project_id, "prepare")
    except (PenumbraError, ValueError) as error:
        st.error(escape(str(error)))
        return
    _close()
    go("projects", project_id)
