"""A source is counted once, before anything is written."""

from pathlib import Path

import pytest

from core.data.dataset import Dataset, Event, Guess, Kind, Record
from core.data.scan import Ignored, Split
from pages.parts import import_survey
from pages.parts.import_survey import survey


def dataset(root: Path, *records: Record, classes: tuple[str, ...] = ()) -> Dataset:
    return Dataset(root, classes, records, (Ignored("notes.txt", "not an image (.txt)", 3),), "CSV")


def record(root: Path, path: str, **about) -> Record:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).touch()
    return Record(path, **about)


def test_images_classes_and_domains_are_counted(tmp_path):
    found = survey(
        dataset(
            tmp_path,
            record(tmp_path, "a.jpg", stated="mug", domain="art"),
            record(tmp_path, "b.jpg", stated="mug", label="lamp", domain="art"),
            record(tmp_path, "c.jpg", domain="photo", split=Split.TEST),
            classes=("zebra", "mug", "lamp"),
        )
    )
    assert (found.images, found.labelled, found.usable) == (3, 2, 3)
    assert found.classes == ("zebra", "mug", "lamp")
    assert import_survey.headline(found) == "3 images · 3 classes · 2 domains"
    table = import_survey.class_table(found).set_index("class")
    assert table.loc["lamp"].tolist() == [1, 0, 1]
    assert table.loc["(no label)"].tolist() == [0, 1, 1]
    assert table["all"].sum() == 3
    assert import_survey.set_apart(found).startswith("The source names splits: 0 images for pool, 0 images for valid")
    assert "the 2 without one" in import_survey.set_apart(found)
    assert import_survey.left_out_rows(found.left_out) == [
        {"file": "notes.txt", "reason": "not an image (.txt)", "files": 3}
    ]


def test_answers_people_and_guesses_are_counted(tmp_path):
    events = (Event("Ada", Kind.ANSWER, "mug"), Event("Eve", Kind.LATER), Event("Ada", Kind.UNDO))
    found = survey(dataset(tmp_path, record(tmp_path, "a.jpg", events=events, guess=Guess("mug", 0.5))))
    assert import_survey.headline(found) == "1 image · 1 class · 3 answers of 2 people · 1 guess of models"
    assert import_survey.set_apart(found) == ""


@pytest.mark.parametrize("path", ["gone.jpg", "../secret.jpg", "/etc/hostname", "a\0b.jpg", "x" * 300, ""])
def test_a_file_that_is_not_there_is_missing(tmp_path, path):
    (tmp_path / "secret.jpg").touch()
    (tmp_path / "in").mkdir()
    found = survey(dataset(tmp_path / "in", Record(path)))
    assert (found.missing, found.first_missing, found.samples) == (1, (path,), ())


def test_an_address_is_no_missing_file(tmp_path):
    found = survey(dataset(tmp_path, Record("https://a.org/1.jpg"), Record("s3://bucket/2.jpg")))
    assert (found.addresses, found.missing, found.usable) == (2, 0, 2)


@pytest.mark.parametrize("number", [1, 6, 7, 65, 1000])
def test_samples_are_spread_over_all(tmp_path, monkeypatch, number):
    monkeypatch.setattr(import_survey._Seen, "_is_there", lambda self, path: True)
    samples = [int(path) for path in survey(dataset(tmp_path, *(Record(str(n)) for n in range(number)))).samples]
    assert len(set(samples)) == len(samples) == min(number, 6)
    assert samples[0] == 0
    assert samples[-1] >= number // 2
