"""Closed forms against joint draws at the scale of mini on PACS (needs the developers' folder)."""

import pytest
import torch

from core.acquisition.compare import Question, score_pool, spearman
from core.acquisition.sampled import sampled_epig
from core.acquisition.table import Acquisition
from core.config import database_url
from core.projects import find_project
from core.workspace import generator, workspace
from db.session import open_database


@pytest.fixture(scope="module")
def question(pacs_home) -> Question:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENUMBRA_HOME", str(pacs_home))
        patch.delenv("PENUMBRA_DATABASE_URL", raising=False)
        database = open_database(database_url())
        space = workspace(database, find_project(database, "pacs").id)
        database.close()
    step = len(space.features) // 250
    return Question(space.posterior, space.features[::step], space.targets[::8], space.texts, generator(0), 4096)


def correlation(question: Question, one: Acquisition, other: Acquisition) -> float:
    return float(spearman(torch.stack([score_pool(each, question).double() for each in (one, other)]))[0, 1])


def test_closed_forms_rank_as_4096_joint_draws_do(question):
    pairs = {
        Acquisition.EPIG: Acquisition.EPIG_DRAWS,
        Acquisition.BALD: Acquisition.BALD_DRAWS,
        Acquisition.BALD_SATURATING: Acquisition.BALD_DRAWS,
    }
    found = {closed: correlation(question, closed, drawn) for closed, drawn in pairs.items()}
    variance = float(question.logits.variance.median())
    print(f"\nτ = {question.posterior.image.tau:g}, median logit variance {variance:.2f}, {len(question.pool)} images")
    print(", ".join(f"{closed}: {value:.4f}" for closed, value in found.items()))
    assert min(found.values()) >= 0.95
    assert found[Acquisition.BALD_SATURATING] > found[Acquisition.BALD]


def test_the_draws_floor_is_far_below_their_signal(question):
    epig = sampled_epig(question.draws, question.pool, question.targets)
    print(f"\nEPIG {float(epig.scores.mean()):.5f} nats, bias {epig.bias:.6f}, noise {epig.noise:.6f}")
    assert epig.bias < 0.1 * epig.scores.mean()
    assert epig.noise < 0.1 * epig.scores.mean()
