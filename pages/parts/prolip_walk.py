"""Captions that the ProLIP page compares images with, and the way of one image over them to [ROOT]."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import pandas as pd
import streamlit as st

from core import class_texts
from core.encoders import GaussianEncoder
from core.gaussians import nothing
from core.values import ProlipEmbeddings
from db.repository import ProjectRow
from pages.parts import prolip, prolip_image_charts, texts_file, typed
from pages.parts.pictures import Picture
from pages.parts.reading import read
from pages.parts.text import count, escape
from pages.parts.walking import STEPS, Root, Stop, way

LEVELS = """something
an animal
a living thing
a person
a building
a vehicle
food
a tool
furniture
a musical instrument
a drawing
a photo"""
MEANING = (
    "From the caption nearest to the image, the walk goes in a straight line to the root's mean; at each of {} steps "
    "the nearest caption is noted, and one that stays the nearest is shown once."
)
ROOT_HELP = (
    "Empty text: what the model makes of no words at all. Most inclusive caption: the one whose Gaussian covers this "
    "image best."
)
FIGURES = (
    "Σσ² should rise on the way. H(image ⊂ caption) above 0: the caption includes the image; H grows with distance, so "
    "the cosine stands beside it."
)
HEADER = ("caption", "steps", "uncertainty", "cosine", "H(image in caption)")


@dataclass(frozen=True, slots=True)
class Captions:
    """M texts and their Gaussians."""

    texts: list[str]
    gaussians: ProlipEmbeddings

    def __len__(self) -> int:
        return len(self.texts)


def captions(project: ProjectRow | None, encoder: GaussianEncoder) -> Captions:
    """The project's class prompts, more general lines, and a file's."""
    own = [] if project is None else class_texts.prompts(project)
    with st.expander("Captions that the images are compared with"):
        prompts = f"{count(len(own), 'class prompt')} of the project, and these lines" if own else "One a line"
        lines = (
            st.text_area(prompts, LEVELS, height=200, key="images-captions", persist_state="session") or ""
        ).splitlines()
        given = typed.listed([*own, *lines, *_from_file()])
        for note in given.notes:
            st.caption(note)
        st.caption(f"{count(len(given), 'caption')} in all.")
    if not len(given):
        return Captions([], nothing(encoder))
    about = (encoder.fingerprint, given.texts)
    found = prolip.waited("captions", about, lambda on_progress: read(encoder, given, on_progress))
    return Captions([], nothing(encoder)) if found is None else Captions(list(given.texts), found.gaussians)


def _from_file() -> list[str]:
    label = "More of them: a .txt with one a line, or a .csv, of which all columns are read"
    columns = texts_file.columns(label, "images-captions-file")
    return [line for column in columns.values() for line in column]


def show(encoder: GaussianEncoder, picture: Picture, image: ProlipEmbeddings, given: Captions) -> None:
    said, switch = st.columns([3, 2], vertical_alignment="bottom")
    said.markdown("**From its own caption to the most general** :gray[the way to \\[ROOT\\]]")
    with switch:
        root = Root(
            st.segmented_control(
                "Root",
                list(Root),
                default=Root.EMPTY,
                required=True,
                key="walk-root",
                persist_state="session",
                help=ROOT_HELP,
            )
        )
    if not len(given):
        st.info(
            "There is no caption to pass: write some above, one a line, from the special to the general.",
            icon=":material/edit:",
        )
        return
    stops = way(image, given.gaussians, given.texts, root, encoder.text_gaussians([""]).to("cpu", image.mean.dtype))
    st.markdown(" → ".join(f"“{escape(stop.text)}”" if stop.steps else f"**{escape(stop.text)}**" for stop in stops))
    chart = prolip_image_charts.path([stop.text for stop in stops], [stop.uncertainty for stop in stops])
    st.plotly_chart(chart, config=prolip.picture("walk"), key="walk-path", alt="Uncertainty of the captions on the way")
    number = st.column_config.NumberColumn
    digits = {
        "Σσ²": number(format="%.4g"),
        "cosine": number(format="%.3f"),
        "H(image ⊂ caption)": number(format="%.4g"),
    }
    st.dataframe(table(stops), hide_index=True, width="stretch", height="content", column_config=digits)
    st.caption(f"{MEANING.format(STEPS)} {FIGURES}")
    rows = [tuple(asdict(stop).values()) for stop in stops]
    whole = {"model": encoder.name, "file": picture.name, "root": root.value, "captions": given.texts}
    prolip.take_away("walk", HEADER, rows, whole | {"way": [asdict(stop) for stop in stops]})


def table(stops: list[Stop]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "caption": stop.text,
                f"nearest for, of {STEPS} steps": stop.steps,
                "Σσ²": stop.uncertainty,
                "cosine": stop.similarity,
                "H(image ⊂ caption)": stop.inclusion,
            }
            for stop in stops
        ]
    )
