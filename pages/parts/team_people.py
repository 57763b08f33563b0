"""People of a project: what each did, how fast, how far they agree with the model and with known answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from core import people
from core.accounts import MAY, has_accounts
from core.errors import PenumbraError
from core.people import IDLE, PersonFigures
from db import repository
from db.repository import PersonRow, ProjectRow, Share
from db.repository.behind import Behind, Pressed, pressed
from pages.parts.saying import say_and_rerun
from pages.parts.state import database
from pages.parts.team_parts import KINDS, class_of, clicked, csv_button, empty, look_at, paged, strong, tile
from pages.parts.text import ago, count, duration, escape, percent
from pages.parts.who import Role, may

ALONE = (
    "These are your own figures. Those of the others are for reviewers and owners: nobody labels to look good beside "
    "a colleague."
)
WITHOUT_ACCOUNTS = (
    "Nobody signs in here, so whoever uses this computer may do everything. Roles begin with the first account: "
    "`python -m core user add NAME --role owner`"
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of one person, what it means, and the images behind it."""

    which: Behind
    name: str
    meaning: str
    events: Callable[[PersonFigures], int]
    value: Callable[[PersonFigures], str]


def _counted(which: Behind, name: str, meaning: str, field: str) -> Figure:
    def events(each: PersonFigures) -> int:
        return getattr(each.counts, field)

    return Figure(which, name, meaning, events, lambda each: f"{events(each):,}")


def _shared(which: Behind, name: str, meaning: str, field: str) -> Figure:
    def share(each: PersonFigures) -> Share:
        return getattr(each.counts, field)

    def value(each: PersonFigures) -> str:
        found = share(each)
        return f"{percent(found.value)} of {found.of:,}" if found.of else "none yet"

    return Figure(which, name, meaning, lambda each: share(each).of, value)


FIGURES = (
    _counted(Behind.ANSWERS, "Answers", "Classes given, also those corrected or taken back later.", "answers"),
    Figure(
        Behind.SLOW,
        "Speed",
        f"Answers an hour of work. A gap over {IDLE.seconds} s is a pause, and none of it counts. "
        "Behind it: the images that took longest.",
        lambda each: each.counts.answers if each.speed.per_hour else 0,
        lambda each: f"{each.speed.per_hour:,.0f} / h" if each.speed.per_hour else "none yet",
    ),
    _shared(
        Behind.BLIND,
        "Says what the model guesses, unseen",
        "Share of answers equal to a guess that was not shown. Behind it: first those that differ.",
        "blind",
    ),
    _shared(
        Behind.SEEN,
        "The same, having seen the guess",
        "Far above the share unseen, the guess is being followed. Then label blind: see Settings.",
        "seen",
    ),
    _shared(Behind.GOLD, "Right on gold", "Share of gold items, whose class is known, that were answered so.", "gold"),
    _counted(Behind.UNUSABLE, "Unusable", "Images set aside for good: nobody is asked again.", "unusable"),
    _counted(Behind.LATER, "Later", "Images passed for now. They come back at the end.", "later"),
    _counted(Behind.UNDONE, "Taken back", "Undone with z. Many of them: slips, or classes hard to tell.", "undone"),
    _counted(Behind.REVIEWS, "Reviews", "Decisions where answers differed, gold included.", "reviews"),
)


def show(project: ProjectRow, me: int) -> None:
    found = people.figures(database(), project.id)
    with database().read() as session:
        rows = {row.id: row for row in repository.person_rows(session)}
        active = {person for _, person in repository.leases(session, project.id)}
    if not may(Role.REVIEWER):
        st.caption(f":material/lock: {ALONE}")
        found, rows = [each for each in found if each.counts.id == me], {me: rows[me]}
    if not has_accounts(database()):
        st.caption(WITHOUT_ACCOUNTS)
    by_id = {each.counts.id: each for each in found}
    if not found and len(rows) < 2:
        return empty(
            "No answer yet. Figures begin with the first.", "Label images", page="annotate", project_id=project.id
        )
    if len(rows) > 1:
        _overview(rows, by_id, active)
    _one(project, me, rows, by_id, active)
    return None


def _overview(rows: dict[int, PersonRow], figures: dict[int, PersonFigures], active: set[int]) -> None:
    frame = pd.DataFrame([_line(row, figures.get(row.id), row.id in active) for row in rows.values()])
    if not has_accounts(database()):
        frame = frame.drop(columns="role")
    st.dataframe(frame, hide_index=True, width="stretch", column_config=_columns(), placeholder="—", key="team-table")
    words, press = st.columns([6, 1], vertical_alignment="center")
    words.caption("Active now: has images on the screen. Hover over a column's name for what it means.")
    with press:
        csv_button(lambda: frame, "people")


def _line(row: PersonRow, each: PersonFigures | None, active: bool) -> dict:
    counts = each.counts if each else None
    return {
        "name": row.name,
        "role": ("shut out" if row.disabled else str(row.role)),
        "active now": active,
        "last answer": counts.last_at if counts else None,
        "answers": counts.answers if counts else 0,
        "per hour": each.speed.per_hour if each else None,
        "model, unseen": _percent(counts.blind) if counts else None,
        "model, seen": _percent(counts.seen) if counts else None,
        "gold": _percent(counts.gold) if counts else None,
        "unusable": counts.unusable if counts else 0,
        "later": counts.later if counts else 0,
        "taken back": counts.undone if counts else 0,
        "reviews": counts.reviews if counts else 0,
    }


def _percent(share: Share) -> float | None:
    return None if share.value is None else 100 * share.value


def _columns() -> dict:
    means = {each.which: each.meaning for each in FIGURES}
    share, column = {"format": "%.0f %%"}, st.column_config
    return {
        "active now": column.CheckboxColumn(help="Has images on the screen at this moment.", width="small"),
        "last answer": column.DatetimeColumn(format="distance"),
        "answers": column.NumberColumn(help=means[Behind.ANSWERS]),
        "per hour": column.NumberColumn(help=means[Behind.SLOW], format="%.0f"),
        "model, unseen": column.NumberColumn(help=means[Behind.BLIND], **share),
        "model, seen": column.NumberColumn(help=means[Behind.SEEN], **share),
        "gold": column.NumberColumn(help=means[Behind.GOLD], **share),
        "unusable": column.NumberColumn(help=means[Behind.UNUSABLE]),
        "later": column.NumberColumn(help=means[Behind.LATER]),
        "taken back": column.NumberColumn(help=means[Behind.UNDONE]),
        "reviews": column.NumberColumn(help=means[Behind.REVIEWS]),
    }


def _one(project, me: int, rows: dict[int, PersonRow], figures: dict[int, PersonFigures], active: set[int]) -> None:
    """One person: role, figures, and the images behind the figure that was opened."""
    chosen = next(iter(rows))
    if len(rows) > 1:
        ids = list(rows)
        chosen = st.selectbox(
            "Person",
            ids,
            index=ids.index(me) if me in rows else 0,
            format_func=lambda each: rows[each].name,
            key=f"team-person-{project.id}",
            width=360,
        )
    row, found = rows[chosen], figures.get(chosen)
    st.markdown(f"#### {escape(row.name)}")
    st.caption(_about(row, found, chosen in active))
    _role(row, me)
    if found is None:
        st.write("Has not answered in this project yet.")
        return
    _figures(project, found)


def _about(row: PersonRow, found: PersonFigures | None, active: bool) -> str:
    parts = [f"{row.role} · may {MAY[row.role]}"] if has_accounts(database()) else []
    parts += ["shut out"] if row.disabled else []
    parts.append("**active now**" if active else "not active")
    if found:
        parts.append(f"last answer {ago(found.counts.last_at)}")
        parts.append(f"{duration(3600 * found.speed.hours)} of work, {count(found.speed.pauses, 'pause')}")
    return " · ".join(parts)


def _role(row: PersonRow, me: int) -> None:
    """The way for an owner to give somebody another role."""
    if not has_accounts(database()) or not may(Role.OWNER):
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        roles = list(Role)
        role = st.selectbox("Role", roles, roles.index(row.role), key=f"role-{row.id}-{row.role}", width=200)
        if st.button("Change role", disabled=role == row.role, key=f"change-role-{row.id}"):
            try:
                people.change_role(database(), me, row.name, role)
            except PenumbraError as error:
                st.error(escape(str(error)), icon=":material/error:")
                return
            say_and_rerun(f"{strong(row.name)} is {role} now.")


def _figures(project: ProjectRow, found: PersonFigures) -> None:
    memory = f"behind-{project.id}-{found.counts.id}"
    for start in range(0, len(FIGURES), 3):
        for place, figure in zip(st.columns(3, gap="small"), FIGURES[start : start + 3], strict=True):
            with place.container(border=True, height="stretch"):
                _figure(figure, found, memory)
    opened = next((each for each in FIGURES if each.which == st.session_state.get(memory)), None)
    if opened is None:
        st.caption("Click a figure: the images behind it appear here.")
        return
    _behind(project, found, opened)


def _figure(figure: Figure, found: PersonFigures, memory: str) -> None:
    opened = st.session_state.get(memory) == figure.which
    st.markdown(f"**{figure.name}**")
    st.button(
        figure.value(found),
        key=f"{memory}-{figure.which}",
        icon=":material/image_search:" if not opened else ":material/keyboard_double_arrow_down:",
        disabled=not figure.events(found),
        on_click=lambda: st.session_state.update({memory: None if opened else figure.which}),
    )
    st.caption(figure.meaning)


def _behind(project: ProjectRow, found: PersonFigures, figure: Figure) -> None:
    total = figure.events(found)

    def read(offset: int, limit: int) -> tuple[int, list[Pressed]]:
        with database().read() as session:
            return total, pressed(session, project.id, found.counts.id, figure.which, offset, limit)

    st.markdown(f"**{figure.name}** of {escape(found.counts.name)}: {count(total, 'event')}")
    with database().read() as session:
        names = repository.class_names(session, project.id)
    key = f"tiles-{found.counts.id}-{figure.which}"
    _, rows = paged(key, read)
    look_at(project, clicked(key, [_tile(row, names, figure.which) for row in rows]))


def _tile(row: Pressed, names: dict[int, str], which: Behind) -> dict:
    text = KINDS[row.kind] if row.class_id is None else class_of(names, row.class_id)
    if which is Behind.SLOW:
        return tile(row.item_id, row.sha256, text, f"{(row.lead_ms or 0) / 1000:.1f} s")
    if row.agrees is None:
        return tile(row.item_id, row.sha256, text, ago(row.created_at))
    against = ("known: " if which is Behind.GOLD else "guess: ") + class_of(names, row.against)
    return tile(row.item_id, row.sha256, text, against, "right" if row.agrees else "wrong")
