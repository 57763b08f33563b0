"""What the tabs of the ProLIP page share: the encoder in use, images that it has not read yet, files to take away."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.encoders import GaussianEncoder
from core.errors import PenumbraError
from core.gaussians import OFFLINE, gaussian_encoder, makes_gaussians
from core.prolip.model.configs import ON_HUB
from core.values import Progress
from db.repository import ProjectRow
from pages.parts import working
from pages.parts.empty import to_projects
from pages.parts.text import count, duration, escape
from pages.parts.who import person_menu

MEANING = "A model that says how sure it is: each text and image is a Gaussian, and a wide one includes narrower ones."
MODEL_HELP = (
    "mini-prolip is small and comes with Penumbra. Others are downloaded when first used, from 0.8 to 4 GB; a name "
    "such as local-dir:/folder or ViT-B-16-ProLIP@/path/to/model.safetensors can be typed."
)

Result = TypeVar("Result")

UNSEEN = 0.5  # seconds before a bar appears: what is quicker needs none


def header(project: ProjectRow | None) -> GaussianEncoder | None:
    """Title, the choice of an encoder and who sits here; None where the chosen one cannot be had, which is said."""
    title, choice, who = st.columns([4.6, 3.4, 1.4], vertical_alignment="bottom")
    title.title("ProLIP" if project is None else f"ProLIP · {escape(project.name)}")
    with choice:
        name = _choice(project)
    with who:
        person_menu()
    st.caption(MEANING)
    try:
        with st.spinner(f"Loading {escape(name)}: seconds, or minutes where it is downloaded first …"):
            return gaussian_encoder(name)
    except PenumbraError as error:
        st.error(escape(str(error)), icon=":material/error:")
        st.caption(f"Nothing is lost. Choose {OFFLINE} above, which needs no download.")
        return None


def _choice(project: ProjectRow | None) -> str:
    own = [project.model] if project is not None and makes_gaussians(project.model) else []
    known = list(dict.fromkeys([*own, OFFLINE, *(f"hf-hub:{name}" for name in ON_HUB)]))
    chosen = st.selectbox(
        "Model", known, key=_key(project), accept_new_options=True, help=MODEL_HELP, persist_state="session"
    )
    return (chosen or OFFLINE).strip()


def _key(project: ProjectRow | None) -> str:
    return f"prolip-model-{project.id if project else 0}"


def name_in_use(project: ProjectRow | None) -> str:
    """What `gaussian_encoder` loads the chosen encoder by, also in the worker's process."""
    return (st.session_state.get(_key(project)) or OFFLINE).strip()


def needs_project(project: ProjectRow | None, what: str) -> bool:
    """Whether there is no project, in which case the next step is shown; `what` follows “… of a project”."""
    if project is not None:
        return False
    to_projects(f"This shows {what} of a project: choose one first.")
    return True


def needs_images(project: ProjectRow, encoder: GaussianEncoder, missing: int) -> None:
    """The way to Gaussians of images that have none yet: a job's progress, or the button that starts it."""
    running = working.current(project.id, "gaussians")
    if running:
        working.show_progress(running)
        return
    if not missing:
        return
    working.show_failure(working.last(project.id, "gaussians"))
    words, press = st.columns([4, 1.6], vertical_alignment="center")
    words.markdown(
        f"**{count(missing, 'image')}** not read by {escape(encoder.name)} yet. This is done once, in the background; "
        "it can be stopped and goes on where it was."
    )
    if press.button("Read the images", type="primary", icon=":material/blur_on:", width="stretch"):
        working.start(project.id, "gaussians", {"encoder": name_in_use(project)})
        st.rerun()


def waited(name: str, about: Hashable, work: Callable[[Progress], Result]) -> Result | None:
    """What `work` gives, with a bar and a way to stop where it takes long; None once that was used.

    Stopping ends the script at the next report of progress, so what was done by then must be kept. The work is not
    begun again by itself, unless it is `about` something else.
    """
    memory = f"stopped-{name}"
    if st.session_state.get(memory) == about:
        st.info("This was stopped. What was read is kept.", icon=":material/info:")
        if st.button("Go on", type="primary", icon=":material/play_arrow:", key=f"go-on-{name}"):
            del st.session_state[memory]
            st.rerun()
        return None
    place = st.empty()
    with place.container():
        found = work(_Waiting(lambda: st.session_state.update({memory: about}), name))
    place.empty()
    return found


class _Waiting:
    """A progress callback that shows nothing at first, then a bar with the time left and a button that stops."""

    def __init__(self, stop: Callable[[], None], name: str) -> None:
        self._stop, self._name = stop, name
        self._started = time.monotonic()
        self._bar: DeltaGenerator | None = None

    def __call__(self, done: int, total: int, message: str) -> None:
        seconds = time.monotonic() - self._started
        if seconds < UNSEEN:
            return
        if self._bar is None:
            self._bar = st.progress(0.0)
            st.button("Cancel", on_click=self._stop, key=f"stop-{self._name}", icon=":material/close:", type="tertiary")
        left = f" · {duration(seconds * (total - done) / done)} left" if done else ""
        self._bar.progress(done / total if total else 0.0, f"**{message}** · {done:,} of {total:,}{left}")


def picture(name: str) -> dict:
    """A chart's configuration: one button, which saves it as PNG."""
    image = {"format": "png", "filename": f"penumbra-{name}", "scale": 2}
    return {"displaylogo": False, "modeBarButtons": [["toImage"]], "toImageButtonOptions": image}


def take_away(name: str, header: Sequence[str], rows: Sequence[Sequence], whole: dict) -> None:
    """Buttons that save a table as CSV and everything as JSON; a chart saves itself as PNG (`picture`)."""
    left, right, said = st.columns([1, 1, 4], vertical_alignment="center")
    left.download_button(
        "CSV", lambda: table(header, rows), f"penumbra-{name}.csv", "text/csv", icon=":material/download:",
        on_click="ignore", width="stretch", key=f"{name}-csv",
    )  # fmt: skip
    right.download_button(
        "JSON", lambda: json.dumps(whole, ensure_ascii=False), f"penumbra-{name}.json", "application/json",
        icon=":material/download:", on_click="ignore", width="stretch", key=f"{name}-json",
    )  # fmt: skip
    said.caption("Each chart saves itself as PNG by the camera in its corner.")


def table(header: Sequence[str], rows: Sequence[Sequence]) -> str:
    """CSV; a text that a spreadsheet would run as a formula gets an apostrophe in front (the JSON has it as it is)."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    return out.getvalue()


def _harmless(cell):
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
