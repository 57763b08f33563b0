"""Duplicates: found over all splits, warned of where they leak, and served by one answer where a project says so."""

import shutil

import numpy as np
import pytest
from PIL import Image

from core.data.scan import Split
from core.duplicates import grouped, groups, leaks, prints, serve, twins
from core.team import Serves, TeamSettings, change_settings
from db import repository
from db.repository import NewLabel
from tests.folders import folder_of, items, picture, project_on, stands, take_in

pytestmark = pytest.mark.one_database


@pytest.fixture
def root(tmp_path):
    """Six images; one is there three times to the byte, and once more as a JPEG."""
    root = folder_of(tmp_path / "images", 6)
    for name in ("b.png", "c.png"):
        shutil.copy(root / "cat" / "0.png", root / "dog" / name)
    Image.open(root / "cat" / "0.png").save(root / "dog" / "near.jpg", quality=85)
    return root


@pytest.fixture
def project(database, root):
    return project_on(database, root, seed=1)


def _paths(database, project, ids):
    there = {item.id: path for path, item in items(database, project).items()}
    return sorted(there[each] for each in ids)


def _into(database, project, **splits):
    """Put images into splits, by the last part of their path."""
    there = items(database, project)
    rows = [
        (item.id, item.domain, splits.get(path.split("/")[-1].split(".")[0], "pool")) for path, item in there.items()
    ]
    with database.write() as s:
        repository.restate(s, rows)
    from core import duplicates

    duplicates._prints.cache_clear()


def _settings(database, project, serves):
    with database.write() as s:
        owner = repository.person(s, "Ada")
    change_settings(database, project, owner, TeamSettings(serves=serves))
    return owner


def test_copies_and_nearly_the_same_pictures_are_groups(database, project):
    [copies] = groups(database, project, Serves.COPIES)
    assert _paths(database, project, copies) == ["cat/0.png", "dog/b.png", "dog/c.png"]
    [alike] = groups(database, project)
    assert _paths(database, project, alike) == ["cat/0.png", "dog/b.png", "dog/c.png", "dog/near.jpg"]


def test_groups_by_hash_and_by_features_are_one_list(database, project):
    ids = np.array(sorted(item.id for item in items(database, project).values()))
    [alike] = groups(database, project)
    rest = [at for at, each in enumerate(ids) if each not in alike]
    near = np.full(len(ids), -1)
    near[[rest[0], rest[1]]] = 0
    found = grouped(database, project, ids, near)
    assert sorted(np.bincount(found[found >= 0]).tolist()) == [2, 4]
    near[[rest[0], int(np.searchsorted(ids, alike[0]))]] = 1
    assert np.bincount(grouped(database, project, ids, near) + 1).tolist()[1:] == [5]
    assert (grouped(database, project, ids, None) >= 0).sum() == 4


def test_flat_pictures_are_not_alike(database, tmp_path):
    root = folder_of(tmp_path / "images", 2)
    for number, colour in enumerate(("red", "green", "blue")):
        Image.new("RGB", (40, 40), colour).save(root / "cat" / f"flat{number}.png")
    assert groups(database, project_on(database, root)) == []


def test_duplicates_in_two_splits_are_a_leak(database, project):
    _into(database, project, b="test", near="validation")
    found = {leak.splits: leak for leak in leaks(database, project)}
    assert set(found) == {
        (Split.POOL, Split.VALIDATION),
        (Split.POOL, Split.TEST),
        (Split.VALIDATION, Split.TEST),
    }
    pool_test = found[Split.POOL, Split.TEST]
    assert (pool_test.copies, pool_test.alike) == (1, 1)
    assert found[Split.POOL, Split.VALIDATION].copies == 0
    assert [(a.path, b.path) for a, b in pool_test.examples] == [("cat/0.png", "dog/b.png")]


def test_splits_by_content_never_leak_copies(database, project):
    assert all(leak.copies == 0 for leak in leaks(database, project))


def test_a_gone_image_is_no_duplicate(database, project, root):
    (root / "dog" / "b.png").unlink(), (root / "dog" / "c.png").unlink(), (root / "dog" / "near.jpg").unlink()
    take_in(database, project)
    assert groups(database, project) == []


@pytest.mark.parametrize(("serves", "served"), [("itself", 1), ("copies", 3), ("alike", 4)])
def test_one_answer_serves_what_the_project_says(database, project, serves, served):
    _into(database, project)
    ada = _settings(database, project, serves)
    item = items(database, project)["cat/0.png"].id
    _say(database, project, ada, item, "cat", "k1")
    assert set(stands(database, project).values()) == {"cat"}
    assert len(stands(database, project)) == served
    _say(database, project, ada, item, "dog", "k2")
    assert list(stands(database, project).values()) == ["dog"] * served
    _say(database, project, ada, item, None, "k3")
    assert stands(database, project) == {}


def test_what_somebody_said_of_a_duplicate_itself_stays(database, project):
    _into(database, project)
    ada = _settings(database, project, "copies")
    there = items(database, project)
    _say(database, project, ada, there["dog/b.png"].id, "dog", "own")
    _say(database, project, ada, there["cat/0.png"].id, "cat", "k1")
    said = stands(database, project)
    assert [said[there[path].id] for path in ("cat/0.png", "dog/b.png", "dog/c.png")] == ["cat", "dog", "cat"]


def test_an_answer_does_not_cross_into_another_split(database, project):
    _into(database, project, b="test", c="validation")
    _settings(database, project, "copies")
    assert twins(database, project, [items(database, project)["cat/0.png"].id]) == {
        items(database, project)["cat/0.png"].id: ()
    }


def test_an_answer_that_is_sent_twice_serves_once(database, project):
    _into(database, project)
    ada = _settings(database, project, "copies")
    item = items(database, project)["cat/0.png"].id
    for _ in range(2):
        _say(database, project, ada, item, "cat", "same")
    with database.read() as s:
        twin = items(database, project)["dog/b.png"].id
        assert [(row.kind, row.source) for row in repository.history(s, twin)] == [("answer", "duplicate")]


def _say(database, project, person, item, name, key):
    """As a desk does; no name is an undo."""
    also = twins(database, project, [item])
    with database.write() as s:
        class_id = repository.class_by_name(s, project)[name] if name else None
        event = NewLabel(key, item, "answer" if name else "undo", class_id, source="epig", lead_ms=900)
        assert repository.record(s, project, person, [event])[0].accepted
        serve(s, project, person, [event], also)


def test_groups_follow_the_images(database, project, root):
    before = prints(database, project)
    assert prints(database, project) is before
    picture(root / "cat" / "twin.png", 3)
    take_in(database, project)
    assert len(groups(database, project, Serves.COPIES)) == 2
