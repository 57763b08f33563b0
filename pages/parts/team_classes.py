"""The classes of a project: rename, merge, delete, add; what that changes, before it is done, in one transaction."""

from __future__ import annotations

import streamlit as st

from core.classes import ClassChange, Effect, change_classes, preview
from core.errors import PenumbraError
from core.keys import Board, keys_of
from db import repository
from db.repository import ClassChangeKind, ProjectRow
from pages.parts import working
from pages.parts.desk_keys import KEPT
from pages.parts.saying import say_and_rerun
from pages.parts.state import database
from pages.parts.team_class_state import past, renewals, table
from pages.parts.team_parts import bullets, named, owners_only, strong
from pages.parts.text import count, escape
from pages.parts.who import Role, may, require

KINDS = {
    ClassChangeKind.RENAME: "Rename",
    ClassChangeKind.MERGE: "Merge",
    ClassChangeKind.DELETE: "Delete",
    ClassChangeKind.ADD: "Add",
}
MEANINGS = {
    ClassChangeKind.RENAME: "Answers stay. The model reads the new name, so its guesses change.",
    ClassChangeKind.MERGE: "Answers of the first become answers of the second.",
    ClassChangeKind.DELETE: "Its answers count as not given: those images are asked again.",
    ClassChangeKind.ADD: "A new class, after the others, with the next free key.",
}


def show(project: ProjectRow, me: int) -> None:
    renewals(project)
    left, right = st.columns([5, 6], gap="large")
    with left:
        table(project, me)
    with right:
        if not may(Role.OWNER):
            owners_only()
        else:
            _new_change(project)
            _changes(project, me)
    past(project)


def _memory(project: ProjectRow) -> str:
    """The changes that were put together, of these classes: after somebody else's change they are gone."""
    return f"class-changes-{project.id}-{project.class_version}"


def _new_change(project: ProjectRow) -> None:
    """One change to be put on the list."""
    number = len(st.session_state.get(_memory(project), ()))

    def key(name: str) -> str:
        return f"change-{name}-{_memory(project)}-{number}"  # empty again after each change

    kind = st.segmented_control(
        "What to do",
        list(KINDS),
        default=ClassChangeKind.RENAME,
        required=True,
        format_func=KINDS.get,
        key=f"change-kind-{project.id}",
    )
    st.caption(MEANINGS[kind])
    names = {each.id: each.name for each in project.classes}
    class_id, name, heir = None, "", None
    one, other = st.columns(2)
    if kind != ClassChangeKind.ADD:
        class_id = one.selectbox(
            "Class", list(names), None, format_func=names.get, placeholder="choose a class", key=key("class")
        )
    if kind == ClassChangeKind.MERGE:
        heir = other.selectbox(
            "into", list(names), None, format_func=names.get, placeholder="choose a class", key=key("heir")
        )
    if kind in (ClassChangeKind.RENAME, ClassChangeKind.ADD):
        name = other.text_input("New name", max_chars=200, key=key("name")).strip()
    change = ClassChange(kind, class_id, name, heir)
    if st.button("Put on the list", icon=":material/playlist_add:", disabled=not _complete(change)):
        st.session_state[_memory(project)] = (*st.session_state.get(_memory(project), ()), change)
        st.rerun()


def _complete(change: ClassChange) -> bool:
    needs = {
        ClassChangeKind.RENAME: (change.class_id, change.name),
        ClassChangeKind.MERGE: (change.class_id, change.heir_id),
        ClassChangeKind.DELETE: (change.class_id,),
        ClassChangeKind.ADD: (change.name,),
    }
    return all(needs[change.kind])


def _changes(project: ProjectRow, me: int) -> None:
    """The list, what it would do, and the one press that does it."""
    listed: tuple[ClassChange, ...] = st.session_state.get(_memory(project), ())
    if not listed:
        st.caption("Nothing is changed before you have seen what it does.")
        return
    st.markdown(f"##### {count(len(listed), 'change')}, not made yet")
    for number, each in enumerate(listed):
        words, press = st.columns([6, 1], vertical_alignment="center")
        words.markdown(_words(project, each))
        press.button(
            "",
            key=f"drop-{number}",
            icon=":material/close:",
            type="tertiary",
            help="Take this off the list",
            on_click=lambda n=number: st.session_state.update({_memory(project): (*listed[:n], *listed[n + 1 :])}),
        )
    try:
        effect = preview(database(), project.id, me, listed)
    except PenumbraError as error:
        st.error(f"This cannot be done: {escape(str(error))}", icon=":material/error:")
        return
    _effect(effect)
    _keys(project, me, effect)
    if st.button(f"Make {'this change' if len(listed) == 1 else f'these {len(listed)} changes'}", type="primary"):
        _make(project, me, listed)


def _words(project: ProjectRow, each: ClassChange) -> str:
    name, heir = strong(named(project, each.class_id)), strong(named(project, each.heir_id))
    return {
        ClassChangeKind.RENAME: f"Rename {name} to {strong(each.name)}",
        ClassChangeKind.MERGE: f"Merge {name} into {heir}",
        ClassChangeKind.DELETE: f"Delete {name}",
        ClassChangeKind.ADD: f"Add {strong(each.name)}",
    }[each.kind]


def _make(project: ProjectRow, me: int, listed: tuple[ClassChange, ...]) -> None:
    require(Role.OWNER)
    try:
        effect = change_classes(database(), project.id, me, listed)
    except PenumbraError as error:
        st.error(escape(str(error)), icon=":material/error:")
        return
    st.session_state.pop(_memory(project), None)
    if effect.new_texts:
        working.keep_worker()
    say_and_rerun(f"Done: {count(len(effect.after), 'class', 'classes')} now.")


def _effect(effect: Effect) -> None:
    """What the list would do, in figures."""
    st.markdown("**What it does**")
    before, after = len(effect.before), len(effect.after)
    bullets(
        [
            f"{count(before, 'class', 'classes')} → {after:,}: {', '.join(map(escape, effect.after))}",
            _answers(effect),
            *_lost(effect),
            *_renewed(effect),
        ]
    )


def _keys(project: ProjectRow, me: int, effect: Effect) -> None:
    """This person's keys after the changes: those of the classes that stay are where they were."""
    with database().read() as session:
        stored = repository.person_row(session, me).preferences.get(KEPT, {})
    keys = keys_of(stored, Board(project.id, effect.names, effect.ever)).classes
    keyed = [f"**{escape(keys[each])}** {escape(name)}" for each, name in effect.names.items() if each in keys]
    st.caption("Your keys afterwards: " + " · ".join(keyed))


def _answers(effect: Effect) -> str:
    stay = effect.answers - effect.moved - effect.lost
    return (
        f"Of **{count(effect.answers, 'answer')}**, {stay:,} stay, **{effect.moved:,}** become another class, "
        f"**{effect.lost:,}** are asked again. What everybody once answered is kept in the history."
    )


def _lost(effect: Effect) -> list[str]:
    parts = []
    if effect.references_lost:
        images = count(effect.references_lost, "validation or test image measures", "validation or test images measure")
        parts.append(f"{images} nothing any more.")
    if effect.gold_lost:
        parts.append(f"{count(effect.gold_lost, 'gold item checks', 'gold items check')} nobody any more.")
    if effect.settled:
        parts.append(f"{count(effect.settled, 'disagreement ends', 'disagreements end')}: their classes are one.")
    return parts


def _renewed(effect: Effect) -> list[str]:
    parts = []
    if effect.new_texts:
        names = ", ".join(map(escape, effect.new_texts))
        parts.append(f"The texts of {names} are read by the model first: labelling waits for it, mostly some seconds.")
    if effect.stale_rounds:
        rounds = count(effect.stale_rounds, "round")
        parts.append(f"Figures and scores of {rounds} are of the classes of before: start a round afterwards.")
    return parts
