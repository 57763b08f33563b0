"""Classes that change: labels stay, names and positions follow, the history says who did what."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from db.repository import (
    NewItem,
    NewLabel,
    add_class,
    add_items,
    add_round,
    answers,
    class_by_name,
    class_changes,
    class_map,
    class_names,
    delete_class,
    history,
    latest_round,
    merge_class,
    own_answers,
    project,
    record,
    reference,
    rename_class,
    standing,
)
from tests.db.test_projects import ROUND


def _answer(database, small, item, class_id, who=None):
    with database.write() as s:
        event = NewLabel(f"{item}:{class_id}", item, "answer", class_id, source="epig", suggested_class_id=class_id)
        return record(s, small.id, who or small.ada, [event])[0]


def _classes(s, small):
    return [(each.position, each.name) for each in project(s, small.id).classes]


def test_a_merged_class_stands_for_its_heir_and_the_label_keeps_it(database, small):
    cat, dog, cow = small.classes
    _answer(database, small, small.items[0], dog)
    with database.write() as s:
        merge_class(s, small.id, small.ada, dog, cow)
        assert _classes(s, small) == [(0, "cat"), (1, "cow")]
        assert answers(s, small.id) == {small.items[0]: 1}
        assert [(row.class_id, row.position) for row in standing(s, small.id)] == [(cow, 1)]
        assert own_answers(s, small.id, small.ada) == {small.items[0]: cow}
        assert history(s, small.items[0])[0].class_id == dog
        assert reference(s, small.id)[small.items[1]] == 1  # the folder said dog
        assert {each: row.name for each, row in class_map(s, small.id).items()} == {cat: "cat", dog: "cow", cow: "cow"}
    assert _answer(database, small, small.items[3], dog).accepted  # a desk that was not reloaded yet


def test_merging_again_leads_to_the_last_heir(database, small):
    cat, dog, cow = small.classes
    with database.write() as s:
        merge_class(s, small.id, small.ada, dog, cow)
        merge_class(s, small.id, small.ada, cow, cat)
        assert {each: row.id for each, row in class_map(s, small.id).items()} == dict.fromkeys((cat, dog, cow), cat)
        delete_class(s, small.id, small.ada, cat)
        assert class_map(s, small.id) == {}


def test_what_was_answered_with_a_deleted_class_is_not_answered(database, small):
    _, dog, cow = small.classes
    _answer(database, small, small.items[0], dog)
    _answer(database, small, small.items[1], cow)
    with database.write() as s:
        delete_class(s, small.id, small.ada, dog)
        assert _classes(s, small) == [(0, "cat"), (1, "cow")]
        assert answers(s, small.id) == {small.items[1]: 1}
        assert len(history(s, small.items[0])) == 1
        assert small.items[1] not in reference(s, small.id)
    refused = _answer(database, small, small.items[2], dog)
    assert (refused.accepted, refused.reason) == (False, "the class “dog” was deleted")


def test_a_name_can_be_used_again_and_old_ones_lead_to_their_class(database, small):
    cat, dog, cow = small.classes
    with database.write() as s:
        rename_class(s, small.id, small.ada, cat, "kitten")
        rename_class(s, small.id, small.ada, cat, "feline")
        merge_class(s, small.id, small.ada, dog, cow)
        new = add_class(s, small.id, small.ada, "dog")
        assert _classes(s, small) == [(0, "feline"), (1, "cow"), (2, "dog")]
        names = class_by_name(s, small.id)
        assert names == {"cat": cat, "kitten": cat, "feline": cat, "cow": cow, "dog": new}
        assert class_names(s, small.id) == {cat: "feline", dog: "dog", cow: "cow", new: "dog"}
        add_items(s, small.id, [NewItem("cat/new.png", "e" * 64, None, 8, 8, "test", "cat")])
        assert max(reference(s, small.id).items())[1] == 0


@pytest.mark.parametrize(
    ("change", "error", "reason"),
    [
        (lambda s, p: add_class(s, p.id, p.ada, " cat "), ValueError, "there is a class “cat” already"),
        (lambda s, p: add_class(s, p.id, p.ada, ""), ValueError, "a class name has"),
        (lambda s, p: rename_class(s, p.id, p.ada, p.classes[0], "dog"), ValueError, "merge the two"),
        (lambda s, p: rename_class(s, p.id, p.ada, 99, "x"), LookupError, "no class 99"),
        (lambda s, p: merge_class(s, p.id, p.ada, p.classes[0], p.classes[0]), ValueError, "into itself"),
        (lambda s, p: merge_class(s, p.id, p.ada, p.classes[0], 99), LookupError, "no class 99"),
        (lambda s, p: delete_class(s, p.id, p.ada, 99), LookupError, "no class 99"),
    ],
)
def test_what_cannot_be_is_refused(database, small, change, error, reason):
    with pytest.raises(error, match=reason), database.write() as s:
        change(s, small)


def test_the_history_says_who_did_what_and_rounds_know_their_classes(database, small):
    with database.write() as s:
        add_round(s, small.id, **ROUND)
        add_class(s, small.id, small.ada, "hen")
        rename_class(s, small.id, small.bo, small.classes[0], "kitten")
        delete_class(s, small.id, small.bo, small.classes[1])
        rows = class_changes(s, small.id)
        assert [(row.kind, row.before, row.after, row.person, row.version) for row in rows] == [
            ("delete", "dog", None, "Bo", 3),
            ("rename", "cat", "kitten", "Bo", 2),
            ("add", None, "hen", "Ada", 1),
        ]
        assert class_changes(s, small.id, offset=1, limit=1) == rows[1:2]
        assert (project(s, small.id).class_version, latest_round(s, small.id).class_version) == (3, 0)
        add_round(s, small.id, **ROUND)
        assert latest_round(s, small.id).class_version == 3
    with pytest.raises(DBAPIError, match="append-only"), database.write() as s:
        s.execute(text("DELETE FROM class_change"))
