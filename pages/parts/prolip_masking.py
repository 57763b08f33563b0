"""One image of the ProLIP page with more and more of it masked: three curves and what the model sees."""

from __future__ import annotations

import streamlit as st

from core.encoders import GaussianEncoder
from core.errors import PenumbraError
from pages.parts import prolip, prolip_image_charts
from pages.parts.masking import Masked, masked_versions
from pages.parts.pictures import Picture, data_uri, opened
from pages.parts.text import escape, small

TITLE = "**What if it saw less?** :gray[the same image with 0 to 90 % of it hidden]"
CURVES = (
    ("Uncertainty", "Σσ²", "uncertainty", "Rises where the model knows that it sees less."),
    ("Inclusion", "H(original ⊂ masked), nats", "inclusion", "Above 0: the masked image includes the original."),
    (
        "Similarity",
        "cosine with the original",
        "similarity",
        "H grows with distance too: near 1 it is about width alone.",
    ),
)
TILE = '<img src="{}" alt="" style="width:100%;border-radius:6px">'
HEADER = ("share masked", "uncertainty", "H(original in masked), nats", "cosine", "seed")


def show(encoder: GaussianEncoder, picture: Picture, root: str | None) -> None:
    said, field = st.columns([5, 1], vertical_alignment="bottom")
    said.markdown(TITLE)
    seed = int(
        field.number_input(
            "Seed", 0, 9999, 0, key="mask-seed", persist_state="session", help="Which patches are hidden first"
        )
    )
    try:
        found = _masked(encoder.fingerprint, picture.sha256, seed, encoder, picture, root)
    except PenumbraError as error:
        st.error(escape(str(error)), icon=":material/error:")
        return
    for place, (title, axis, name, meaning) in zip(st.columns(3, gap="medium"), CURVES, strict=True):
        with place:
            st.markdown(f"**{title}** :gray[{axis}]")
            chart = prolip_image_charts.against_mask(found.shares, getattr(found, name), axis, name == "inclusion")
            st.plotly_chart(chart, config=prolip.picture(f"masked-{name}"), key=f"mask-{name}", alt=f"{title} by mask")
            st.caption(meaning)
    _thumbnails(found)
    st.caption(f"{found.how} Seed {found.seed}: what a smaller mask hides, a larger one hides too.")
    rows = [
        (*row, found.seed)
        for row in zip(found.shares, found.uncertainty, found.inclusion, found.similarity, strict=True)
    ]
    whole = {"model": encoder.name, "file": picture.name, "sha256": picture.sha256, "mask": found.how}
    prolip.take_away(
        "masked", HEADER, rows, whole | {"versions": [dict(zip(HEADER, row, strict=True)) for row in rows]}
    )


@st.cache_data(max_entries=64, show_spinner="Masking the image …")
def _masked(fingerprint: str, sha256: str, seed: int, _encoder, _picture: Picture, root: str | None) -> Masked:
    return masked_versions(_encoder, opened(_picture, root), seed)


def _thumbnails(found: Masked) -> None:
    for place, share, image, value in zip(
        st.columns(len(found.shares), gap="xsmall"), found.shares, found.images, found.uncertainty, strict=True
    ):
        place.html(TILE.format(data_uri(image, 128)))
        place.caption(f"{100 * share:.0f} %\n\nΣσ² {small(value)}")
