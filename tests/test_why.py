"""Why this image? On drawn images: the terms of the queue's own score, and no class but those that people answered."""

from dataclasses import asdict

import pytest
import torch

from core import workspace
from core.errors import UnknownName
from core.queue import queue_for
from core.selection import GreedyRanker
from core.why import Explainer, why
from db import repository
from db.repository import LabelKind, NewLabel

pytestmark = pytest.mark.one_database


@pytest.fixture
def person(database, project):
    with database.write() as s:
        return repository.person(s, "Ada")


def answer(queue, person, cards, kind=LabelKind.ANSWER):
    events = [
        NewLabel(f"{kind}:{card.item_id}", card.item_id, kind, card.guesses[i % 5].class_id, source="epig")
        for i, card in enumerate(cards)
    ]
    assert all(each.accepted for each in queue.apply(person, events))


def test_the_terms_of_each_card_sum_to_the_score_it_was_picked_with(database, project, person):
    queue = queue_for(database, project, "epig")
    answer(queue, person, queue.serve(person, 8))
    cards = queue.serve(person, 12)
    reasons = [queue.why(card.item_id) for card in cards]
    assert [each.epig for each in reasons] == pytest.approx([card.score for card in cards], rel=1e-3)
    again = [queue.why(card.item_id) for card in reversed(cards)]  # the question before makes no difference
    for one, other in zip(reversed(again), reasons, strict=True):
        assert one.epig == pytest.approx(other.epig, rel=1e-6)


def test_the_targets_shown_have_the_largest_shares_and_are_other_images(database, project, person):
    space = workspace.workspace(database, project)
    targets = list(space.towards)
    assert torch.equal(space.features[targets].activations, space.targets.activations)
    queue = queue_for(database, project, "epig")
    card = queue.serve(person, 1)[0]
    found = queue.why(card.item_id)
    assert len(found.sharpens) == 5
    assert card.item_id not in {each.item_id for each in found.sharpens}
    kernel = GreedyRanker.from_posterior(space.posterior, space.features, space.targets, space.texts).base
    position = [item.id for item in space.pool].index(card.item_id)
    kappa = kernel.whiten(torch.tensor([position])) @ kernel.target_rows.T
    terms = (kappa * kernel.pair_weight(torch.tensor([position])))[0].square()
    shares = {space.pool[target].id: float(terms[i] / terms.sum()) for i, target in enumerate(targets)}
    assert found.itself == pytest.approx(shares.pop(card.item_id, 0.0), rel=1e-4)
    largest = sorted(shares, key=shares.get, reverse=True)[:5]
    assert [each.item_id for each in found.sharpens] == largest
    assert [each.share for each in found.sharpens] == pytest.approx([shares[i] for i in largest], rel=1e-4)
    assert sum(each.nats for each in found.sharpens) == pytest.approx(
        found.epig * sum(each.share for each in found.sharpens), rel=1e-6
    )


def test_the_nearest_are_answered_images_with_the_class_that_was_answered(database, project, person):
    queue = queue_for(database, project, "epig")
    skipped, *answered = queue.serve(person, 7)
    answer(queue, person, [skipped], LabelKind.SKIP)
    answer(queue, person, answered)
    card = queue.serve(person, 1)[0]
    given = {each.item_id: each.guesses[i % 5].name for i, each in enumerate(answered)}
    nearest = queue.why(card.item_id).nearest
    assert len(nearest) == 3
    assert all(given[each.item_id] == each.class_name for each in nearest)
    assert [each.cosine for each in nearest] == sorted((each.cosine for each in nearest), reverse=True)


def test_without_an_answer_nothing_is_near_and_no_class_is_named(database, project, person):
    queue = queue_for(database, project, "epig")
    found = queue.why(queue.serve(person, 1)[0].item_id)
    assert found.nearest == ()
    assert "class_name" not in asdict(found)["sharpens"][0]


@pytest.mark.parametrize("source", ["bald", "entropy", "random"])
def test_every_order_has_the_same_reasons(database, project, person, source):
    item = queue_for(database, project, source).serve(person, 1)[0].item_id
    found, of_epig = queue_for(database, project, source).why(item), queue_for(database, project, "epig").why(item)
    assert found.epig == pytest.approx(of_epig.epig, rel=1e-6)
    assert [each.item_id for each in found.sharpens] == [each.item_id for each in of_epig.sharpens]


def test_the_reasons_for_an_image_by_its_path_are_those_given_all_answers(database, project, person):
    queue = queue_for(database, project, "epig")
    answer(queue, person, queue.serve(person, 6))
    with database.write() as s:
        repository.release(s, project, person)
    ranked = workspace.rank(database, project, limit=1).items[0]
    belief, reasons = why(database, project, ranked.path)
    assert reasons.epig == pytest.approx(ranked.score, rel=1e-3)
    assert 0 <= belief.epistemic_share <= 1
    assert all(guess.low <= guess.probability <= guess.high for guess in belief.guesses[:1])
    with database.read() as s:
        root = repository.project(s, project).root
        measured = repository.items(s, project, "test")[0].path
    assert why(database, project, f"{root}/{ranked.path}")[1] == reasons
    for path in ("nowhere.jpg", measured):
        with pytest.raises(UnknownName, match="as `rank` prints it"):
            why(database, project, path)


def test_an_image_whose_features_are_broken_has_no_reasons(database, project):
    space = workspace.workspace(database, project)
    space.features[0:1].activations.fill_(torch.nan)  # a view of what the workspace holds
    assert space.features[0:1].activations.isnan().all()
    found = Explainer(space).explain(0, [1, 2], {1: "apple"})
    assert (found.sharpens, found.nearest) == ((), ())
