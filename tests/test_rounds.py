"""A project's circle on drawn images: real database, real maths, an encoder that sees colour only."""

import random
from pathlib import Path

import pytest
import torch
from PIL import Image
from sqlalchemy import select, update
from torch.testing import assert_close

from core import importing, projects, rounds, workspace
from core.acquisition.table import Acquisition
from core.choice import predict
from core.config import home
from core.errors import InputError, NotReady, TooFewClasses, UnknownName
from core.images import read_image, sha256_file
from core.posterior.laplace import Posterior, read_made_of
from core.queue import MEASURE, queue_for, unmeasured
from core.targeting import Metric
from db import repository
from db.models import Item, Reference
from db.repository import LabelKind, NewLabel, Split
from tests import pictures
from tests.toy import CLASSES, ToyEncoder, draw, make_project, toy_factors

SCORES = [score for score in Acquisition if score is not Acquisition.OWN_UNCERTAINTY]  # the toy encoder has none


def answer(database, project, ids, seed=0):
    """The oracle's answers for these items, as one person."""
    with database.write() as s:
        truth, person = repository.reference(s, project), repository.person(s, "Ada")
        classes = {each.position: each.id for each in repository.project(s, project).classes}
        given = [(item, LabelKind.ANSWER, classes[truth[item]]) for item in ids]
        events = [NewLabel(f"t{seed}:{each[0]}", *each, source="oracle") for each in given]
        assert all(each.accepted for each in repository.record(s, project, person, events))


def ranked(database, project, **options):
    return [item.id for item in workspace.rank(database, project, **options)]


def test_every_good_image_is_in_and_its_features_are_its_own(database, project):
    with database.read() as s:
        items = repository.items(s, project)
        root = repository.project(s, project).root
    assert len(items) == 96
    encoder = ToyEncoder()
    stored = workspace.feature_store("toy").load([item.sha256 for item in items]).activations
    for item, row in zip(items, stored, strict=True):
        assert item.sha256 == sha256_file(Path(root) / item.path)
        pixels = encoder.preprocess(Image.open(f"{root}/{item.path}").convert("RGB"))
        assert_close(encoder.encode_images(pixels[None]).activations[0], row)


def test_round_0_measures_the_pretrained_model_on_the_test_split(database, project):
    with database.read() as s:
        first = repository.latest_round(s, project)
        n = repository.counts(s, project).test
    assert (first.number, first.labels, first.metrics["n"]) == (0, 0, n)
    assert 0 <= first.metrics["posterior"]["accuracy"] <= 1
    assert sum(row["count"] for row in first.metrics["reliability"]) == n


def test_preparing_again_changes_nothing_and_takes_in_what_is_new(database, project, tmp_path):
    rounds.prepare(database, project)
    draw(tmp_path / "images", 96)
    rounds.prepare(database, project)
    with database.read() as s:
        assert len(repository.items(s, project)) == 97
        assert len(repository.rounds(s, project)) == 1


@pytest.mark.parametrize("score", SCORES)
def test_a_ranking_has_every_pool_image_once_and_no_answered_one(database, project, score):
    first = ranked(database, project, score=score, limit=1000)
    with database.read() as s:
        pool = {item.id for item in repository.items(s, project, Split.POOL)}
    assert sorted(first) == sorted(pool)
    answer(database, project, first[:10])
    assert not set(first[:10]) & set(ranked(database, project, score=score, limit=1000))


def test_answers_condition_the_order_without_a_round(database, project):
    """Greedy: what would come after ten picks is what comes after ten answers."""
    order = ranked(database, project, limit=20)
    answer(database, project, order[:10])
    assert ranked(database, project, limit=10) == order[10:20]


@pytest.mark.parametrize("score", SCORES)
def test_a_ranking_never_reads_a_hidden_label(database, project, score):
    """The folder's classes of the pool are poisoned: nothing moves."""
    before = ranked(database, project, score=score, limit=1000)
    shuffle = random.Random(0)
    with database.write() as s:
        pool = {item.id for item in repository.items(s, project, Split.POOL)}
        classes = [each.id for each in repository.project(s, project).classes]
        for item in s.scalars(select(Reference.item_id)).all():
            if item in pool:
                poison = update(Reference).where(Reference.item_id == item)
                s.execute(poison.values(class_id=shuffle.choice(classes)))
    assert ranked(database, project, score=score, limit=1000) == before


def test_narrowing_keeps_only_the_targets_neighbours(database, project, monkeypatch):
    monkeypatch.setattr("core.ranking.NEIGHBOURS", 1)
    monkeypatch.setattr("core.ranking.TARGETS", 3)
    monkeypatch.setattr(workspace, "draw_targets", lambda candidates, rng: candidates[:3])
    for metric in Metric:
        assert 1 <= len(ranked(database, project, narrow=metric, limit=1000)) <= 3


def test_a_round_learns_from_the_answers_and_is_reproducible(database, project):
    answer(database, project, ranked(database, project, limit=40))
    first, second = (rounds.run_round(database, project) for _ in range(2))
    assert (first.number, first.labels, second.number) == (1, 40, 2)
    assert first.metrics["posterior"]["nlpd"] < _round(database, project, 0).metrics["posterior"]["nlpd"]
    assert first.label_watermark == 40
    assert (home() / first.checkpoint).exists()
    assert first.settings["learning"]["finetune"]["learning_rate"] > 0
    assert set(first.versions) >= {"torch", "open_clip_torch"}


def _round(database, project, number):
    with database.read() as s:
        return repository.rounds(s, project)[number]


def test_an_unlabelled_folder_is_ranked_and_reports_no_figure(database, tmp_path, monkeypatch):
    (tmp_path / "flat").mkdir()
    for number in range(20):
        Image.new("RGB", (16, 16), (number * 12, 40, 90)).save(tmp_path / "flat" / f"{number}.png")
    monkeypatch.setattr(rounds, "encoder_for", lambda model: ToyEncoder())
    monkeypatch.setattr(rounds, "factors_for", toy_factors)
    project = projects.create_from_folder(database, name="flat", folder=tmp_path / "flat", classes=("dark", "light"))
    row = rounds.prepare(database, project)
    assert (row.metrics["posterior"], row.metrics["n"]) == (None, 0)
    assert len(ranked(database, project)) > 5


def test_people_make_an_unlabelled_folder_measurable(database, tmp_path, monkeypatch):
    """The order "measure" serves test and validation images; their answers measure and never train."""
    (tmp_path / "flat").mkdir()
    for number in range(40):
        Image.new("RGB", (16, 16), (number * 6, 40, 90)).save(tmp_path / "flat" / f"{number}.png")
    monkeypatch.setattr(rounds, "encoder_for", lambda model: ToyEncoder())
    monkeypatch.setattr(rounds, "factors_for", toy_factors)
    project = projects.create_from_folder(database, name="flat", folder=tmp_path / "flat", classes=("dark", "light"))
    rounds.prepare(database, project)
    with database.write() as s:
        person = repository.person(s, "Ada")
    served = queue_for(database, project, MEASURE).serve(person, 100)
    assert len(served) == unmeasured(database, project) > 3
    with database.read() as s:
        assert {repository.item(s, card.item_id).split for card in served} <= {Split.TEST, Split.VALIDATION}
        dark = repository.project(s, project).classes[0].id
    queue = queue_for(database, project, MEASURE)
    queue.apply(
        person, [NewLabel(f"m{c.item_id}", c.item_id, LabelKind.ANSWER, dark, source="measure") for c in served]
    )
    assert queue.serve(person, 100) == []
    assert unmeasured(database, project) == 0
    row = rounds.run_round(database, project)
    assert row.metrics["n"] > 0
    assert row.labels == 0


def test_an_answered_image_without_features_is_left_out_of_a_round_and_counted(database, tmp_path, monkeypatch):
    project = make_project(database, tmp_path / "images", 96, "toy", monkeypatch)
    ids = ranked(database, project, limit=10)
    answer(database, project, ids)
    with database.write() as s:
        s.execute(update(Item).where(Item.id == ids[0]).values(sha256="0" * 64))
    row = rounds.run_round(database, project)
    assert row.labels == 9
    assert row.metrics["answers_without_features"] == 1


def test_what_cannot_make_a_project_is_said_and_nothing_is_written(database, tmp_path):
    draw(tmp_path / "images", 0)
    make = dict(name="p", folder=tmp_path / "images")
    with pytest.raises(TooFewClasses, match="2 classes"):
        projects.create_from_folder(database, **make)
    with pytest.raises(UnknownName, match="'sketch'"):
        projects.create_from_folder(database, **make, classes=CLASSES, target_domain="sketch")
    with pytest.raises(InputError, match=r"\{class\}"):
        projects.create_from_folder(database, **make, classes=CLASSES, prompt="a photo")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no image"):
        projects.create_from_folder(database, name="p", folder=tmp_path / "empty", classes=CLASSES)
    with database.read() as s:
        assert repository.projects(s) == []


def test_a_project_is_not_ranked_before_it_is_prepared(database, tmp_path):
    draw(tmp_path / "images", 0)
    project = projects.create_from_folder(database, name="p", folder=tmp_path / "images", classes=CLASSES)
    with pytest.raises(NotReady, match="not encoded yet"):
        workspace.rank(database, project)


def test_a_cancelled_import_goes_on_where_it_stopped(database, tmp_path, monkeypatch):
    for number in range(30):
        draw(tmp_path / "images", number)
    monkeypatch.setattr(rounds, "encoder_for", lambda model: ToyEncoder())
    monkeypatch.setattr(rounds, "factors_for", toy_factors)
    monkeypatch.setattr(importing, "READ_AT_ONCE", 8)
    project = projects.create_from_folder(database, name="p", folder=tmp_path / "images", classes=CLASSES)

    def cancel(done, total, message):
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rounds.prepare(database, project, cancel)
    with database.read() as s:
        assert 8 <= len(repository.items(s, project)) < 30
    rounds.prepare(database, project)
    with database.read() as s:
        assert len(repository.items(s, project)) == 30


def test_what_a_workspace_predicts_does_not_depend_on_a_later_change_of_files(database, project, tmp_path):
    """Features are found by content: a file replaced after import changes no score of the stored image."""
    space = workspace.workspace(database, project)
    before = predict(space.posterior, space.features, space.texts)
    Image.new("RGB", (8, 8)).save(tmp_path / "images" / space.pool[0].path)
    again = workspace.workspace(database, project)
    assert torch.equal(before, predict(again.posterior, again.features, again.texts))


def test_a_folder_of_defects_keeps_every_decodable_image_and_names_the_rest(database, tmp_path, monkeypatch):
    """Features stay with their images, right side up, whatever lies between them."""
    folder = tmp_path / "images"
    for number in range(20):
        draw(folder, number, side=64)
    odd = folder / "apple"
    turned = pictures.quarters()
    exif = turned.getexif()
    exif[274] = 6
    turned.save(odd / "turned.jpg", exif=exif)
    pictures.quarters().convert("CMYK").save(odd / "cmyk.jpg")
    Image.new("I;16", (20, 20), 40_000).save(odd / "sixteen.png")
    pictures.quarters().convert("P").save(odd / "palette.png", transparency=0)
    pictures.huge_jpeg(odd / "huge.jpg")
    pictures.huge_png(odd / "huge.png")
    whole = (folder / "bottle" / "00001.jpg").read_bytes()
    (odd / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (odd / "text.jpg").write_text("hello")
    (odd / "nothing.jpg").write_bytes(b"")
    (odd / "outside.jpg").symlink_to("/etc/hostname")
    (odd / "notes.txt").write_text("not missed")
    monkeypatch.setattr(rounds, "encoder_for", lambda model: ToyEncoder())
    monkeypatch.setattr(rounds, "factors_for", toy_factors)
    project = projects.create_from_folder(database, name="odd", folder=folder, classes=CLASSES)
    rounds.prepare(database, project)
    with database.read() as s:
        items, problems = repository.items(s, project), repository.problems(s, project)
    assert len(items) == 20 + 5
    assert {problem.path for problem in problems} == {
        f"apple/{name}" for name in ("huge.png", "cut.jpg", "text.jpg", "nothing.jpg", "outside.jpg")
    }
    assert all(problem.reason for problem in problems)
    encoder, store = ToyEncoder(), workspace.feature_store("toy")
    for item in items:
        pixels = encoder.preprocess(read_image(folder / item.path, max_side=1024))
        assert_close(store.load([item.sha256]).activations, encoder.encode_images(pixels[None]).activations)
    upright = next(item for item in items if item.path == "apple/turned.jpg")
    assert (upright.width, upright.height) == turned.size[::-1]


def test_a_round_keeps_its_settings_and_can_be_made_again_from_them(database, project):
    answer(database, project, ranked(database, project, limit=12))
    settings = {"learning": {"finetune": {"head": "both"}, "tau": 3.0, "taus": [3.0]}, "seed": 5}
    row = rounds.run_round(database, project, rounds.RoundConfig(**settings))
    kept = {key: row.settings[key] for key in ("learning", "seed")}
    again = rounds.run_round(database, project, rounds.RoundConfig(**kept))
    first, second = (Posterior.load(home() / each.checkpoint, row.fingerprint) for each in (row, again))
    assert (row.seed, first.image.tau, first.text.tau) == (5, 3.0, 3.0)
    for one, other in ((first.image, second.image), (first.text, second.text)):
        assert torch.equal(one.weight, other.weight)
    made_of = read_made_of(home() / row.checkpoint)
    assert (tuple(made_of["classes"]), made_of["seed"], made_of["round"]) == (CLASSES, 5, row.number)


@pytest.mark.parametrize("wrong", [{"finetune": {"head": "neck"}}, {"tau": -1}, {"colour": "red"}])
def test_settings_that_cannot_be_used_say_so(wrong):
    with pytest.raises(InputError, match="settings of a round"):
        rounds.RoundConfig(learning=wrong)


@pytest.mark.parametrize("n", [1, 5])
def test_a_round_on_answers_of_one_class_is_measured(database, project, n):
    with database.read() as s:
        truth, items = repository.reference(s, project), repository.items(s, project, Split.POOL)
    answer(database, project, [item.id for item in items if truth[item.id] == truth[items[0].id]][:n])
    row = rounds.run_round(database, project)
    assert row.metrics["posterior"]["accuracy"] >= 0
