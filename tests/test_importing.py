"""Taking images in, and again: what is new is read, what changed is said, and no answer is ever lost."""

import os
from datetime import timedelta

import pytest

from core import importing
from core.changes import last_changes
from core.errors import InputError
from core.images import sha256_file
from core.projects import create
from core.sources import Source
from core.storage import read_files
from db import repository
from db.models import now
from tests.folders import folder_of, items, picture, problems, project_on, say, stands, take_in


@pytest.fixture
def root(tmp_path):
    return folder_of(tmp_path / "images")


@pytest.fixture
def read(monkeypatch):
    """The paths that were read, as they come."""
    paths = []

    def noted(root, files, **options):
        paths.extend(file.path for file in files)
        return read_files(root, files, **options)

    monkeypatch.setattr(importing, "read_files", noted)
    return paths


def _claimed(database, project, item):
    with database.write() as s:
        return repository.claim(s, project, repository.person(s, "Bo"), [item], 1, now() + timedelta(minutes=1))


def test_a_second_import_reads_only_what_is_new(database, root, read):
    project = project_on(database, root)
    assert len(read) == 6
    read.clear()
    again = take_in(database, project)
    assert read == []
    assert (again.files, again.new, again.anything) == (6, 0, False)
    picture(root / "cat" / "more.png", 50)
    third = take_in(database, project)
    assert read == ["cat/more.png"]
    assert (third.new, third.examples["new"]) == (1, ["cat/more.png"])
    assert last_changes(database, project) == third


@pytest.mark.one_database
def test_a_file_that_was_only_touched_is_read_and_is_the_same(database, root, read):
    project = project_on(database, root)
    before = items(database, project)
    read.clear()
    os.utime(root / "cat" / "0.png", ns=(1, 1))
    assert not take_in(database, project).anything
    assert read == ["cat/0.png"]
    assert items(database, project) == before
    read.clear()
    take_in(database, project)
    assert read == []


def test_an_answered_file_that_changes_keeps_its_answer_at_the_old_content(database, root):
    project = project_on(database, root)
    old = items(database, project)["cat/0.png"]
    say(database, project, old.id, "dog")
    picture(root / "cat" / "0.png", 70)
    changes = take_in(database, project)
    assert (changes.changed, changes.new, changes.kept, changes.vanished) == (1, 0, 1, 0)
    new = items(database, project)["cat/0.png"]
    assert new.id != old.id
    assert new.sha256 == sha256_file(root / "cat" / "0.png") != old.sha256
    assert stands(database, project) == {old.id: "dog"}
    with database.read() as s:
        assert repository.item(s, old.id).sha256 == old.sha256
        assert repository.item(s, old.id).gone_at is not None
    assert "its content has changed since it was answered" in problems(database, project)["cat/0.png"]
    assert _claimed(database, project, old.id) == []
    say(database, project, new.id, "cat")
    take_in(database, project)
    assert problems(database, project) == {}
    assert stands(database, project) == {old.id: "dog", new.id: "cat"}


def test_a_content_that_comes_back_has_its_answer_again(database, root):
    project = project_on(database, root)
    old = items(database, project)["cat/0.png"]
    say(database, project, old.id, "dog")
    for number, there in ((70, False), (0, True)):
        picture(root / "cat" / "0.png", number)
        changes = take_in(database, project)
        assert (items(database, project)["cat/0.png"].id == old.id) is there
    assert (changes.back, changes.changed) == (1, 1)
    assert problems(database, project) == {}
    assert stands(database, project) == {old.id: "dog"}


def test_a_file_that_vanishes_stays_with_its_answer_and_cannot_be_served(database, root):
    project = project_on(database, root)
    old = items(database, project)["cat/0.png"]
    say(database, project, old.id, "dog")
    (root / "cat" / "0.png").unlink()
    (root / "cat" / "2.png").unlink()
    changes = take_in(database, project)
    assert (changes.vanished, changes.kept, sorted(changes.examples["vanished"])) == (2, 1, ["cat/0.png", "cat/2.png"])
    assert "gone" in problems(database, project)["cat/0.png"]
    assert "cat/2.png" not in problems(database, project)
    assert stands(database, project) == {old.id: "dog"}
    assert _claimed(database, project, old.id) == []
    with database.read() as s:
        assert repository.path_of(s, old.sha256) == []
        assert repository.counts(s, project).answered == (old.split == "pool")
    assert take_in(database, project).vanished == 0
    picture(root / "cat" / "0.png", 0)
    assert take_in(database, project).back == 1
    assert problems(database, project) == {}
    assert items(database, project)["cat/0.png"].id == old.id


def test_a_moved_file_keeps_its_answer_and_its_place_in_the_split(database, root):
    project = project_on(database, root)
    old = items(database, project)["cat/0.png"]
    say(database, project, old.id, "dog")
    (root / "elsewhere").mkdir()
    (root / "cat" / "0.png").rename(root / "elsewhere" / "0.png")
    changes = take_in(database, project)
    assert (changes.moved, changes.new, changes.vanished, changes.kept) == (1, 0, 0, 0)
    moved = items(database, project)["elsewhere/0.png"]
    assert (moved.id, moved.split, len(items(database, project))) == (old.id, old.split, 6)
    assert problems(database, project) == {}


@pytest.mark.one_database
def test_two_files_that_change_names_keep_each_its_answers(database, root):
    project = project_on(database, root)
    before = items(database, project)
    a, b = root / "cat" / "0.png", root / "dog" / "1.png"
    say(database, project, before["cat/0.png"].id, "cat")
    say(database, project, before["dog/1.png"].id, "dog")
    a.rename(root / "x.png"), b.rename(a), (root / "x.png").rename(b)
    os.utime(a, ns=(5, 5)), os.utime(b, ns=(6, 6))
    changes = take_in(database, project)
    assert (changes.changed, changes.moved, changes.new) == (2, 2, 0)
    after = items(database, project)
    assert after["cat/0.png"].id == before["dog/1.png"].id
    assert after["dog/1.png"].id == before["cat/0.png"].id
    assert problems(database, project) == {}


@pytest.mark.one_database
def test_a_copy_is_an_image_of_its_own_and_shares_the_split(database, root):
    project = project_on(database, root)
    picture(root / "dog" / "copy.png", 0)
    changes = take_in(database, project)
    assert (changes.new, changes.moved) == (1, 0)
    there = items(database, project)
    assert there["dog/copy.png"].split == there["cat/0.png"].split
    assert there["dog/copy.png"].id != there["cat/0.png"].id


def test_another_stated_class_is_said_and_kept(database, tmp_path):
    root = folder_of(tmp_path / "images", classes=("photo/cat", "photo/dog"))
    for number in (90, 91):
        picture(root / "art" / ("cat", "dog")[number % 2] / f"{number}.png", number)
    project = project_on(database, root)
    with database.read() as s:
        assert len(repository.reference(s, project)) == 8
    (root / "photo" / "cat" / "0.png").rename(root / "photo" / "dog" / "0.png")
    changes = take_in(database, project)
    assert (changes.moved, changes.restated, changes.examples["restated"]) == (1, 1, ["photo/dog/0.png"])
    with database.read() as s:
        classes = [each.name for each in repository.project(s, project).classes]
        states = repository.reference(s, project)
    assert classes[states[items(database, project)["photo/dog/0.png"].id]] == "dog"


@pytest.mark.one_database
def test_a_class_that_the_project_lacks_is_counted_and_its_images_are_there(database, root):
    project = project_on(database, root)
    picture(root / "fox" / "1.png", 60), picture(root / "fox" / "2.png", 61)
    changes = take_in(database, project)
    assert (changes.new, changes.unknown_classes) == (2, {"fox": 2})
    assert "fox/1.png" in items(database, project)


@pytest.mark.one_database
def test_a_file_that_breaks_is_a_problem_and_its_answers_stay(database, root):
    project = project_on(database, root)
    old = items(database, project)["cat/0.png"]
    say(database, project, old.id, "cat")
    (root / "cat" / "0.png").write_bytes(b"no image")
    changes = take_in(database, project)
    assert (changes.unreadable, changes.kept) == (1, 1)
    assert "cat/0.png" not in items(database, project)
    assert stands(database, project) == {old.id: "cat"}
    assert "text" in problems(database, project)["cat/0.png"]


@pytest.mark.one_database
@pytest.mark.parametrize(("stop_at", "left"), [("Comparing files", 6), ("Reading images", 4)])
def test_what_was_stopped_goes_on(database, root, read, monkeypatch, stop_at, left):
    monkeypatch.setattr(importing, "READ_AT_ONCE", 2)
    monkeypatch.setattr(importing, "COMPARED_AT_ONCE", 2)
    project = create(database, name="p", source=Source(str(root)))

    def stop(done, total, message):
        if message == stop_at and done >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take_in(database, project, on_progress=stop)
    assert last_changes(database, project).complete is False
    assert len(items(database, project)) == 6 - left
    read.clear()
    changes = take_in(database, project)
    assert (changes.complete, changes.new, len(read)) == (True, left, left)
    assert len(items(database, project)) == 6


@pytest.mark.one_database
def test_progress_counts_what_is_read(database, root):
    said = []
    project = project_on(database, root)
    picture(root / "cat" / "8.png", 8), picture(root / "cat" / "9.png", 9)
    take_in(database, project, on_progress=lambda *step: said.append(step))
    assert said == [(8, 8, "Comparing files"), (1, 2, "Reading images"), (2, 2, "Reading images")]


@pytest.mark.one_database
def test_images_of_another_folder_are_refused(database, root, tmp_path):
    project = project_on(database, root)
    other = folder_of(tmp_path / "other")
    with pytest.raises(InputError, match="lie in"):
        take_in(database, project, source=Source(str(other)))
    assert len(items(database, project)) == 6
