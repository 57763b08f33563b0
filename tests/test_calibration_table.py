"""The calibration table by domain: what it chooses on validation, measures on test, and says of both."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from core import calibration_table, evaluation, rounds
from core.calibration import Predictive, certain_logits, fit_temperature
from core.calibration_table import folder_table, project_table
from core.choice import predict
from core.cli import main
from core.errors import InputError
from core.finetune import Labelled
from core.learning import LearningConfig
from core.metrics import evaluate, nlpd
from core.posterior.laplace import Posterior
from core.simulation import images as simulated
from core.workspace import class_texts as texts_of
from core.workspace import home, labelled, measured_items
from db import repository
from db.repository import LabelKind, NewLabel, Split
from tests.toy import ToyEncoder, draw, make_project, toy_factors

pytestmark = pytest.mark.one_database
DOMAINS, CLASSES = ("photo", "sketch"), ("apple", "bottle", "chair")
FOUR = [Predictive.MAP, Predictive.TEMPERATURE, Predictive.AUGMENTED, Predictive.PROBIT]


def draw_in_domain(folder: Path, number: int) -> None:
    draw(folder / DOMAINS[number % 2], number // 2 % len(CLASSES) + 12 * number, side=40)


@pytest.fixture
def project(database, tmp_path, monkeypatch):
    """A project of two domains, 160 images, towards sketches."""
    for module in (evaluation, rounds):
        monkeypatch.setattr(module, "encoder_for", lambda model: ToyEncoder())
    monkeypatch.setattr(simulated, "load_encoder", lambda model: ToyEncoder())
    monkeypatch.setattr(simulated, "factors_for", toy_factors)
    return make_project(database, tmp_path / "images", 160, "p", monkeypatch, CLASSES, draw_in_domain)


def by_domain(table) -> dict:
    return {(line.domain, Predictive(line.predictive)): line for line in table.lines}


def without_times(table) -> dict:
    return {key: replace(line, seconds=None) for key, line in by_domain(table).items()}


def parts(database, project_id, domain, split) -> tuple[Posterior, object, Labelled]:
    with database.read() as s:
        project, newest = repository.project(s, project_id), repository.latest_round(s, project_id)
    items, labels = measured_items(database, replace(project, target_domain=domain), newest.fingerprint, split)
    texts = texts_of(project, newest.fingerprint)
    return Posterior.load(home() / newest.checkpoint), texts, labelled(newest.fingerprint, items, labels)


def test_each_domain_is_measured_on_its_test_images_with_what_its_validation_images_chose(database, project):
    table = project_table(database, project, bins=7)
    found = by_domain(table)
    assert list(found) == [(domain, kind) for domain in DOMAINS for kind in FOUR]
    for domain in DOMAINS:
        posterior, texts, test = parts(database, project, domain, Split.TEST)
        _, _, validation = parts(database, project, domain, Split.VALIDATION)
        logits = certain_logits(posterior, test.features, texts)
        T = fit_temperature(certain_logits(posterior, validation.features, texts), validation.labels)
        losses = {
            tau: nlpd(predict(posterior.with_tau(tau), validation.features, texts), validation.labels).value
            for tau in LearningConfig().taus
        }
        tau = min(losses, key=losses.get)
        served = predict(posterior.with_tau(tau), test.features, texts)
        expected = {Predictive.MAP: logits.softmax(1), Predictive.TEMPERATURE: (logits / T).softmax(1)}
        for kind, probs in (expected | {Predictive.PROBIT: served}).items():
            line, slow = found[domain, kind], evaluate(probs, test.labels, 7)
            assert (line.accuracy, line.nlpd, line.ece) == pytest.approx((slow.accuracy, slow.nlpd, slow.ece))
            assert (line.images, line.chosen_on) == (len(test), len(validation))
        assert found[domain, Predictive.PROBIT].tau == tau
        assert found[domain, Predictive.TEMPERATURE].temperature == pytest.approx(T)
    assert len({found[domain, Predictive.TEMPERATURE].temperature for domain in DOMAINS}) == 2
    assert (table.source, table.split, table.chosen_on, table.bins, table.seed) == ("p", "test", "validation", 7, 0)
    assert table.notes == []


def test_nothing_is_chosen_on_test_labels_nor_on_another_domain(database, project):
    """Every photo of the test split gets another answer: photo's figures move, what was chosen and sketch stay."""
    before = without_times(project_table(database, project))
    with database.write() as s:
        person, classes = repository.person(s, "Ada"), repository.project(s, project).classes
        known = repository.measured(s, project, Split.TEST)
        wrong = [
            NewLabel(str(i.id), i.id, LabelKind.ANSWER, classes[(known[i.id] + 1) % 3].id, source="test")
            for i in repository.items(s, project, Split.TEST)
            if i.domain == "photo"
        ]
        repository.record(s, project, person, wrong)
    after = without_times(project_table(database, project))
    for kind in FOUR:
        was, now = before["photo", kind], after["photo", kind]
        assert was.nlpd != now.nlpd
        assert (was.tau, was.temperature) == (now.tau, now.temperature)
        assert before["sketch", kind] == after["sketch", kind]


def test_a_folder_has_the_table_of_the_project_that_it_would_be(database, project, tmp_path):
    assert without_times(folder_table(tmp_path / "images")) == without_times(project_table(database, project))
    other = folder_table(tmp_path / "images", seed=1)
    assert other.seed == 1
    assert without_times(other) != without_times(folder_table(tmp_path / "images"))


def test_the_time_is_of_all_images_and_views(database, project, monkeypatch):
    monkeypatch.setattr(evaluation, "_milliseconds", lambda *_: 3000.0)
    found = by_domain(project_table(database, project))
    single, augmented = found["photo", Predictive.MAP], found["photo", Predictive.AUGMENTED]
    assert single.seconds == pytest.approx(3 * single.images, rel=0.01)
    assert augmented.seconds == pytest.approx(7 * 3 * single.images, rel=0.01)


def test_a_domain_without_validation_labels_says_what_it_lacks(database, project, tmp_path, monkeypatch):
    def splits(sha256s, *, seed):
        return [Split.TEST if i % 2 else Split.VALIDATION for i in range(len(sha256s))]

    monkeypatch.setattr(calibration_table, "assign_splits", splits)
    draw(tmp_path / "images" / "ink", 3, side=40)  # one image sorts before the photos: a validation image alone
    found = folder_table(tmp_path / "images")
    assert [note for note in found.notes if note.startswith("nothing of ink")]
    assert {line.domain for line in found.lines} == set(DOMAINS)
    monkeypatch.setattr(calibration_table, "assign_splits", lambda shas, *, seed: [Split.TEST] * len(shas))
    found = folder_table(tmp_path / "images")
    ink = [line for line in found.lines if line.domain == "ink"]
    assert [line.predictive for line in ink] == ["map", "augmented", "probit"]
    assert (ink[-1].tau, ink[-1].chosen_on) == (LearningConfig().tau, 0)
    assert [note for note in found.notes if "ink" in note and "no temperature" in note]


def test_without_a_test_image_there_is_no_table(database, project, tmp_path, monkeypatch):
    monkeypatch.setattr(calibration_table, "assign_splits", lambda shas, *, seed: [Split.POOL] * len(shas))
    with pytest.raises(InputError, match="no test image with seed 0"):
        folder_table(tmp_path / "images")


def test_the_command_prints_the_table_of_a_project_and_of_a_folder(database, project, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PENUMBRA_DATABASE_URL", database.url)
    assert main(["evaluate", "--project", "p", "--by-domain", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["lines"][0].keys() == asdict(project_table(database, project).lines[0]).keys()
    assert main(["evaluate", "--folder", str(tmp_path / "images"), "--bins", "5"]) == 0
    assert "MAP, temperature scaled" in capsys.readouterr().out
    assert main(["evaluate", "--project", "p", "--by-domain", "--split", "validation"]) == 2
    assert "leave out validation" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["evaluate", "--project", "p", "--folder", "x"])
