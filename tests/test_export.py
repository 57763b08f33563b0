"""A project given back: all that is known of each image, as it stands, under the classes of now."""

import csv
import json
from datetime import UTC, datetime

import pytest

from core import jobs
from core.changes import last_changes
from core.classes import ClassChange, change_classes
from core.data.dataset import Status
from core.data.formats import FORMATS
from core.errors import InputError
from core.export import dataset_of, export, export_answers
from core.projects import get_project
from core.scored import scored
from core.sources import Labels, Source
from core.worker import run_job
from db import repository
from db.base import ClassChangeKind
from db.repository import NewLabel
from tests.folders import folder_of, items, picture, project_on, say, stands, take_in

one = pytest.mark.one_database


@pytest.fixture
def root(tmp_path):
    return folder_of(tmp_path / "images", 8)


def _records(database, project):
    return {record.path: record for record in dataset_of(database, project).records if "gone" not in record.figures}


def _said(database, project, item, kind, key, person="Ada"):
    with database.write() as s:
        who = repository.person(s, person)
        assert repository.record(s, project, who, [NewLabel(key, item, kind, source="epig")])[0].accepted


def test_every_image_comes_with_its_status_and_history(database, root):
    project = project_on(database, root)
    there = items(database, project)
    ids = {path.split("/")[1]: item.id for path, item in there.items()}
    say(database, project, ids["0.png"], "dog")
    say(database, project, ids["0.png"], "cat", "Bo")
    _said(database, project, ids["1.png"], "unusable", "u")
    _said(database, project, ids["2.png"], "later", "l")
    with database.write() as s:
        repository.want(s, project, [ids["3.png"]], 2)
    say(database, project, ids["3.png"], "dog"), say(database, project, ids["3.png"], "cat", "Bo")
    say(database, project, ids["4.png"], "cat"), _said(database, project, ids["4.png"], "undo", "x")
    found = {record.path.split("/")[1]: record for record in _records(database, project).values()}
    assert {name: (each.status, each.label) for name, each in found.items()} == {
        "0.png": (Status.LABELLED, "cat"),
        "1.png": (Status.UNUSABLE, None),
        "2.png": (Status.SKIPPED, None),
        "3.png": (Status.CONFLICT, None),
        **{f"{number}.png": (Status.UNLABELLED, None) for number in (4, 5, 6, 7)},
    }
    events = [(each.annotator, str(each.kind), each.label, each.source) for each in found["0.png"].events]
    assert events == [("Ada", "answer", "dog", "epig"), ("Bo", "answer", "cat", "epig")]
    assert [str(each.kind) for each in found["4.png"].events] == ["answer", "undo"]
    assert all(each.at.tzinfo is not None for each in found["0.png"].events)
    item = there["cat/0.png"]
    first = found["0.png"]
    assert (first.sha256, first.split, first.stated, first.figures["item_id"]) == (
        item.sha256,
        item.split,
        "cat",
        item.id,
    )


@one
def test_an_image_answered_anew_is_exported_once_under_the_new_class_alone(database, root, tmp_path):
    project = project_on(database, root)
    item = next(each for each in items(database, project).values() if each.split == "pool")
    name = item.path.split("/")[1]
    for label in ("dog", "cat"):
        say(database, project, item.id, label)
        made = export(database, project, "imagefolder", tmp_path / "out", replace=True)
        found = [path.relative_to(made.folder) for path in made.folder.rglob(f"*{name}")]
        assert [path.parts[-2] for path in found] == [label]
        assert (made.folder / found[0]).read_bytes() == (root / item.path).read_bytes()


@one
def test_a_renamed_class_is_exported_under_its_new_name_with_its_history(database, root, tmp_path):
    project = project_on(database, root)
    item = items(database, project)["cat/0.png"].id
    say(database, project, item, "cat")
    cat = get_project(database, project).classes[0]
    change_classes(database, project, 1, [ClassChange(ClassChangeKind.RENAME, cat.id, "TV/Monitor")])
    record = _records(database, project)["cat/0.png"]
    assert (record.label, record.stated, record.events[0].label) == ("TV/Monitor", "TV/Monitor", "TV/Monitor")
    made = export(database, project, "imagefolder", tmp_path / "out")
    manifest = json.loads((made.folder / "manifest.json").read_text())
    assert "TV/Monitor" in json.dumps(manifest)
    folders = {path.name for path in made.folder.rglob("*") if path.is_dir()}
    assert "TV%2FMonitor" in folders
    assert "cat" not in folders
    assert take_in(database, project).restated == 0  # the folder still says cat, which means the same class


@one
def test_skipped_and_unusable_images_are_in_no_folder_of_a_class(database, root, tmp_path):
    project = project_on(database, root)
    pool = [item for item in items(database, project).values() if item.split == "pool"]
    _said(database, project, pool[0].id, "unusable", "u")
    _said(database, project, pool[1].id, "later", "l")
    made = export(database, project, "imagefolder", tmp_path / "out")
    names = {path.name for path in made.folder.rglob("*.png")}
    assert not names & {pool[0].path.split("/")[1], pool[1].path.split("/")[1]}
    table = export(database, project, "csv", tmp_path / "csv")
    with (table.folder / "labels.csv").open(newline="") as handle:
        status = {row["path"]: row["status"] for row in csv.DictReader(handle)}
    assert (status[pool[0].path], status[pool[1].path]) == ("unusable", "skipped")


@one
def test_an_answer_to_a_content_that_is_gone_is_in_the_table_and_its_file_in_no_folder(database, root, tmp_path):
    project = project_on(database, root)
    old = items(database, project)["cat/0.png"]
    say(database, project, old.id, "dog")
    picture(root / "cat" / "0.png", 70)
    take_in(database, project)
    records = [record for record in dataset_of(database, project).records if record.path == "cat/0.png"]
    assert [(record.label, "gone" in record.figures) for record in records] == [("dog", True), (None, False)]
    made = export(database, project, "fiftyone-tree", tmp_path / "out")
    new = (root / "cat" / "0.png").read_bytes()
    assert [path.parent.name for path in made.folder.rglob("*.png") if path.read_bytes() == new] != ["dog"]
    assert any("changed" in each.reason for each in made.left_out)


def _history(records):
    return {
        record.path: (
            record.label,
            record.status,
            record.stated,
            record.split,
            record.domain,
            record.sha256,
            record.events,
        )
        for record in records.values()
    }


@pytest.mark.parametrize("name", ["csv", "labelstudio", "coco", "huggingface", "fiftyone"])
def test_what_goes_out_comes_back_into_another_project_once(database, tmp_path, name):
    root = folder_of(tmp_path / "images", 8, ("photo/=1+1", "photo/Mug", "art/=1+1", "art/Mug"))
    project = project_on(database, root)
    ids = [item.id for item in items(database, project).values()]
    say(database, project, ids[0], "Mug"), say(database, project, ids[0], "=1+1", "Bo")
    say(database, project, ids[1], "Mug"), _said(database, project, ids[1], "undo", "x")
    _said(database, project, ids[2], "unusable", "u"), _said(database, project, ids[3], "later", "l", "Bo")
    made = export(database, project, name, tmp_path / "out")
    moved = FORMATS[name].copies_images
    source = Source(str(made.folder), name, root="" if moved else str(root))
    again = project_on(database, source, name="again")
    before, after = _history(_records(database, project)), _history(_records(database, again))
    if moved:
        before, after = ({value[5]: value for value in each.values()} for each in (before, after))
    assert after == before
    as_it_was = _history(_records(database, again))
    changes = take_in(database, again)
    assert (changes.answers, changes.answers_there, changes.anything) == (0, 6, False)
    assert _history(_records(database, again)) == as_it_was


@one
def test_a_projects_own_export_read_back_adds_nothing(database, root, tmp_path):
    project = project_on(database, root)
    for item in list(items(database, project).values())[:3]:
        say(database, project, item.id, "cat"), say(database, project, item.id, "dog")
    made = export(database, project, "csv", tmp_path / "out")
    source = Source(str(made.folder), "csv", root=str(root))
    changes = take_in(database, project, source=source)
    assert (changes.answers, changes.answers_there, changes.vanished) == (0, 6, 0)
    assert set(stands(database, project).values()) == {"dog"}


@one
def test_an_answer_to_another_content_is_not_taken_for_one_to_the_file_of_today(database, root, tmp_path):
    project = project_on(database, root)
    say(database, project, items(database, project)["cat/0.png"].id, "dog")
    picture(root / "cat" / "0.png", 70)
    take_in(database, project)
    made = export(database, project, "csv", tmp_path / "out")
    again = project_on(database, Source(str(made.folder), "csv", root=str(root)), name="again")
    assert stands(database, again) == {}
    changes = last_changes(database, again)
    assert changes.answers == 0
    assert "content that was answered" in changes.refused[0]


@one
def test_a_folders_classes_may_be_somebodys_answers(database, root):
    source = Source(str(root), labels=Labels.ANSWERS, annotator="Eve")
    project = project_on(database, source)
    with database.read() as s:
        assert repository.reference(s, project) == {}
    assert len(stands(database, project)) == 8
    changes = take_in(database, project)
    assert (changes.answers, changes.answers_there) == (0, 8)
    with pytest.raises(InputError, match="--annotator"):
        Source(str(root), labels=Labels.ANSWERS)


@one
def test_answers_keep_the_time_at_which_they_were_given(database, root, tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text("path,label,annotator,utc\ncat/0.png,dog,Eve,2024-05-06T07:08:09+02:00\n")
    project = project_on(database, root)
    changes = take_in(database, project, source=Source(str(file), "csv", root=str(root)))
    assert (changes.answers, changes.vanished) == (1, 0)
    [event] = _records(database, project)["cat/0.png"].events
    assert event.at == datetime(2024, 5, 6, 5, 8, 9, tzinfo=UTC)


def test_scores_and_guesses_of_the_newest_model_stand_beside_the_images(database, project):
    said = scored(database, project)
    records = list(dataset_of(database, project).records)
    assert len(records) == 96
    pool = [record for record in records if record.split == "pool"]
    assert all({"entropy", "bald", "epig", "round", "item_id"} <= record.figures.keys() for record in pool)
    assert all("epig" not in record.figures for record in records if record.split != "pool")
    assert all(0 < record.guess.probability <= 1 and record.guess.model == "mini, round 0" for record in records)
    assert said.of(0) is None


@one
def test_standing_answers_go_into_one_file_that_is_replaced(database, root, tmp_path):
    project = project_on(database, root)
    item = items(database, project)["cat/0.png"].id
    file = tmp_path / "answers.csv"
    for label in ("dog", "cat"):
        say(database, project, item, label)
        assert export_answers(database, project, file) == 1
        [row] = csv.DictReader(file.open(newline=""))
        assert (row["path"], row["label"], row["annotator"]) == ("cat/0.png", label, "Ada")
    assert list(tmp_path.glob(".export-*")) == []


@one
def test_a_format_that_is_not_there_names_those_that_are(database, root, tmp_path):
    project = project_on(database, root)
    with pytest.raises(InputError, match="imagefolder"):
        export(database, project, "zip", tmp_path / "out")


@one
def test_an_export_is_a_job_of_the_worker(database, root, tmp_path):
    project = project_on(database, root)
    for _ in range(2):  # again: it replaces the first
        job = jobs.enqueue(database, project, "export", {"format": "csv", "folder": str(tmp_path / "out")})
        assert run_job(database, job) == "done"
    assert (tmp_path / "out" / "labels.csv").is_file()
    bad = jobs.enqueue(database, project, "export", {"format": "csv", "folder": str(root)})
    assert run_job(database, bad) == "failed"
    assert "another folder" in jobs.job(database, bad).error
