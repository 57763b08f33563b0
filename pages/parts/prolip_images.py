"""The Images tab of the ProLIP page: the most and the least certain, one image masked, its way to [ROOT]."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.encoders import GaussianEncoder
from core.prolip.similarity import cosine
from db.repository import ProjectRow
from pages.parts import prolip, prolip_image_charts, prolip_masking, prolip_sources, prolip_walk
from pages.parts.pictures import Picture, Shelf
from pages.parts.prolip_sources import POOL, UPLOAD
from pages.parts.prolip_walk import Captions
from pages.parts.text import count, escape, small

SIDE = 6  # tiles of the most and of the least certain
MOST = 12  # tiles of the histogram's choice
CHOSEN = "images-chosen"
MEANING = (
    "Σσ²: the variance that the model gives an image, summed over all dimensions. A picture that could be of many "
    "things is wide, a plain one is narrow."
)
TILE = '<img src="{}" alt="" loading="lazy" style="width:100%;aspect-ratio:1;object-fit:cover;border-radius:6px">'
HEADER = ("place", "file", "sha256", "uncertainty")


def show(project: ProjectRow | None, encoder: GaussianEncoder) -> None:
    source = POOL if project is not None else UPLOAD
    if project is not None:
        options = [POOL, UPLOAD]
        source = st.segmented_control(
            "Images", options, default=POOL, required=True, key="images-source", persist_state="session"
        )
    shelf = _shelf(source, project, encoder)
    if shelf is None:
        return
    order = shelf.least_certain()
    captions = prolip_walk.captions(project, encoder)
    if len(shelf) > 1:
        _histogram(shelf, order, captions)
        _ends(shelf, order, captions)
    else:
        st.caption("One image: there is nothing to rank, but it can be masked and walked from.")
    position = _choose(shelf, order)
    picture = shelf.pictures[position]
    prolip_masking.show(encoder, picture, shelf.root)
    prolip_walk.show(encoder, picture, shelf.take([position]).gaussians, captions)
    st.divider()
    st.markdown("**The ranking** :gray[all images, the most uncertain first]")
    rows = _rows(shelf, order)
    whole = {"model": encoder.name, "fingerprint": encoder.fingerprint, "source": source}
    prolip.take_away(
        "image-uncertainty", HEADER, rows, whole | {"images": [dict(zip(HEADER, row, strict=True)) for row in rows]}
    )


def _shelf(source: str, project: ProjectRow | None, encoder: GaussianEncoder) -> Shelf | None:
    if source == UPLOAD or project is None:
        return prolip_sources.uploaded(encoder, "images")
    found = prolip_sources.pool(project, encoder)
    return None if found is None else found[0]


def _rows(shelf: Shelf, order: Sequence[int]) -> list[tuple]:
    values = shelf.uncertainty.tolist()
    return [
        (place, shelf.pictures[i].name, shelf.pictures[i].sha256, values[i]) for place, i in enumerate(order, start=1)
    ]


def _histogram(shelf: Shelf, order: list[int], captions: Captions) -> None:
    st.markdown(
        f"**How unsure is the model of {count(len(shelf), 'image')}?** :gray[click a bar, or several with Shift]",
        help=MEANING,
    )
    values = shelf.uncertainty.tolist()
    edges = prolip_image_charts.bins(values)
    event = st.plotly_chart(
        prolip_image_charts.histogram(values, edges),
        config=prolip.picture("image-uncertainty"),
        key=f"image-histogram-{len(shelf)}",
        on_select="rerun",
        selection_mode="points",
        alt="Histogram of the images' uncertainty",
    )
    chosen = {point["point_index"] for point in event.get("selection", {}).get("points", [])}
    if not chosen:
        st.caption("Nothing chosen: click a bar to see its images.")
        return
    numbers = prolip_image_charts.bin_of(values, edges)
    inside = [i for i in order if int(numbers[i]) in chosen]
    first = f", the {MOST} least certain of them" if len(inside) > MOST else ""
    st.markdown(f"**{count(len(inside), 'image')}** in {count(len(chosen), 'bar')}{first}")
    _tiles(shelf, inside[:MOST], captions, "bar", across=6)


def _ends(shelf: Shelf, order: list[int], captions: Captions) -> None:
    each = min(SIDE, len(order) // 2)
    sure, unsure = st.columns(2, gap="large")
    with sure:
        st.markdown("**Most certain** :gray[narrow Gaussians]")
        _tiles(shelf, order[::-1][:each], captions, "sure")
    with unsure:
        st.markdown("**Least certain** :gray[wide Gaussians]")
        _tiles(shelf, order[:each], captions, "unsure")
    st.caption("Under each: Σσ², then the caption that is nearest and its cosine; 1 is the same direction.")


def _tiles(shelf: Shelf, positions: list[int], captions: Captions, key: str, across: int = 3) -> None:
    if not positions:
        return
    scores = cosine(shelf.take(positions).gaussians, captions.gaussians) if len(captions) else None
    for start in range(0, len(positions), across):
        for place, at in zip(st.columns(across), range(start, min(start + across, len(positions))), strict=False):
            with place:
                _tile(shelf.pictures[positions[at]], float(shelf.uncertainty[positions[at]]), key)
                if scores is not None:
                    value, best = scores[at].max(dim=0)
                    st.caption(f"“{escape(captions.texts[int(best)][:60])}” {float(value):.2f}")


def _tile(picture: Picture, uncertainty: float, key: str) -> None:
    st.html(TILE.format(picture.thumb))  # a hash or base64 only: nothing a person wrote
    st.button(
        f"Σσ² {small(uncertainty)}",
        key=f"{key}-{picture.sha256}",
        help=f"{escape(picture.name)}: look at it masked, and at its way to the root, below",
        on_click=_take,
        args=(picture.sha256,),
        width="stretch",
    )


def _take(sha256: str) -> None:
    st.session_state[CHOSEN] = sha256


def _choose(shelf: Shelf, order: list[int]) -> int:
    """The position of the image that is looked at closely: by a tile's button, or by name."""
    st.subheader("One image, closely")
    places = {shelf.pictures[i].sha256: i for i in order}
    if st.session_state.get(CHOSEN) not in places:
        st.session_state[CHOSEN] = shelf.pictures[order[-1]].sha256
    said = {
        sha256: f"{shelf.pictures[i].name} · Σσ² {small(float(shelf.uncertainty[i]))}" for sha256, i in places.items()
    }
    chosen = st.selectbox(
        "Image",
        list(places),
        format_func=said.__getitem__,
        key=CHOSEN,
        persist_state="session",
        help="The least certain first; the most certain, at the end, has the most to lose by a mask",
    )
    return places[chosen]
