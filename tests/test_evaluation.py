"""Every predictive of a small project on each of its labelled splits."""

from pathlib import Path

import pytest
import torch

from core import evaluation
from core.calibration import Measured, Predictive
from core.errors import InputError, NotReady
from core.evaluation import evaluate_project
from core.metrics import evaluate
from db import repository
from db.repository import LabelKind, NewLabel, Split
from db.session import open_database
from tests.toy import ToyEncoder, make_project


class Counting(ToyEncoder):
    encoded = 0

    def encode_images(self, pixels):
        Counting.encoded += len(pixels)
        return super().encode_images(pixels)


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("PENUMBRA_HOME", str(tmp_path / "home"))
    database = open_database(f"sqlite:///{tmp_path / 'penumbra.sqlite'}")
    monkeypatch.setattr(evaluation, "encoder_for", lambda model: Counting())
    yield database, make_project(database, tmp_path / "images", 80, "p", monkeypatch)
    database.close()


def predictives(found) -> dict:
    return {line.predictive: line for line in found.predictives}


def test_the_table_names_all_it_depends_on(project):
    found = evaluate_project(*project, draws=100, bins=7, seed=3)
    assert (found.split, found.bins, found.seed, found.draws, found.domain, found.round) == ("test", 7, 3, 100, None, 0)
    assert found.images > 0
    lines = predictives(found)
    assert set(lines) == {str(each) for each in Predictive}
    assert lines["probit"].tau == found.tau
    assert lines["temperature"].temperature > 0
    assert found.entropy == pytest.approx(found.aleatoric + found.epistemic)
    assert found.notes == []


def test_the_cost_is_every_views_encoding_and_the_head(project):
    lines = predictives(evaluate_project(*project, draws=10))
    assert (lines["augmented"].views, lines["map"].views) == (7, 1)
    measured = Measured(Predictive.AUGMENTED, metrics=evaluate(torch.eye(2), torch.arange(2)), seconds=0.5, views=7)
    assert evaluation._line(measured, images=10, encoding=3.0).milliseconds == pytest.approx(7 * 3 + 50)


def test_views_are_encoded_once(project):
    Counting.encoded = 0
    first = evaluate_project(*project, draws=10)
    once = Counting.encoded
    second = evaluate_project(*project, draws=10)
    timed = 2 * min(16, first.images)
    assert (once, Counting.encoded - once) == (6 * first.images + timed, timed)
    assert [line.nlpd for line in first.predictives] == [line.nlpd for line in second.predictives]


def test_validation_says_that_it_was_used(project):
    assert "on this very split" in evaluate_project(*project, split=Split.VALIDATION, draws=10).notes[0]


def test_the_pools_labels_are_the_answers(project):
    database, project_id = project
    with pytest.raises(InputError, match="no labelled image"):
        evaluate_project(database, project_id, split=Split.POOL)
    with database.write() as s:
        person, classes = repository.person(s, "Ada"), repository.project(s, project_id).classes
        items = repository.items(s, project_id, Split.POOL)[:5]
        events = [NewLabel(str(item.id), item.id, LabelKind.ANSWER, classes[0].id, source="test") for item in items]
        repository.record(s, project_id, person, events)
    assert evaluate_project(database, project_id, split=Split.POOL, draws=10).images == 5


def test_an_encoder_that_has_changed_gives_no_views_and_says_so(project, monkeypatch):
    other = ToyEncoder()
    other.fingerprint = "other"
    monkeypatch.setattr(evaluation, "encoder_for", lambda model: other)
    found = evaluate_project(*project, draws=10)
    assert "augmented" not in predictives(found)
    assert found.predictives[0].milliseconds is None
    assert "encoder has changed" in found.notes[0]


def test_images_that_are_gone_leave_the_rest_of_the_table(project):
    database, project_id = project
    with database.read() as s:
        root = repository.project(s, project_id).root
        gone = repository.items(s, project_id, Split.TEST)[0].path
    (Path(root) / gone).unlink()
    found = evaluate_project(database, project_id, draws=10)
    assert "cannot be read" in found.notes[0]
    assert "probit" in predictives(found)


def test_before_the_first_round_it_says_what_is_missing(project, tmp_path):
    database, _ = project
    with database.write() as s:
        new = repository.create_project(s, name="new", root=str(tmp_path), model="mini", prompt="{class}", classes="ab")
    with pytest.raises(NotReady, match="no model yet"):
        evaluate_project(database, new)
