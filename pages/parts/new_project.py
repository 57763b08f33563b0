"""A new project in four steps, each with a preview of what it means. Nothing is written before the last button."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.errors import PenumbraError
from core.projects import create
from pages.parts import drafting, import_labels, import_look, import_source, uploading, working
from pages.parts.import_look import Plan
from pages.parts.import_survey import Survey
from pages.parts.state import database, go
from pages.parts.text import escape, filled

MODELS = ("mini", "ViT-B-32/laion2b_s34b_b79k", "ViT-B-16/datacomp_xl_s13b_b90k", "ViT-L-14/datacomp_xl_s13b_b90k")
PROMPT = "a photo of a {class}"


def new_project() -> None:
    title, leave = st.columns([6, 1], vertical_alignment="center")
    title.title("New project")
    if leave.button("Cancel", icon=":material/close:", type="tertiary"):
        import_source.forget()
        _close()
        st.rerun()
    st.caption("No project is made before the last step. Images on the server stay where they are.")
    plan = _images()
    if plan is None:
        return
    source = import_labels.ask(plan.source, plan.found)
    if source is None:
        return
    classes, prompt = _classes(plan.found)
    if not classes or prompt is None:
        return
    model = _model()
    _create(replace(plan, source=source), classes, prompt, model)


def _close() -> None:
    for key in [str(key) for key in st.session_state if str(key).startswith("new-")]:
        st.session_state.pop(key, None)


def _images() -> Plan | None:
    st.subheader("1 · Images")
    place = import_source.choose()
    return import_look.look(place) if place else None


def _classes(found: Survey) -> tuple[list[str], str | None]:
    st.subheader("2 · Classes and prompt")
    left, right = st.columns(2, gap="large")
    if found.classes:
        label, given = "More classes, one on a line", ""
        left.caption(f"Found: {escape(', '.join(found.classes))}")
    else:
        label, given = "Classes, one on a line", ""
    typed = left.text_area(label, given, height=140, key="new-classes")
    classes = drafting.class_names(found.classes, typed)
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


def _create(plan: Plan, classes: list[str], prompt: str, model: str) -> None:
    st.subheader("4 · Name and target")
    found = plan.found
    with st.form("create", border=False):
        left, right = st.columns(2, gap="large")
        name = left.text_input("Name", plan.place.name)
        target = right.selectbox(
            "Target domain",
            [None, *found.domains],
            format_func=lambda each: each or "all images",
            help="What the model should become good at: images are ranked by how much an answer helps there.",
        )
        seed = left.number_input("Seed of the splits", 0, 2**31, 0, help="The same seed gives the same splits.")
        right.markdown(drafting.splits(found.usable - sum(found.splits.values())))
        sent = st.form_submit_button("Create and read the images", type="primary")
    if not sent:
        return
    options = {"model": model, "prompt": prompt, "target_domain": target, "seed": int(seed), "classes": tuple(classes)}
    try:
        with uploading.settled(plan.place):
            project_id = create(database(), name=name, source=plan.source, **options)
        working.start(project_id, "prepare")
    except (PenumbraError, ValueError) as error:
        st.error(escape(str(error)))
        return
    _close()
    go("projects", project_id)
