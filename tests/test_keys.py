"""The keys of the desk: all different, none reserved, none that moves; what is refused is refused in words."""

import pytest

from core.errors import InputError
from core.keys import ACTS, FIND, MOST, Board, keys_of, usual, with_act, with_class, with_typing


def board(n: int, without: tuple[int, ...] = (), project: int = 7) -> Board:
    """`n` classes with the ids 11, 12, …; those of `without` were deleted."""
    ever = range(11, 11 + n)
    return Board(project, {each: f"class {each}" for each in ever if each not in without}, ever)


@pytest.mark.parametrize("n", [2, 10, 11, 29, 30, MOST])
def test_generated_keys_are_digits_first_then_letters_all_different_and_none_reserved(n):
    keys = keys_of({}, board(n))
    given = list(keys.classes.values())
    assert len(given) == len(set(given)) == n
    assert given[:10] == list("1234567890")[:n]
    assert not {key.lower() for key in given} & {*ACTS.values(), FIND}
    assert keys.acts == ACTS


def test_no_key_moves_when_a_class_goes_or_comes():
    before = keys_of({}, board(20)).classes
    after = keys_of({}, board(23, without=(13, 25))).classes
    assert all(after[each] == key for each, key in before.items() if each not in (13, 25))
    assert len(set(after.values())) == 21


def test_with_more_classes_than_keys_letters_type_and_what_is_done_takes_shift():
    keys = keys_of({}, board(65))
    assert keys.typing
    assert list(keys.classes.values()) == list("1234567890")
    assert keys.acts == {act: key.upper() for act, key in ACTS.items()}


def test_a_person_chooses_whether_letters_type():
    few, many = board(12), board(65)
    assert keys_of(with_typing({}, few, True), few).typing
    keys = keys_of(with_typing({}, many, False), many)
    assert not keys.typing
    assert len(keys.classes) == MOST


def test_a_class_takes_the_key_that_a_person_gives_it_in_this_project_alone():
    stored = with_class({}, board(3), 12, "q")
    assert keys_of(stored, board(3)).classes == {11: "1", 12: "q", 13: "3"}
    assert keys_of(stored, board(3, project=8)).classes == {11: "1", 12: "2", 13: "3"}


def test_what_is_done_takes_another_key_everywhere_and_a_generated_one_gives_way():
    stored = with_act({}, board(3), "undo", "A")  # capitals are the same: with Shift or without
    assert keys_of(stored, board(3, project=8)).acts["undo"] == "a"
    crowded = keys_of(stored, board(MOST))
    before = keys_of({}, board(MOST)).classes
    moved = [each for each, key in crowded.classes.items() if key != before[each]]
    assert [before[each] for each in moved] == ["a"]
    assert len(set(crowded.classes.values()) - {"a"}) == MOST


@pytest.mark.parametrize(
    ("act", "key", "said"),
    [
        ("undo", "s", "“s” is for “later”"),
        ("undo", "S", "“s” is for “later”"),
        ("undo", "7", "digits are for classes"),
        ("undo", "/", "finds a class"),
        ("undo", "Enter", "“Enter” cannot be chosen"),
        ("undo", " ", "cannot be chosen"),
        ("undo", "é", "cannot be chosen"),
        ("undo", None, "cannot be chosen"),
        ("undo", "a", "“a” answers with “class 21”"),
        ("fly", "x", "nothing is called 'fly'"),
    ],
)
def test_an_act_refuses_in_words(act, key, said):
    with pytest.raises(InputError, match=said):
        with_act({}, board(12), act, key)


@pytest.mark.parametrize(
    ("class_id", "key", "said"),
    [
        (11, "2", "“2” answers with “class 12”: give that class another key first"),
        (11, "u", "“u” is for “unusable”"),
        (11, "/", "finds a class"),
        (11, "Escape", "“Escape” cannot be chosen"),
        (99, "x", "not in the project any more"),
    ],
)
def test_a_class_refuses_in_words(class_id, key, said):
    with pytest.raises(InputError, match=said):
        with_class({}, board(12), class_id, key)


def test_a_letter_cannot_answer_where_letters_type():
    with pytest.raises(InputError, match="“x” types a name here"):
        with_class({}, board(65), 70, "x")
    stored = with_class({}, board(65), 70, "X")
    assert keys_of(stored, board(65)).classes[70] == "X"


def test_the_same_key_again_is_no_clash():
    assert keys_of(with_class({}, board(3), 11, "1"), board(3)).classes[11] == "1"
    assert keys_of(with_act({}, board(3), "undo", "z"), board(3)).acts["undo"] == "z"


def test_back_to_the_usual_keys_leaves_other_projects_alone():
    stored = with_class(
        with_act(with_class({}, board(3), 11, "q"), board(3), "undo", "x"), board(3, project=8), 11, "p"
    )
    stored = usual(stored, board(3))
    assert keys_of(stored, board(3)) == keys_of({}, board(3))
    assert keys_of(stored, board(3, project=8)).classes[11] == "p"


@pytest.mark.parametrize(
    "stored",
    [
        None,
        [],
        {"act": 3, "classes": [], "typing": "x"},
        {"act": {"undo": "s"}},
        {"classes": {"7": {"x": "y", "11": 5}}},
    ],
)
def test_what_is_stored_by_others_does_no_harm(stored):
    assert keys_of(stored, board(12)) == keys_of({}, board(12))
