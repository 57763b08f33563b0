"""Doubted answers: judged by models that have not seen them, the planted errors first."""

import pytest
import torch

from core import audit
from core.audit import FOLDS, LEAST, fold_of
from db import repository
from tests.test_atlas import answer

pytestmark = pytest.mark.one_database


def reference(database, project, split=None):
    with database.read() as s:
        stated = repository.reference(s, project)
        items = [item.id for item in repository.items(s, project, split)]
    return [(item, stated[item]) for item in items if item in stated]


def test_folds_are_even_and_keep_copies_together():
    shas = [f"{i:064x}" for i in range(20)] * 2
    fold = fold_of(shas, FOLDS, torch.Generator().manual_seed(0))
    assert fold[:20].tolist() == fold[20:].tolist()
    assert fold.bincount().tolist() == [8] * FOLDS


def test_planted_errors_are_among_the_first(database, project):
    pool = reference(database, project, "pool")[:40]
    wrong = {pool[3][0], pool[17][0]}
    for item, position in pool:
        answer(database, project, [item], (position + 6) % 12 if item in wrong else position)
    found = audit.load(audit.build(database, project))
    assert (found.answers, found.folds) == (40, FOLDS)
    of_pool = [each.item_id for each in found.doubts if each.item_id in {item for item, _ in pool}]
    assert wrong <= set(of_pool[:10])
    chances = [each.probability for each in found.doubts]
    assert chances == sorted(chances)


def test_no_answer_is_judged_by_a_model_that_learned_from_it(database, project, monkeypatch):
    pool = reference(database, project, "pool")[:LEAST]
    for item, position in pool:
        answer(database, project, [item], position)
    seen = []
    learn = audit.learn

    def watched(pretrained, texts, training, *rest, **more):
        seen.append(len(training))
        return learn(pretrained, texts, training, *rest, **more)

    monkeypatch.setattr(audit, "learn", watched)
    audit.build(database, project)
    assert sum(LEAST - each for each in seen) == LEAST
    assert len(seen) == FOLDS


def test_few_answers_are_judged_by_the_pretrained_model(database, project, monkeypatch):
    monkeypatch.setattr(audit, "learn", lambda *_, **more: pytest.fail("learned from too few"))
    item, position = reference(database, project, "pool")[0]
    answer(database, project, [item], position)
    found = audit.load(audit.build(database, project))
    assert (found.answers, found.folds) == (1, 1)
    assert item in {each.item_id for each in found.doubts}


def test_a_new_answer_asks_for_a_new_audit(database, project):
    first = audit.build(database, project)
    answer(database, project, [reference(database, project, "pool")[0][0]])
    assert audit.path_of(database, project) != first


def test_hidden_classes_of_the_pool_are_not_read(database, project):
    """Without answers, only images that measure are judged."""
    found = audit.load(audit.build(database, project))
    with database.read() as s:
        pool = {item.id for item in repository.items(s, project, "pool")}
    assert found.doubts
    assert not pool & {each.item_id for each in found.doubts}
