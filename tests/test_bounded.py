"""Ranking without the matrix of pairs: the same scores and the same picks as with it, whatever the chunks."""

import pytest
import torch
from torch.testing import assert_close

from core.acquisition.table import Acquisition
from core.bounded import BoundedRanker
from core.kernel import Answers, Kernel, predictive
from core.logits import posterior_logits, probit, whitened
from core.selection import GreedyRanker
from core.values import Features
from tests.small import P_TEXT, generator, random_features, random_posterior
from tests.test_selection import GREEDY, dense, in_float32

N, M, C = 60, 7, 4


@pytest.fixture(scope="module")
def setting():
    """(posterior, pool, targets, texts)"""
    return random_posterior(), random_features(N), random_features(M, seed=3), random_features(C, P_TEXT, seed=4)


def computed(ranker: BoundedRanker) -> list[int]:
    """How many scores each call computes from here on."""
    sizes, compute = [], ranker._compute_some

    def counting(index):
        sizes.append(len(ranker.base.variance[index]))
        compute(index)

    ranker._compute_some = counting
    return sizes


@pytest.mark.parametrize("rows", [1, 7, 59, 2048])
@pytest.mark.parametrize("score", GREEDY)
def test_chunks_change_no_score(setting, rows, score):
    whole, chunked = (GreedyRanker.from_posterior(*setting, score=score, rows=each) for each in (2048, rows))
    assert_close(chunked.scores(), whole.scores())
    assert chunked.pick(9) == whole.pick(9)
    assert_close(chunked.scores(), whole.scores())
    assert_close(chunked.variances(), whole.variances())


@pytest.mark.parametrize("rows", [1, 7, 59, 2048])
@pytest.mark.parametrize("slopes", [True, False])
def test_bounded_scores_are_the_dense_ones(setting, rows, slopes):
    ranker, whole = (
        BoundedRanker.from_posterior(*setting, rows=rows, slopes=slopes),
        GreedyRanker.from_posterior(*setting),
    )
    for answers in ([], [3], [11, 29, 3], [0]):
        ranker.condition(answers)
        whole.condition(answers)
        assert_close(ranker.scores(), whole.scores())
        assert_close(ranker.scores_at([5, 2]), whole.scores()[[5, 2]])
        assert_close(ranker.variances(), whole.variances())
    assert_close(ranker.scores(), dense(setting, [3, 11, 29, 3, 0])[0][Acquisition.EPIG])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("slopes", [True, False])
@pytest.mark.parametrize("columns", [3, 64])
def test_bounded_picks_are_the_dense_ones(seed, slopes, columns):
    setting = (
        random_posterior(seed, tau=1.0),
        random_features(300, seed=seed),
        random_features(M, seed=seed + 50),
        random_features(C, P_TEXT, seed=seed + 90),
    )
    whole = GreedyRanker.from_posterior(*setting)
    ranker = BoundedRanker.from_posterior(*setting, rows=37, slopes=slopes, columns=columns)
    for each in (whole, ranker):
        each.condition([4, 8])
    assert ranker.take(30, exclude=[4, 8]) == [
        (position, pytest.approx(score)) for position, score in whole.take(30, exclude=[4, 8])
    ]


@pytest.mark.parametrize("slopes", [True, False])
def test_no_score_is_over_its_bound(slopes):
    """Where EPIG rises, too: targets that are correlated through the answer alone."""
    setting = random_posterior(tau=0.3), random_features(200), random_features(M, seed=3), random_features(C, P_TEXT)
    ranker, exact = (BoundedRanker.from_posterior(*setting, slopes=slopes) for _ in range(2))
    before, rose = ranker.scores(), False
    for answer in range(12):
        ranker.condition([answer])
        exact.condition([answer])
        bounds, now = ranker._bounds(), exact.scores()
        assert (now <= bounds).all()
        rose |= bool((now > 1.01 * before).any())
    assert rose, "this setting was to show that EPIG may rise"


def test_few_scores_are_computed_again():
    setting = random_posterior(), random_features(3000), random_features(20, seed=3), random_features(C, P_TEXT, seed=4)
    ranker = BoundedRanker.from_posterior(*setting)
    sizes = computed(ranker)
    ranker.pick(1)
    assert sum(sizes) >= 3000
    sizes.clear()
    ranker.pick(10)
    assert sum(sizes) < 10 * 3000 / 3


def test_more_answers_than_inputs_are_held_in_as_many_rows():
    rng = generator()
    rows, precision = torch.randn(40, 5, generator=rng, dtype=torch.float64), torch.rand(40, generator=rng).double()
    answers = Answers(5)
    for part in ([0], range(1, 11), range(11, 40)):
        answers.observe(rows[list(part)], precision[list(part)])
    assert answers.count == 40
    assert len(answers.Z) <= 10
    slow = torch.linalg.inv(torch.eye(5) + rows.T * precision @ rows)  # Woodbury
    assert_close(answers.lower(torch.eye(5)), slow)


def test_a_copy_is_independent(setting):
    ranker = BoundedRanker.from_posterior(*setting)
    ranker.condition([7])
    before = ranker.scores()
    what_if = ranker.copy()
    what_if.condition([1, 2, 3])
    assert torch.equal(ranker.scores(), before)
    ranker.condition([1, 2, 3])
    assert_close(ranker.scores(), what_if.scores())
    assert_close(ranker.fresh().scores(), GreedyRanker.from_posterior(*setting).scores())


def test_broken_features_come_last_and_are_counted(setting):
    posterior, pool, targets, texts = setting
    broken = Features(pool.activations.clone())
    broken.activations[[4, 8]] = torch.nan
    broken_targets = Features(torch.cat([targets.activations, torch.full_like(targets.activations[:1], torch.inf)]))
    ranker = BoundedRanker.from_posterior(posterior, broken, broken_targets, texts, rows=7)
    assert (ranker.non_finite, ranker.base.dropped_targets) == (2, 1)
    ranker.condition([4, 5])
    assert ranker.conditioned == 1
    picks = ranker.pick(N)
    assert len(picks) == N - 2
    assert not {4, 8} & set(picks)


def test_without_targets_nothing_is_gained(setting):
    posterior, pool, _, texts = setting
    none = random_features(1)[:0]
    for ranker in (
        BoundedRanker.from_posterior(posterior, pool, none, texts),
        GreedyRanker.from_posterior(posterior, pool, none, texts),
    ):
        assert torch.equal(ranker.scores(), torch.zeros(N, dtype=torch.float64))


def test_float32_finds_picks_as_good(setting):
    posterior, _, targets, texts = setting
    pool = Features.cat([random_features(40), random_features(40)])  # every image twice: ties
    ranker = BoundedRanker.from_posterior(in_float32(posterior), pool, targets, texts, rho=1e9)
    whole = GreedyRanker.from_posterior(in_float32(posterior), pool, targets, texts, rho=1e9)
    ours, theirs = ranker.take(20), whole.take(20)
    assert_close(torch.tensor([p.score for p in ours]), torch.tensor([p.score for p in theirs]), rtol=0.02, atol=1e-8)


def test_the_kernel_describes_the_pool(setting):
    posterior, pool, _, texts = setting
    kernel = Kernel.of(*setting, rows=7)
    rows = whitened(posterior, pool)
    assert_close(kernel.whiten(slice(0, N)), rows)
    assert_close(kernel.variance, rows.square().sum(dim=1))
    assert_close(kernel.probs, probit(posterior_logits(posterior, pool, texts)))
    assert_close(predictive(posterior, pool, texts, rows=3), kernel.probs)
