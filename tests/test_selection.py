"""Greedy ranking: against the dense Gaussian conditioning formula, in any order, without labels."""

import inspect

import pytest
import torch
from torch.testing import assert_close

from core.acquisition.bald import bald, bald_saturating
from core.acquisition.epig import epig
from core.acquisition.table import SCORES, Acquisition
from core.batches import count_non_finite, power_order, rank
from core.errors import UnknownName
from core.logits import class_covariance, posterior_logits, probit, whitened
from core.posterior.laplace import Posterior, fit_head
from core.selection import GreedyRanker
from core.values import Features
from tests.small import P_TEXT, generator, random_features, random_posterior

N, M, C = 30, 7, 4
GREEDY = [score for score, about in SCORES.items() if about.conditions]


@pytest.fixture(scope="module")
def setting():
    """(posterior, pool, targets, texts)"""
    return random_posterior(), random_features(N), random_features(M, seed=3), random_features(C, P_TEXT, seed=4)


def dense(setting, answered, rho=10.0):
    """Each score, and κ'(x, x), with the whole kernel conditioned on each answer by the textbook formula."""
    posterior, pool, targets, texts = setting
    N, C = len(pool), len(texts)
    both = Features.cat([pool, targets])
    rows, S = whitened(posterior, both), class_covariance(posterior, texts)
    probs = probit(posterior_logits(posterior, both, texts))
    kernel = rows @ rows.T
    weights = torch.stack([torch.trace((p.diag() - torch.outer(p, p)) @ S) for p in probs]) / (C - 1)
    omega = rho / (kernel.diagonal() * weights)[:N].median()
    for i in answered:
        noise = 1 / (omega * weights[i])
        kernel = kernel - torch.outer(kernel[:, i], kernel[i]) / (kernel[i, i] + noise)
    variances = kernel.diagonal()[:N]
    scores = {
        Acquisition.EPIG: epig(kernel[:N, N:], probs[:N], probs[N:], S),
        Acquisition.BALD: bald(variances, probs[:N], S),
        Acquisition.BALD_SATURATING: bald_saturating(variances, probs[:N], S),
    }
    return scores, variances


@pytest.mark.parametrize("answered", [[], [3], [3, 11, 29], [29, 3, 11], [5, 5, 0]])
def test_conditioned_scores_are_the_dense_formula(setting, answered):
    expected, variances = dense(setting, answered)
    for score in GREEDY:
        ranker = GreedyRanker.from_posterior(*setting, score=score)
        for position in answered:
            ranker.condition([position])
        assert ranker.conditioned == len(answered)
        assert_close(ranker.scores(), expected[score])
        assert_close(ranker.variances(), variances)


@pytest.mark.parametrize("rho", [1.0, 100.0])
def test_rho_is_the_median_signal_to_noise(setting, rho):
    ranker = GreedyRanker.from_posterior(*setting, rho=rho)
    assert_close((ranker.base.variance * ranker.base.precision).median(), torch.tensor(rho, dtype=torch.float64))
    ranker.condition([2, 9])
    assert_close(ranker.scores(), dense(setting, [2, 9], rho)[0][Acquisition.EPIG])


def test_one_call_or_many_make_no_difference(setting):
    together = GreedyRanker.from_posterior(*setting)
    apart = together.fresh()
    together.condition([1, 4, 8, 20])
    for part in ([20], [8, 1], [4]):
        apart.condition(part)
    assert_close(together.scores(), apart.scores())
    assert_close(together.variances(), apart.variances())


@pytest.mark.parametrize("score", GREEDY)
def test_picks_are_greedy_under_the_dense_formula(setting, score):
    picks = GreedyRanker.from_posterior(*setting, score=score).pick(6)
    for taken, pick in enumerate(picks):
        scores = dense(setting, picks[:taken])[0][score]
        scores[picks[:taken]] = -1
        assert pick == int(scores.argmax())


def test_picking_continues_from_the_answers(setting):
    whole = GreedyRanker.from_posterior(*setting)
    first = whole.pick(3)
    again = whole.fresh()
    again.condition(first)
    assert again.pick(4, exclude=first) == whole.pick(4, exclude=first)


def test_picks_avoid_the_excluded_and_end_with_the_pool(setting):
    ranker = GreedyRanker.from_posterior(*setting)
    picks = ranker.pick(N + 5, exclude=range(10))
    assert sorted(picks) == list(range(10, N))


def test_an_answer_never_adds_information(setting):
    for score in GREEDY:
        ranker = GreedyRanker.from_posterior(*setting, score=score)
        before = ranker.variances(), ranker.scores().sum()
        ranker.condition([0, 1, 2])
        assert (ranker.variances() <= before[0] + 1e-12).all()
        assert 0 <= ranker.scores().sum() <= before[1]


@pytest.mark.parametrize("score", GREEDY)
def test_a_copy_is_independent_and_shares_the_base(setting, score):
    ranker = GreedyRanker.from_posterior(*setting, score=score)
    ranker.condition([7])
    before = ranker.scores()
    what_if = ranker.copy()
    assert what_if.base is ranker.base
    what_if.condition([1, 2, 3])
    assert torch.equal(ranker.scores(), before)
    ranker.condition([1, 2, 3])
    assert_close(ranker.scores(), what_if.scores())


@pytest.mark.parametrize("score", GREEDY)
def test_fresh_forgets_the_answers(setting, score):
    ranker = GreedyRanker.from_posterior(*setting, score=score)
    before = ranker.scores()
    ranker.condition([7])
    assert torch.equal(ranker.fresh().scores(), before)


def test_duplicates_are_not_both_picked(setting):
    posterior, pool, targets, texts = setting
    doubled = Features.cat([pool, pool])
    picks = GreedyRanker.from_posterior(posterior, doubled, targets, texts, rho=1e6).pick(5)
    assert len({pick % N for pick in picks}) == 5


def test_without_variance_nothing_is_worth_asking(setting):
    posterior, pool, targets, texts = setting
    head = posterior.image
    certain = posterior.with_image(fit_head(head.weight, head.factors, head.tau, prior_precision=1e24))
    for score in GREEDY:
        scores = GreedyRanker.from_posterior(certain, pool, targets, texts, score=score).scores()
        assert 0 <= scores.min() <= scores.max() < 1e-5


def test_broken_features_come_last_and_disturb_no_one(setting):
    posterior, pool, targets, texts = setting
    broken_pool = Features(pool.activations.clone())
    broken_pool.activations[[4, 8]] = torch.nan
    broken_targets = Features(torch.cat([targets.activations, torch.full_like(targets.activations[:1], torch.inf)]))
    ranker = GreedyRanker.from_posterior(posterior, broken_pool, broken_targets, texts)
    assert (ranker.non_finite, ranker.base.dropped_targets) == (2, 1)
    ranker.condition([4, 5])
    assert ranker.conditioned == 1
    assert ranker.non_finite == 2
    assert set(rank(ranker.scores())[-2:].tolist()) == {4, 8}
    assert not {4, 8} & set(ranker.pick(N))


def test_only_features_come_in_and_never_labels():
    assert list(inspect.signature(GreedyRanker.from_posterior).parameters) == [
        "posterior", "pool", "targets", "texts", "score", "rho", "rows",
    ]  # fmt: skip
    assert list(inspect.signature(GreedyRanker.condition).parameters) == ["self", "indices"]


@pytest.mark.parametrize("score", [Acquisition.ENTROPY, Acquisition.RANDOM])
def test_scores_that_answers_do_not_change_are_refused(setting, score):
    with pytest.raises(UnknownName, match="does not change with answers"):
        GreedyRanker.from_posterior(*setting, score=score)


def in_float32(posterior: Posterior) -> Posterior:
    heads = [
        fit_head(head.weight.float(), head.factors, head.tau, head.prior_precision)
        for head in (posterior.image, posterior.text)
    ]
    return Posterior(*heads, posterior.scale, posterior.bias, "float32")


def test_float32_stays_near_float64_after_many_answers(setting):
    posterior, pool, targets, texts = setting
    narrow = in_float32(posterior)
    wide, single = (GreedyRanker.from_posterior(p, pool, targets, texts) for p in (posterior, narrow))
    for position in range(0, N, 2):
        wide.condition([position])
        single.condition([position])
    assert single.scores().dtype == torch.float32
    assert_close(single.scores().double(), wide.scores(), atol=1e-6 * float(wide.fresh().scores().max()), rtol=0.02)


def test_float32_survives_labels_without_noise(setting):
    posterior, pool, targets, texts = setting
    ranker = GreedyRanker.from_posterior(in_float32(posterior), Features.cat([pool] * 20), targets, texts, rho=1e9)
    ranker.condition(range(300))
    assert len(ranker.pick(60)) == 60
    assert ranker.non_finite == 0


def test_rank_puts_the_highest_first_and_the_broken_last():
    scores = torch.tensor([0.1, torch.nan, 0.5, torch.inf, 0.5, -torch.inf])
    assert rank(scores).tolist()[:3] == [2, 4, 0]
    assert count_non_finite(scores) == 3


def test_power_sampling_prefers_high_scores_and_repeats_by_seed():
    scores = torch.tensor([0.0, 1.0, 4.0, torch.nan, 2.0])
    firsts = torch.tensor([power_order(scores, 1.0, generator(seed))[0] for seed in range(700)])
    counts = torch.bincount(firsts, minlength=5) / 700
    assert_close(counts, torch.tensor([0, 1 / 7, 4 / 7, 0, 2 / 7]), atol=0.06, rtol=0)
    assert power_order(scores, 1.0, generator(3)) == power_order(scores, 1.0, generator(3))
    assert sorted(power_order(scores, 1.0, generator(3))) == [1, 2, 4]
