"""A project with a small ProLIP: curvature, posterior, ranking and fine-tuning as with any encoder, and its own doubt.

Axes: N images.
"""

from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from core import projects, rounds, workspace
from core.acquisition.table import Acquisition
from core.comparison import compare_scores
from core.curvatures import estimate_curvature
from core.errors import InputError
from core.images import read_image
from core.posterior.laplace import Posterior
from core.queue import MEASURE, orders, queue_for
from db import repository
from tests.encoders.words import tiny_encoder
from tests.test_rounds import answer
from tests.toy import CLASSES, draw


@pytest.fixture
def encoder(tmp_path):
    return tiny_encoder(tmp_path / "words")


@pytest.fixture
def prolip(database, tmp_path, monkeypatch, encoder) -> int:
    """48 drawn images, read by the official tiny weights, whose curvature comes from the images and their names."""
    for number in range(48):
        draw(tmp_path / "images", number, side=64)
    names = [f"{CLASSES[i % 12]}/{i:05d}.jpg,a photo of a {CLASSES[i % 12]}" for i in range(48)]
    (tmp_path / "images" / "captions.csv").write_text("\n".join(["file_name,caption", *names]))
    monkeypatch.setattr(rounds, "encoder_for", lambda model: encoder)
    estimate_curvature("tiny", encoder, [tmp_path / "images"])
    project = projects.create_from_folder(database, name="p", folder=tmp_path / "images", classes=CLASSES, model="tiny")
    rounds.prepare(database, project)
    return project


def test_the_engine_works_on_it_and_its_own_uncertainty_stands_beside(database, prolip, encoder):
    ranking = workspace.rank(database, prolip, limit=10)
    assert ranking.non_finite == 0
    assert ranking.items[0].score > 0
    space = workspace.workspace(database, prolip)
    paths = {item.id: Path(space.project.root, item.path) for item in space.pool}
    for item in ranking:
        [doubt] = encoder.encode_gaussians(encoder.preprocess(read_image(paths[item.id]))[None]).uncertainty
        assert item.own_uncertainty == pytest.approx(float(doubt), rel=1e-4)

    before = workspace.rank(database, prolip, score=Acquisition.VARIANCE, limit=100).items
    answer(database, prolip, [item.id for item in ranking])
    learned = rounds.run_round(database, prolip)
    after = Posterior.load(rounds.home() / learned.checkpoint)
    assert learned.labels == 10
    assert not torch.equal(after.image.weight, encoder.heads.image)
    left = workspace.rank(database, prolip, score=Acquisition.VARIANCE, limit=100).items
    assert len(left) == len(before) - 10


def test_the_pool_is_ranked_by_the_encoders_own_uncertainty(database, prolip):
    ranked = workspace.rank(database, prolip, score=Acquisition.OWN_UNCERTAINTY, limit=1000).items
    scores = [item.score for item in ranked]
    assert scores == sorted(scores, reverse=True)
    assert_close(torch.tensor(scores), torch.tensor([item.own_uncertainty for item in ranked]))
    served = queue_for(database, prolip, "own-uncertainty").serve(person(database), 3)
    assert served[0].item_id == ranked[0].id  # to a random encoder the next ones can be near duplicates, which wait


def person(database) -> int:
    with database.write() as s:
        return repository.person(s, "Ada")


def test_it_is_offered_and_compared_where_the_encoder_has_it(database, prolip):
    assert "own-uncertainty" in orders(database, prolip)
    found = compare_scores(database, prolip, images=10, targets=5, draws=16)
    assert "own-uncertainty" in [line.score for line in found.lines]
    assert found.values.shape == (len(found.lines), 10)


def test_it_is_neither_where_the_encoder_has_none(database, project):
    assert "own-uncertainty" not in orders(database, project)
    assert {"epig", "bald"} <= set(orders(database, project)) <= {*Acquisition, MEASURE}
    lines = compare_scores(database, project, images=10, targets=5, draws=16).lines
    assert "own-uncertainty" not in [line.score for line in lines]
    assert workspace.rank(database, project, limit=1).items[0].own_uncertainty is None
    with pytest.raises(InputError, match="ProLIP"):
        workspace.rank(database, project, score=Acquisition.OWN_UNCERTAINTY)
