"""The keys of the labelling desk: what each does for one person in one project, and which changes are refused.

A key is the character that it writes: "1", "a", "-"; a letter with Shift is its capital, whatever Caps Lock says.
Where a project has more classes than keys, letters type the name of a class, and what is done with a letter elsewhere
is done with Shift and that letter: nothing typed can then be taken for a command.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from string import ascii_letters, ascii_lowercase, digits

from core.errors import InputError

ACTS = {"later": "s", "unusable": "u", "flag": "f", "undo": "z", "why": "w", "grid": "g", "help": "h"}
FIND = "/"  # opens the finder, for everybody and always
MOST = 40  # classes with a key of their own; where there are more, letters type a name
_DIGITS = "1234567890"
_FREE = "".join(each for each in ascii_lowercase if each not in ACTS.values())
GENERATED = _DIGITS + _FREE + _FREE.upper()  # in this order, by the order in which classes came to be


@dataclass(frozen=True, slots=True)
class Board:
    """What keys are given to: the names of a project's classes by id, and the ids of all classes there ever were."""

    project_id: int
    names: Mapping[int, str]
    ever: Collection[int]


@dataclass(frozen=True, slots=True)
class Keys:
    acts: dict[str, str]  # what is done → key
    classes: dict[int, str]  # class id → key, where it has one
    typing: bool  # letters without Shift type the name of a class


def keys_of(stored: Mapping, board: Board) -> Keys:
    """The keys of a person, from what is `stored` of them; all different, and none moves when a class comes or goes."""
    typing = _typing(stored, board)
    acts = _acts(stored, typing)
    taken = set(acts.values())
    own = {}
    for each, key in _own(stored, board).items():
        if each in board.names and key not in taken and not (typing and key in ascii_lowercase):
            own[each] = key
            taken.add(key)
    return Keys(acts, _given(board, own, taken, typing), typing)


def _given(board: Board, own: Mapping[int, str], taken: set[str], typing: bool) -> dict[int, str]:
    """A key by rank for every class without its own; where the person has that one for something else, a spare one."""
    usual = _DIGITS if typing else GENERATED[:MOST]
    ranked = dict(zip(sorted(board.ever), usual, strict=False))
    spare = [] if typing else [key for key in GENERATED[MOST:] if key not in taken]
    classes = {}
    for each in board.names:
        key = own.get(each) or ranked.get(each)
        if each not in own and key in taken:
            key = spare.pop(0) if spare else None
        if key is not None:
            classes[each] = key
    return classes


def with_act(stored: Mapping, board: Board, act: str, key: str) -> dict:
    """What to store once `key` does `act`. Raises InputError, in words for the person, where it cannot."""
    if not isinstance(act, str) or act not in ACTS:
        raise InputError(f"nothing is called {act!r} here")
    keys, key = keys_of(stored, board), _checked(key).lower()
    if key in digits:
        raise InputError(f"“{key}” is a digit, and digits are for classes: choose a letter or a sign.")
    for other, taken in keys.acts.items():
        if other != act and taken.lower() == key:
            raise InputError(f"“{key}” is for “{other}”: give that another key first.")
    _refuse_taken(keys, board, key.upper() if keys.typing and key in ascii_letters else key)
    return _copy(stored) | {"act": {**_part(stored, "act"), act: key}}


def with_class(stored: Mapping, board: Board, class_id: int, key: str) -> dict:
    """What to store once `key` answers with a class. Raises InputError, in words for the person, where it cannot."""
    if not isinstance(class_id, int) or class_id not in board.names:
        raise InputError("this class is not in the project any more")
    keys, key = keys_of(stored, board), _checked(key)
    if keys.typing and key in ascii_lowercase:
        raise InputError(f"“{key}” types a name here, as all letters do: take a sign, a digit or a letter with Shift.")
    for act, taken in keys.acts.items():
        if taken == key:
            raise InputError(f"“{key}” is for “{act}”: choose another key, or give that another one first.")
    _refuse_taken(keys, board, key, class_id)
    mine = {**_of_project(stored, "classes", board), str(class_id): key}
    return _copy(stored) | {"classes": {**_part(stored, "classes"), str(board.project_id): mine}}


def with_typing(stored: Mapping, board: Board, on: bool) -> dict:
    """What to store once letters type a name in this project, or answer."""
    return _copy(stored) | {"typing": {**_part(stored, "typing"), str(board.project_id): on}}


def usual(stored: Mapping, board: Board) -> dict:
    """What to store once all keys are as they come; those of classes in other projects stay."""
    rest = {name: dict(_part(stored, name)) for name in ("classes", "typing")}
    for part in rest.values():
        part.pop(str(board.project_id), None)
    return rest


def _acts(stored: Mapping, typing: bool) -> dict[str, str]:
    own = {act: key for act, key in _part(stored, "act").items() if act in ACTS and _is_key(key)}
    acts = {**ACTS, **own}
    if len(set(acts.values())) < len(acts):  # what is stored is not of ours
        acts = dict(ACTS)
    return {act: key.upper() if typing else key for act, key in acts.items()}


def _own(stored: Mapping, board: Board) -> dict[int, str]:
    pairs = _of_project(stored, "classes", board).items()
    return {int(name): key for name, key in pairs if str(name).isdecimal() and _is_key(key)}


def _typing(stored: Mapping, board: Board) -> bool:
    chosen = _part(stored, "typing").get(str(board.project_id))
    return chosen if isinstance(chosen, bool) else len(board.names) > MOST


def _refuse_taken(keys: Keys, board: Board, key: str, class_id: int | None = None) -> None:
    for each, taken in keys.classes.items():
        if taken == key and each != class_id:
            raise InputError(f"“{key}” answers with “{board.names[each]}”: give that class another key first.")


def _checked(key: str) -> str:
    if key == FIND:
        raise InputError("“/” finds a class, and stays that: choose another key.")
    if not _is_key(key):
        raise InputError(f"“{str(key)[:20]}” cannot be chosen: take a letter, a digit or a sign that one key writes.")
    return key


def _is_key(key: object) -> bool:
    """A letter, digit or sign of ASCII: what every keyboard layout can write, and no control key."""
    return isinstance(key, str) and len(key) == 1 and "!" <= key <= "~" and key != FIND


def _part(stored: Mapping, name: str) -> Mapping:
    part = stored.get(name) if isinstance(stored, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def _of_project(stored: Mapping, name: str, board: Board) -> Mapping:
    return _part(_part(stored, name), str(board.project_id))


def _copy(stored: Mapping) -> dict:
    return {name: dict(_part(stored, name)) for name in ("act", "classes", "typing")}
