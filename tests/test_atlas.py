"""The atlas of a small project: what it holds is what ranking and prediction say, and no label or hidden class."""

import numpy as np
import pytest
import torch

from core import atlas
from core.acquisition.table import Acquisition
from core.errors import NotReady
from core.learning import predict
from core.rounds import run_round
from core.workspace import ranker_of, workspace
from db import repository
from db.repository import LabelKind, NewLabel

pytestmark = pytest.mark.one_database


@pytest.fixture
def made(database, project):
    return atlas.load(atlas.build(database, project))


def answer(database, project, items, position=0):
    with database.write() as s:
        ada = repository.person(s, "Ada")
        class_id = repository.project(s, project).classes[position].id
        rows = [NewLabel(f"a:{item}:{position}", item, LabelKind.ANSWER, class_id, source="epig") for item in items]
        assert all(each.accepted for each in repository.record(s, project, ada, rows))


def test_it_holds_every_encoded_image(database, project, made):
    with database.read() as s:
        items = repository.items(s, project)
    assert made.ids.tolist() == [item.id for item in items]
    assert [made.sha256(i) for i in range(len(made))] == [item.sha256 for item in items]
    assert [atlas.SPLITS[each] for each in made.split] == [item.split for item in items]
    assert [made.domains[each] for each in made.domain] == [item.domain for item in items]


def test_its_predictions_are_those_that_are_served(database, project, made):
    with database.read() as s:
        space = workspace(database, project, of=repository.items(s, project))
    probs = predict(space.posterior, space.features, space.texts, space.round.metrics["served"])
    assert made.predicted.tolist() == probs.argmax(dim=1).tolist()
    np.testing.assert_allclose(made.probability, probs.max(dim=1).values, rtol=1e-4)
    with database.read() as s:
        item = repository.items(s, project)[5]
    best, probability = atlas.guesses(database, project, item)[0]
    assert best == made.predicted[5]
    assert probability == pytest.approx(float(made.probability[5]), rel=1e-4)


@pytest.mark.parametrize("score", [Acquisition.EPIG, Acquisition.BALD])
def test_scores_that_answers_change_know_those_of_the_model(database, project, made, score):
    space = workspace(database, project)
    with database.read() as s:
        pool = [item.id for item in repository.items(s, project, "pool")]
    in_pool = np.isin(made.ids, pool)
    np.testing.assert_allclose(made.scores[score][in_pool], ranker_of(space, score).scores(), rtol=1e-3, atol=1e-7)
    assert np.isnan(made.scores[score][~in_pool]).all()
    answer(database, project, pool[:6])
    assert atlas.path_of(database, project) == made.path, "an answer alone changes nothing"
    run_round(database, project)
    after = atlas.load(atlas.build(database, project))
    ranker = ranker_of(workspace(database, project), score)
    ranker.condition(range(6))
    np.testing.assert_allclose(after.scores[score][in_pool], ranker.scores(), rtol=1e-3, atol=1e-7)


def test_the_same_model_over_more_images_is_another_atlas(database, project, made):
    with database.write() as s:
        repository.add_items(s, project, [repository.NewItem("new.jpg", "f" * 64, None, 9, 9, "pool")])
    path = atlas.path_of(database, project)
    assert path != made.path
    assert atlas.build(database, project) == path
    assert len(atlas.load(path)) == len(made), "an image that is not encoded has no place"
    assert not made.path.exists()


def test_positions_leave_out_what_is_not_there(made):
    ids = made.ids.tolist()
    assert made.positions([ids[3], 10**9, ids[0], 0]).tolist() == [3, 0]
    assert made.positions([]).tolist() == []


def test_embeddings_stay_on_the_disk_and_have_length_one(made):
    units = made.units().float()
    torch.testing.assert_close(units.norm(dim=1), torch.ones(len(made)), rtol=2e-3, atol=2e-3)


def test_a_project_without_a_model_has_none(database):
    with database.write() as s:
        empty = repository.create_project(s, name="e", root="/", model="mini", prompt="{class}", classes=("a", "b"))
    with pytest.raises(NotReady, match="no model"):
        atlas.path_of(database, empty)
