"""How a team shares the work: what several are asked, blind labelling, rounds that start by themselves, gold."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.team import MOST_VOTES, Overlap, Serves, TeamSettings, change_settings
from db import repository
from db.repository import ProjectRow
from db.repository.known import gold_page
from pages.parts.saying import say_and_rerun
from pages.parts.state import database
from pages.parts.team_parts import bullets, owners_only
from pages.parts.text import count
from pages.parts.who import Role, may, require

BY = {Overlap.RANDOM: "at random", Overlap.UNCERTAIN: "those the model is least sure of"}
SERVES = {
    Serves.ITSELF: "its image alone",
    Serves.COPIES: "all copies of the file",
    Serves.ALIKE: "copies and nearly the same pictures",
}


@dataclass(frozen=True, slots=True)
class Now:
    """What the settings act on."""

    unanswered: int  # pool images of which nobody said anything
    gold: int
    newer: int  # answers since the newest model
    model: int | None


def show(project: ProjectRow, me: int) -> None:
    stored, owner = TeamSettings.of(project.team), may(Role.OWNER)
    if not owner:
        owners_only()
    form, words = st.columns([1, 1], gap="large")
    with form:
        chosen = _form(project, stored, disabled=not owner)
    with words:
        st.markdown("**What this does**" if chosen == stored else "**What this would do**")
        bullets(preview(chosen, _now(project)))
        if owner and st.button("Save settings", type="primary", icon=":material/save:", disabled=chosen == stored):
            require(Role.OWNER)
            shared = change_settings(database(), project.id, me, chosen)
            say_and_rerun(
                f"Saved. {count(shared, 'unanswered image is', 'unanswered images are')} asked of several people."
            )
        if chosen != stored:
            st.caption("Not saved yet. Images that somebody answered keep the number of people they have.")


def _form(project: ProjectRow, stored: TeamSettings, disabled: bool) -> TeamSettings:
    def key(name: str) -> str:
        return f"setting-{name}-{project.id}"

    share = st.slider(
        "Share of images asked of several people", 0, 100, round(100 * stored.overlap), format="%d %%",
        key=key("overlap"), disabled=disabled,
    )  # fmt: skip
    off = disabled or not share
    by = st.radio("Which ones", list(BY), list(BY).index(stored.by), format_func=BY.get, key=key("by"), disabled=off)
    votes = st.number_input("People per shared image", 2, MOST_VOTES, stored.votes, key=key("votes"), disabled=off)
    blind = st.toggle("Label blind", stored.blind, key=key("blind"), disabled=disabled)
    every = st.number_input(
        "Start a round after so many new answers (0: never by itself)", 0, 100_000, stored.retrain_every, step=10,
        key=key("every"), disabled=disabled,
    )  # fmt: skip
    gold = st.slider(
        "Share of a person's answers on gold items", 0, 50, round(100 * stored.gold), format="%d %%",
        key=key("gold"), disabled=disabled,
    )  # fmt: skip
    serves = st.selectbox(
        "One answer is given to", list(SERVES), list(SERVES).index(stored.serves), format_func=SERVES.get,
        key=key("serves"), disabled=disabled,
    )  # fmt: skip
    return TeamSettings(
        overlap=_share(share, stored.overlap),
        by=by,
        votes=votes,
        blind=blind,
        retrain_every=every,
        gold=_share(gold, stored.gold),
        serves=serves,
    )


def _share(percent: int, stored: float) -> float:
    """As stored where the slider, which knows whole per cent, was not moved."""
    return stored if percent == round(100 * stored) else percent / 100


def _now(project: ProjectRow) -> Now:
    with database().read() as session:
        newest = repository.latest_round(session, project.id)
        return Now(
            unanswered=len(repository.unanswered(session, project.id)),
            gold=gold_page(session, project.id, 0, 0)[0],
            newer=repository.answers_since(session, project.id, newest.label_watermark) if newest else 0,
            model=newest.number if newest else None,
        )


def preview(chosen: TeamSettings, now: Now) -> list[str]:
    """What settings do to the project as it is, in sentences."""
    return [_overlap(chosen, now), _blind(chosen), _rounds(chosen, now), _gold(chosen, now), _serves(chosen)]


def _overlap(chosen: TeamSettings, now: Now) -> str:
    if not chosen.overlap:
        return "Every image is asked of one person; a second answer corrects the first. Agreement cannot be measured."
    shared = round(chosen.overlap * now.unanswered)
    more = count(shared * (chosen.votes - 1), "more answer")
    which = "" if chosen.by is Overlap.RANDOM else ", chosen anew after every round"
    images = f"≈ {count(shared, 'image is', 'images are')}"
    return f"{images} asked of {chosen.votes} people: **{more}** in all{which}. Where they differ, Review has it."


def _blind(chosen: TeamSettings) -> str:
    if chosen.blind:
        return "Nobody sees the model's guess, nor what others said, before their own answer."
    return "Whoever asks why an image comes sees the model's guess; that they saw it is stored with the answer."


def _rounds(chosen: TeamSettings, now: Now) -> str:
    if not chosen.retrain_every:
        return "A round starts when somebody starts one."
    every = f"A round starts by itself after every {count(chosen.retrain_every, 'new answer')}"
    if now.model is None:
        return f"{every}."
    left = chosen.retrain_every - now.newer
    when = f"the next in {count(left, 'answer')}" if left > 0 else "the next with the next answer"
    return f"{every}: {now.newer:,} are newer than model {now.model}, so {when}."


def _gold(chosen: TeamSettings, now: Now) -> str:
    if not chosen.gold:
        return "No gold item is asked: nobody is checked."
    often = f"One of {round(1 / chosen.gold)} images that a person gets is a gold item"
    if not now.gold:
        return f"{often}, once there are some: mark them under Gold."
    lasts = count(round(now.gold / chosen.gold), "answer")
    return f"{often}. The {count(now.gold, 'gold item')}, each asked of a person once, last for {lasts} of each person."


def _serves(chosen: TeamSettings) -> str:
    if chosen.serves is Serves.ITSELF:
        return "Duplicates are asked one by one; a batch has one of them at most."
    what = SERVES[chosen.serves]
    return f"An answer is given to {what} in the same split as well, where nobody spoke of those themselves."
