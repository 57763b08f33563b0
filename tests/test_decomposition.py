"""The two parts of a prediction's doubt sum to the whole, in nats and as variances."""

from torch.testing import assert_close

from core import decomposition
from core.acquisition.entropy import entropy
from core.decomposition import decompose, split
from core.draws import draw_heads
from core.posterior.laplace import Posterior
from tests.small import P_TEXT, generator, normal, random_features, random_posterior

PROBS = (2 * normal(6, 40, 4, rng=generator())).softmax(dim=2)


def test_in_nats_they_are_expected_entropy_and_mutual_information():
    parts = split(PROBS)
    assert_close(parts.aleatoric + parts.epistemic, entropy(parts.probs))
    for probs, epistemic in zip(PROBS, parts.epistemic, strict=True):
        mean = probs.mean(dim=0)
        assert_close(epistemic, (probs * (probs / mean).log()).sum(dim=1).mean())  # mean KL to the predictive


def test_as_variances_they_sum_to_that_of_a_label_drawn_from_the_predictive():
    parts = split(PROBS)
    total = (parts.probs * (1 - parts.probs)).sum(dim=1)
    assert_close(parts.aleatoric_variance + parts.epistemic_variance, total)
    assert (parts.epistemic_variance > 0).all()


def test_draws_that_agree_leave_only_ambiguity():
    parts = split(PROBS[:, :1].expand(6, 8, 4))
    assert parts.epistemic.max() < 1e-12
    assert parts.epistemic_variance.max() < 1e-12
    assert_close(parts.aleatoric, entropy(PROBS[:, 0]))


def test_chunks_of_images_change_nothing(monkeypatch):
    posterior: Posterior = random_posterior()
    images, texts = random_features(5), random_features(3, P_TEXT)
    draws = draw_heads(posterior, texts, 6, generator(), with_text=True)
    whole = decompose(draws, images)
    monkeypatch.setattr(decomposition, "HELD", 2 * 6 * 3)
    assert_close(decompose(draws, images).epistemic, whole.epistemic)
