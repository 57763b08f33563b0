"""A project on its card."""

from __future__ import annotations

import streamlit as st

from db import repository
from db.repository import Card, RoundRow
from pages.parts import folder, working
from pages.parts.more import more
from pages.parts.routes import url
from pages.parts.state import database, go
from pages.parts.text import ago, count, escape, percent

_COVER = '<div style="display:grid;grid-template-columns:repeat(4,1fr);gap:6px;height:104px">{}</div>'
_TILE = '<img src="{}" alt="" loading="lazy" style="width:100%;height:104px;object-fit:cover;border-radius:6px">'
_EMPTY = '<div style="height:104px;border-radius:6px;background:rgba(128,128,128,.12)"></div>'


def project_card(card: Card, model: RoundRow | None) -> None:
    project, counts = card.project, card.counts
    with st.container(border=True):
        _cover(card.cover)
        st.markdown(f"#### {escape(project.name)}")
        st.caption(_describe(card))
        if preparing := working.current(project.id, "prepare"):
            working.show_progress(preparing)
        if preparing and model is None:
            return
        share = counts.answered / counts.pool if counts.pool else 0.0
        st.progress(share, text=f"{counts.answered:,} of {count(counts.pool, 'image')} answered")
        st.markdown(_accuracy(model, counts.test))
        if card.active:
            st.caption(f"Labelling now: {escape(', '.join(card.active))}")
        there = folder.is_there(project)
        if not there:
            folder.show_missing(project)
        _steps(card, model, can_read=there and not preparing)


def _cover(hashes: tuple[str, ...]) -> None:
    spread = hashes[:: max(1, len(hashes) // 4)][:4]
    tiles = [_TILE.format(url(each, 256)) for each in spread]  # hashes only: nothing a person wrote
    st.html(_COVER.format("".join(tiles + [_EMPTY] * (4 - len(tiles)))))


def _describe(card: Card) -> str:
    project = card.project
    parts = ["**drawn by the program**"] if project.drawn else []
    parts.append(f"{count(len(project.classes), 'class', 'classes')}")
    parts.append(f"target: {escape(project.target_domain)}" if project.target_domain else "all domains")
    parts.append(f"model: {escape(project.model)}")
    return " · ".join(parts)


def _accuracy(model: RoundRow | None, test: int) -> str:
    if model is None:
        return "No model yet"
    served = model.metrics.get(model.metrics.get("served", "posterior")) or {}
    if served.get("accuracy") is None:
        return f"Model {model.number} · not measured: no image of the test split has a known class"
    images = count(model.metrics.get("n", test), "image")
    accuracy, made = percent(served["accuracy"]), ago(model.created_at)
    return f"**{accuracy}** right on the test split ({images}) · model {model.number}, {made}"


def _steps(card: Card, model: RoundRow | None, can_read: bool) -> None:
    project = card.project
    last = working.last(project.id, "prepare")
    if can_read and (model is None or (last is not None and last.state == "failed")):
        working.show_failure(last)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        if model is not None:
            _buttons(project.id)
        elif can_read:
            _go_on_reading(project.id)
        if card.counts.problems:
            _problems(project.id, card.counts.problems)
        more(project, readable=can_read and model is not None)


def _go_on_reading(project_id: int) -> None:
    """An import that was stopped goes on where it ended."""
    label = "Read the images" if working.last(project_id, "prepare") is None else "Go on reading"
    if st.button(label, type="primary", key=f"prepare-{project_id}", icon=":material/play_arrow:"):
        working.start(project_id, "prepare")
        st.rerun()


def _buttons(project_id: int) -> None:
    if st.button("Label", type="primary", key=f"label-{project_id}", icon=":material/label:"):
        go("annotate", project_id)
    if st.button("Rounds", key=f"rounds-{project_id}", icon=":material/trending_up:"):
        go("rounds", project_id)


def _problems(project_id: int, number: int) -> None:
    with st.popover(count(number, "problem file"), icon=":material/warning:", type="tertiary"):
        st.markdown(f"**{count(number, 'file')} could not be taken in.** The rest is not affected.")
        with database().read() as session:
            rows = repository.problems(session, project_id)
        st.dataframe(
            [{"file": row.path, "reason": row.reason} for row in rows], hide_index=True, width=620, height="content"
        )
