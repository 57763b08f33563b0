"""Axes: N images · C = 3 classes."""

import torch
from torch.testing import assert_close

from core.finetune import FinetuneConfig, Labelled
from core.learning import MAP, POSTERIOR, LearningConfig, learn, measure, predict
from core.logits import map_logits, posterior_logits, probit
from core.metrics import evaluate, nlpd
from core.posterior.curvature import kfac_b
from tests.small import P_TEXT, generator, random_features, random_posterior

CONFIG = LearningConfig(finetune=FinetuneConfig(max_steps=30, learning_rate=0.01))
TEXTS = random_features(3, P_TEXT, seed=5)


def labelled(n, seed):
    return Labelled(random_features(n, seed=seed), torch.randint(3, (n,), generator=generator(seed)))


def run(training, validation, seed=0):
    return learn(random_posterior(), TEXTS, training, validation, rng=generator(seed), config=CONFIG)


def test_without_answers_the_pretrained_head_stays():
    learned = run(None, labelled(20, 2))
    assert_close(learned.posterior.image.weight, random_posterior().image.weight, atol=0, rtol=0)
    assert learned.steps == 0


def test_tau_is_the_one_with_the_lowest_validation_nlpd():
    validation = labelled(30, 3)
    learned = run(None, validation)
    losses = {}
    for tau in CONFIG.taus:
        probs = probit(posterior_logits(random_posterior().with_tau(tau), validation.features, TEXTS))
        losses[tau] = nlpd(probs, validation.labels).value
    assert learned.posterior.image.tau == min(losses, key=losses.get)
    assert_close(learned.validation_nlpd[POSTERIOR], min(losses.values()))
    assert learned.served == (POSTERIOR if min(losses.values()) <= learned.validation_nlpd[MAP] else MAP)


def test_without_validation_labels_tau_is_the_configured_one():
    learned = run(labelled(12, 4), None)
    assert learned.posterior.image.tau == CONFIG.tau
    assert learned.served == POSTERIOR
    assert learned.validation_nlpd is None


def test_the_refit_posterior_observed_each_labelled_image_at_the_new_head():
    training = labelled(12, 4)
    learned = run(training, labelled(20, 2))
    before, after = random_posterior().image.factors, learned.posterior.image.factors
    phi = training.features.activations
    assert after.n == before.n + 12
    assert_close(after.n**0.5 * after.A - before.n**0.5 * before.A, phi.T @ phi)
    hessian = kfac_b(phi @ learned.posterior.image.weight.T, TEXTS.embed(random_posterior().text.weight), 8.0, -2.0)
    assert_close(after.n**0.5 * after.B - before.n**0.5 * before.B, hessian)


def test_the_same_seed_learns_the_same():
    first, second = (run(labelled(12, 4), labelled(20, 2)) for _ in range(2))
    assert_close(first.posterior.image.weight, second.posterior.image.weight, atol=0, rtol=0)


def test_both_predictives_are_what_their_names_say():
    posterior, images = random_posterior(), random_features(7)
    embedded = images.embed(posterior.image.weight), TEXTS.embed(posterior.text.weight)
    assert_close(predict(posterior, images, TEXTS, MAP), map_logits(*embedded, 8.0, -2.0).softmax(dim=1))
    assert_close(predict(posterior, images, TEXTS), probit(posterior_logits(posterior, images, TEXTS)))


def test_a_round_reports_what_it_measured_of_both():
    learned, test = run(labelled(12, 4), labelled(20, 2)), labelled(25, 6)
    report = measure(learned, TEXTS, test, CONFIG)
    assert report["n"] == 25
    assert sum(row["count"] for row in report["reliability"]) == 25
    for kind in (POSTERIOR, MAP):
        expected = evaluate(predict(learned.posterior, test.features, TEXTS, kind), test.labels, CONFIG.bins)
        assert report[kind]["nlpd"] == expected.nlpd


def test_without_test_labels_the_figures_are_missing_not_made_up():
    report = measure(run(labelled(12, 4), None), TEXTS, None, CONFIG)
    assert report["n"] == 0
    assert report[POSTERIOR] is None
    assert report["reliability"] == []
