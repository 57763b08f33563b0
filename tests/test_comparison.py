"""Scores of a small project's own pool side by side."""

import json

import pytest
import torch
from sqlalchemy import select, update

from core.acquisition.table import SCORES, Acquisition
from core.comparison import compare_scores, summary
from core.errors import NotReady
from db import repository
from db.models import Reference
from db.repository import LabelKind, NewLabel, Split
from db.session import open_database
from tests.toy import make_project

SMALL = {"images": 20, "targets": 8, "draws": 128}


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("PENUMBRA_HOME", str(tmp_path / "home"))
    database = open_database(f"sqlite:///{tmp_path / 'penumbra.sqlite'}")
    yield database, make_project(database, tmp_path / "images", 60, "p", monkeypatch)
    database.close()


def answer(database, project_id: int, items) -> None:
    with database.write() as s:
        person, classes = repository.person(s, "Ada"), repository.project(s, project_id).classes
        events = [NewLabel(str(each), each, LabelKind.ANSWER, classes[0].id, source="test") for each in items]
        repository.record(s, project_id, person, events)


def test_every_score_has_its_line_values_and_correlations(project):
    found = compare_scores(*project, **SMALL, seed=3)
    expected = [str(score) for score in Acquisition if not SCORES[score].own]  # its encoder has no uncertainty
    assert [line.score for line in found.lines] == expected
    assert found.values.shape == (len(expected), 20)
    assert len(found.items) == found.images == 20
    assert (found.targets, found.draws, found.seed) == (8, 128, 3)
    correlation = torch.tensor(found.correlation)
    assert torch.allclose(correlation, correlation.T)
    assert torch.allclose(correlation.diagonal(), torch.ones(len(expected)))
    sampled = {line.score for line in found.lines if line.noise is not None}
    assert sampled == {"epig-draws", "bald-draws"}


def test_the_same_seed_gives_the_same_scores(project):
    one, other, third = (compare_scores(*project, **SMALL, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one.values, other.values)
    assert one.items == other.items
    assert one.items != third.items


def test_answered_images_are_left_out(project):
    before = compare_scores(*project, **SMALL | {"images": 1000})
    answered = [item.id for item in before.items[:4]]
    answer(*project, answered)
    after = compare_scores(*project, **SMALL | {"images": 1000})
    assert after.images == after.pool == before.images - 4
    assert not {item.id for item in after.items} & set(answered)


def test_no_hidden_label_is_read(project):
    database, project_id = project
    before = compare_scores(*project, **SMALL)
    with database.write() as s:
        classes = [each.id for each in repository.project(s, project_id).classes]
        pool = {item.id for item in repository.items(s, project_id, Split.POOL)}
        for item in pool & set(s.scalars(select(Reference.item_id))):
            s.execute(update(Reference).where(Reference.item_id == item).values(class_id=classes[item % 3]))
    assert torch.equal(compare_scores(*project, **SMALL).values, before.values)


def test_a_pool_that_is_used_up_says_so(project):
    everything = [item.id for item in compare_scores(*project, **SMALL | {"images": 1000}).items]
    answer(*project, everything[1:])
    with pytest.raises(NotReady, match="1 unanswered images are left"):
        compare_scores(*project, **SMALL)


def test_the_summary_is_one_json_document(project):
    found = json.loads(json.dumps(summary(compare_scores(*project, **SMALL)), allow_nan=False))
    assert found["correlation"][0]["spearman"] == "epig"
    assert found["scores"][0]["non_finite"] == 0
    assert "items" not in found
