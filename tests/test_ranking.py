"""From a posterior to a batch: every score and every way to fill one, in any memory."""

from dataclasses import dataclass

import pytest
import torch
from torch.testing import assert_close

from core.acquisition.entropy import entropy
from core.acquisition.table import SCORES, Acquisition
from core.batches import Limits, NearDuplicates, Quota
from core.bounded import BoundedRanker
from core.logits import posterior_logits, probit, whitened
from core.posterior.laplace import Posterior
from core.ranking import Batch, FixedRanker, draw_targets, make_ranker, near_undecided, outside, take_batch
from core.selection import GreedyRanker
from core.targeting import Metric, neighbours
from core.values import Features
from tests.small import P_TEXT, generator, random_features, random_posterior

N, M, C = 80, 9, 4


@dataclass(frozen=True)
class Scene:
    posterior: Posterior
    features: Features
    targets: Features
    texts: Features


@pytest.fixture(scope="module")
def scene():
    return Scene(random_posterior(), random_features(N), random_features(M, seed=3), random_features(C, P_TEXT, seed=4))


def ranker_of(scene, score=Acquisition.EPIG, memory=10**9):
    parts = scene.posterior, scene.features, scene.targets, scene.texts
    return make_ranker(score, *parts, rng=generator(), memory=memory)


def test_the_memory_decides_how_epig_is_kept_and_not_what_is_picked(scene):
    roomy, tight = ranker_of(scene), ranker_of(scene, memory=3 * N * M * 8)
    assert isinstance(roomy, GreedyRanker)
    assert isinstance(tight, BoundedRanker)
    assert isinstance(ranker_of(scene, Acquisition.BALD, memory=1), GreedyRanker)
    assert_close(tight.scores(), roomy.scores())
    assert tight.pick(20) == roomy.pick(20)


@pytest.mark.parametrize("score", [Acquisition.EPIG, Acquisition.BALD])
@pytest.mark.parametrize("memory", [1, 10**9])
def test_answers_that_the_posterior_was_conditioned_on_count_once(scene, score, memory):
    """κ' = κ − κ_xA (κ_AA + 1/(ω w))⁻¹ κ_Ax with the κ of the curvature alone, J at the refitted predictive."""
    answered = [3, 8, 20, 41]
    head = scene.posterior.image.conditioned_on(scene.features.activations[answered], torch.full((4,), 10.0))
    refitted = Scene(scene.posterior.with_image(head), scene.features, scene.targets, scene.texts)
    ranker = ranker_of(refitted, score, memory)
    ranker.condition(answered)
    rows = whitened(scene.posterior, scene.features)
    kappa = rows @ rows.T
    noisy = kappa[answered][:, answered] + (1 / ranker.base.precision[answered]).diag()
    left = kappa.diagonal() - (kappa[:, answered] @ noisy.inverse() * kappa[:, answered]).sum(dim=1)
    assert_close(ranker.variances(), left)
    assert_close(ranker.base.probs, probit(posterior_logits(refitted.posterior, scene.features, scene.texts)))
    assert (ranker.scores() > 0).all()


@pytest.mark.parametrize("score", [score for score, about in SCORES.items() if about.conditions])
def test_every_greedy_score_hears_the_answers(scene, score):
    """An answer takes most of its own score off, so that its copy is not asked for next."""
    ranker = ranker_of(scene, score)
    before, first = ranker.scores(), ranker.pick(1)
    assert float(ranker.scores_at(first)) < 0.5 * float(before[first])
    assert ranker.pick(1, first) == ranker_of(scene, score).pick(2)[1:]
    assert_close(ranker_of(scene, score).scores(), before)


@pytest.mark.parametrize("score", [Acquisition.ENTROPY, Acquisition.RANDOM])
def test_a_fixed_order_hears_no_answer(scene, score):
    ranker = ranker_of(scene, score)
    before = ranker.pick(10)
    ranker.condition(before)
    assert ranker.fresh().pick(10) == before
    assert_close(ranker.scores_at(before), ranker.scores()[before])


def test_non_finite_scores_are_counted_and_last():
    ranker = FixedRanker(torch.tensor([torch.nan, 1.0, torch.inf, 2.0]))
    assert ranker.non_finite == 2
    assert ranker.pick(2) == [3, 1]


@pytest.mark.parametrize("memory", [1, 10**9])
@pytest.mark.parametrize("batch", list(Batch))
def test_a_batch_has_no_duplicates_and_nothing_excluded(scene, batch, memory):
    rows = torch.cat(
        [scene.features.activations, 1.01 * scene.features.activations]
    )  # every image twice, but for light
    doubled = Scene(scene.posterior, Features(rows), scene.targets, scene.texts)
    ranker, limits = ranker_of(doubled, memory=memory), Limits(near=NearDuplicates(doubled.features, 0.9999))
    picks = take_batch(batch, ranker, doubled, 12, rng=generator(), exclude=[0, 1, 2], limits=limits)
    positions = [pick.position for pick in picks]
    assert len({position % N for position in positions}) == len(positions)
    assert len(positions) == 12 or batch is Batch.QUOTA
    assert not {0, 1, 2} & set(positions)


def test_the_greedy_batch_is_the_rankers(scene):
    picks = take_batch(Batch.GREEDY, ranker_of(scene), scene, 7, rng=generator())
    assert picks == ranker_of(scene).take(7)


def test_a_quota_batch_has_no_class_over_its_share(scene):
    picks = take_batch(Batch.QUOTA, ranker_of(scene), scene, 10, rng=generator())
    likeliest = probit(posterior_logits(scene.posterior, scene.features, scene.texts)).argmax(dim=1)
    assert likeliest[[pick.position for pick in picks]].bincount().max() <= 3


def test_a_quota_adds_to_other_limits(scene):
    limits = Limits((Quota(torch.zeros(N, dtype=torch.int64), limit=4),))
    assert len(take_batch(Batch.QUOTA, ranker_of(scene), scene, 10, rng=generator(), limits=limits)) == 4


def test_a_power_batch_repeats_by_seed_and_sharpens_with_beta(scene):
    ranker = ranker_of(scene)
    first, again = (take_batch(Batch.POWER, ranker, scene, 10, rng=generator(5)) for _ in range(2))
    assert first == again
    sharp = take_batch(Batch.POWER, ranker, scene, 10, rng=generator(5), beta=500.0)
    assert {p.position for p in sharp} == set(ranker.scores().topk(10).indices.tolist())


@pytest.mark.parametrize("metric", list(Metric))
def test_the_most_undecided_targets_take_their_neighbours(scene, metric):
    undecided = entropy(probit(posterior_logits(scene.posterior, scene.targets, scene.texts)))
    order = undecided.argsort(descending=True)
    head = scene.posterior.image
    nearest = neighbours(head.embed(scene.features), head.embed(scene.targets[order[:3]]), 1, metric)[:, 0].tolist()
    picks = near_undecided(scene, 3, metric)
    assert picks[0].position == nearest[0]
    assert picks[0].score == pytest.approx(float(undecided[order[0]]))
    assert set(nearest) <= {pick.position for pick in picks}
    assert len({pick.position for pick in picks}) == 3


@pytest.mark.parametrize("metric", list(Metric))
def test_neighbours_end_with_the_pool(scene, metric):
    picks = near_undecided(scene, 1000, metric, exclude=range(30))
    assert sorted(pick.position for pick in picks) == list(range(30, N))


@pytest.mark.parametrize("metric", list(Metric))
def test_narrowing_by_parts_is_narrowing_whole(scene, metric, monkeypatch):
    monkeypatch.setattr("core.ranking.NEIGHBOURS", 2)
    whole = outside(scene.posterior, scene.features, scene.targets, metric)
    monkeypatch.setattr("core.ranking.ROWS", 7)
    assert outside(scene.posterior, scene.features, scene.targets, metric) == whole
    assert N - 2 * M <= len(whole) < N
    assert outside(scene.posterior, scene.features, scene.targets, None) == []


def test_targets_are_drawn_by_seed_in_their_order():
    drawn = draw_targets(range(100, 200), generator(1), n=10)
    assert drawn == sorted(drawn) == draw_targets(range(100, 200), generator(1), n=10)
    assert draw_targets([4, 2], generator()) == [4, 2]
