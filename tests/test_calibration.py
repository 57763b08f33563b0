"""Temperature scaling finds the convex optimum; the table holds what it says."""

import pytest
import torch
from torch.testing import assert_close

from core.calibration import HOTTEST, Predictive, augmented, certain_logits, compare, fit_temperature, with_best_tau
from core.choice import predict
from core.finetune import Labelled
from core.metrics import nlpd
from tests.small import P_TEXT, generator, normal, random_features, random_posterior

TEXTS = random_features(3, P_TEXT, seed=2)


def loss(logits, labels, temperature: float) -> float:
    return nlpd((logits / temperature).softmax(dim=1), labels).value


def sampled_labels(logits) -> torch.Tensor:
    return torch.multinomial(logits.softmax(dim=1), 1, generator=generator(1))[:, 0]


@pytest.mark.parametrize("sharpened", [0.2, 1.0, 7.0])
def test_a_temperature_undoes_what_sharpened_the_logits(sharpened):
    logits = 2 * normal(40_000, 4, rng=generator())
    assert fit_temperature(sharpened * logits, sampled_labels(logits)) == pytest.approx(sharpened, rel=0.03)


def test_no_temperature_of_a_fine_grid_is_better():
    logits = 3 * normal(60, 5, rng=generator(3))
    labels = torch.randint(5, (60,), generator=generator(4))
    found = loss(logits, labels, fit_temperature(logits, labels))
    assert found <= min(loss(logits, labels, float(T)) for T in torch.logspace(-2, 2, 2001)) + 1e-9


def test_a_common_shift_and_the_order_of_images_do_not_matter():
    logits, labels = normal(30, 3, rng=generator()), torch.randint(3, (30,), generator=generator(1))
    shifted = (logits + 1000 * normal(30, 1, rng=generator(2))).flip(0)
    assert fit_temperature(shifted, labels.flip(0)) == pytest.approx(fit_temperature(logits, labels), rel=1e-6)


def test_it_ends_where_there_is_no_optimum():
    logits = torch.eye(3)
    assert fit_temperature(logits, torch.arange(3)) == pytest.approx(1 / HOTTEST)
    assert fit_temperature(logits, torch.tensor([1, 2, 0])) == pytest.approx(HOTTEST)
    with pytest.raises(ValueError, match="give one label a row"):
        fit_temperature(logits[:0], torch.arange(0))


def test_augmentation_averages_probabilities_not_logits():
    posterior = random_posterior()
    views = [random_features(4, seed=seed) for seed in (5, 6, 7)]
    slow = sum(certain_logits(posterior, view, TEXTS).softmax(dim=1) for view in views) / 3
    assert_close(augmented(posterior, views, TEXTS), slow)


def judged(n: int, seed: int) -> Labelled:
    return Labelled(random_features(n, seed=seed), torch.randint(3, (n,), generator=generator(seed)))


def table(**options):
    given = {"validation": judged(20, 8), "views": [random_features(12, seed=9)], "K": 200, "bins": 5} | options
    found, _ = compare(random_posterior(), TEXTS, judged(12, 4), rng=generator(), **given)
    return {each.predictive: each for each in found}


def test_the_table_has_every_predictive_with_what_made_it():
    lines = table()
    assert list(lines) == list(Predictive)
    assert {line.metrics.bins for line in lines.values()} == {5}
    assert lines[Predictive.AUGMENTED].views == 2
    assert lines[Predictive.PROBIT].tau == lines[Predictive.DRAWS].tau == 5.0
    assert lines[Predictive.TEMPERATURE].metrics.accuracy == lines[Predictive.MAP].metrics.accuracy
    assert all(line.seconds >= 0 for line in lines.values())


def test_tau_is_that_of_the_lowest_nlpd_on_the_validation_images():
    posterior, validation, taus = random_posterior(), judged(30, 8), (0.5, 5.0, 50.0, 500.0)

    def loss(tau: float) -> float:
        return nlpd(predict(posterior.with_tau(tau), validation.features, TEXTS), validation.labels).value

    found = with_best_tau(posterior, TEXTS, validation, taus)
    assert found.image.tau == found.text.tau == min(taus, key=loss)
    assert len({loss(tau) for tau in taus}) == len(taus)
    right = Labelled(validation.features, certain_logits(posterior, validation.features, TEXTS).argmax(dim=1))
    assert with_best_tau(posterior, TEXTS, right, taus).image.tau == 500.0, "sure where it is always right"


def test_without_validation_labels_or_views_their_lines_are_left_out():
    assert set(Predictive) - set(table(validation=None, views=[])) == {Predictive.TEMPERATURE, Predictive.AUGMENTED}


def test_the_same_seed_gives_the_same_table():
    assert {k: v.metrics for k, v in table().items()} == {k: v.metrics for k, v in table().items()}
