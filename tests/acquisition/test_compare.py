"""Every score in one table, rank correlation with ties, and posteriors that know everything."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from core.acquisition.compare import SCORERS, Question, average_ranks, score_pool, scores_of, spearman
from core.acquisition.table import QUICK, SCORES, Acquisition
from core.errors import InputError
from core.ranking import make_ranker
from core.values import Features
from tests.small import P_TEXT, generator, normal, random_features, random_posterior

POOL = replace(random_features(9), log_variance=random_features(9, 6, seed=5).activations)
TARGETS, TEXTS = random_features(4, seed=9), random_features(3, P_TEXT, seed=2)


def question(pool: Features = POOL, **options) -> Question:
    return Question(random_posterior(**options), pool, TARGETS, TEXTS, generator(), 200)


def test_every_score_can_be_had():
    assert set(SCORERS) == set(Acquisition)
    assert set(QUICK) == {score for score in Acquisition if not SCORES[score].sampled and not SCORES[score].own}
    assert scores_of(POOL) == list(Acquisition)
    asked = question()
    assert {tuple(score_pool(score, asked).shape) for score in Acquisition} == {(9,)}


@pytest.mark.parametrize("score", list(Acquisition))
def test_a_ranker_of_any_score_begins_with_the_best(score):
    posterior = random_posterior()
    ranker = make_ranker(score, posterior, POOL, TARGETS, TEXTS, rng=generator())
    expected = score_pool(score, Question(posterior, POOL, TARGETS, TEXTS, generator()))
    assert ranker.pick(1) == [int(expected.argmax())]


@pytest.mark.parametrize("score", [each for each in Acquisition if each != Acquisition.RANDOM])
def test_an_image_with_broken_features_has_no_score_and_spoils_no_other(score):
    broken = Features(**{name: part.clone() for name, part in POOL.parts().items()})
    for part in broken.parts().values():
        part[3] = float("nan")
    scores, whole = score_pool(score, question(broken)), score_pool(score, question())
    assert not scores[3].isfinite()
    others = [i for i in range(9) if i != 3]
    assert_close(scores[others], whole[others])


def test_the_encoders_own_uncertainty_is_its_variances_sum_whatever_is_asked():
    expected = torch.tensor([sum(float(v.exp()) for v in row) for row in POOL.log_variance], dtype=torch.float64)
    assert_close(score_pool(Acquisition.OWN_UNCERTAINTY, question()), expected)


def test_an_encoder_without_an_own_uncertainty_says_so():
    plain = random_features(9)
    assert set(Acquisition) - set(scores_of(plain)) == {Acquisition.OWN_UNCERTAINTY}
    with pytest.raises(InputError, match="ProLIP"):
        score_pool(Acquisition.OWN_UNCERTAINTY, question(plain))


INFORMATIVE = (Acquisition.EPIG, Acquisition.BALD, Acquisition.BALD_SATURATING, Acquisition.VARIANCE)
SAMPLED = (Acquisition.EPIG_DRAWS, Acquisition.BALD_DRAWS)


@pytest.mark.parametrize("score", [*INFORMATIVE, *SAMPLED])
def test_a_posterior_without_variance_has_nothing_to_learn(score):
    assert score_pool(score, question(tau=1e16)).abs().max() < 1e-5


@pytest.mark.parametrize("with_text", [False, True])
def test_the_text_heads_doubt_is_an_option_of_the_draws(with_text):
    asked = Question(random_posterior(), POOL, TARGETS, TEXTS, generator(), 300, with_text)
    assert asked.draws.with_text is with_text
    assert score_pool(Acquisition.BALD_DRAWS, asked).isfinite().all()


CLOSED_AND_DRAWN = {
    Acquisition.EPIG: Acquisition.EPIG_DRAWS,
    Acquisition.BALD: Acquisition.BALD_DRAWS,
    Acquisition.BALD_SATURATING: Acquisition.BALD_DRAWS,
}


@pytest.mark.parametrize("closed", list(CLOSED_AND_DRAWN))
def test_closed_forms_meet_joint_draws_as_the_covariance_shrinks(closed):
    """Mean relative error over 6 images at four scales; the draws' own noise is under 3 % of the smallest score."""
    errors = []
    for tau in (1.0, 10.0, 100.0, 1000.0):
        posterior = random_posterior(tau=tau, scale=2.0)
        asked = Question(posterior, POOL[:6], TARGETS[:3], TEXTS, generator(5), 100_000)
        exact, drawn = score_pool(closed, asked), score_pool(CLOSED_AND_DRAWN[closed], asked)
        large = drawn > 0.01 * drawn.max()
        errors.append(float((exact / drawn - 1)[large].abs().mean()))
    print(f"\n{closed}: relative error {', '.join(f'{error:.3f}' for error in errors)} at τ = 1, 10, 100, 1000")
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.1
    assert errors[-1] < errors[0] / 5


def test_ranks_share_ties_and_put_the_non_finite_lowest():
    scores = torch.tensor([3.0, 1.0, 3.0, float("nan"), 2.0])
    assert_close(average_ranks(scores), torch.tensor([3.5, 1.0, 3.5, 0.0, 2.0]))


def test_rank_correlation_is_scipys():
    stats = pytest.importorskip("scipy.stats")
    scores = normal(4, 30, rng=generator())
    scores[1] = scores[0].exp()  # another scale, the same order
    scores[2] = scores[2].round()  # ties
    assert_close(spearman(scores), torch.tensor(stats.spearmanr(scores.numpy().T).statistic))
    assert float(spearman(scores)[0, 1]) == pytest.approx(1.0)
