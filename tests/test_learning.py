"""Axes: N images · C = 3 classes."""

import json
from dataclasses import asdict, replace

import pytest
import torch
from torch.testing import assert_close

from core.choice import MAP, POSTERIOR, folds, predict
from core.finetune import FinetuneConfig, Labelled, Trained, most_probable
from core.learning import LearningConfig, label_signal, learn, measure, refit
from core.logits import class_covariance, map_logits, posterior_logits, probit, whitened
from core.metrics import ece, evaluate, nlpd
from core.posterior.curvature import kfac_b
from tests.small import P_TEXT, generator, random_features, random_posterior

CONFIG = LearningConfig(finetune=FinetuneConfig(max_steps=30, learning_rate=0.01))
TEXTS = random_features(3, P_TEXT, seed=5)


def labelled(n, seed):
    return Labelled(random_features(n, seed=seed), torch.randint(3, (n,), generator=generator(seed)))


def run(training, validation, seed=0, **settings):
    config = replace(CONFIG, **settings)
    return learn(random_posterior(), TEXTS, training, validation, rng=generator(seed), config=config)


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
    assert_close(learned.choice.nlpd[POSTERIOR], min(losses.values()))
    assert learned.served == (POSTERIOR if min(losses.values()) <= learned.choice.nlpd[MAP] else MAP)


def test_where_nothing_can_judge_tau_is_the_configured_one():
    for training, most in ((None, 5), (labelled(3, 4), 5), (one_class(12), 5), (labelled(12, 4), 0)):
        learned = run(training, None, folds=most)
        assert learned.posterior.image.tau == CONFIG.tau
        assert learned.served == POSTERIOR
        assert (learned.choice.nlpd, learned.choice.by) == (None, "default")


def slowly_cross_validated(answers, taus=CONFIG.taus):
    """Test losses of the posterior at each τ and of MAP, each answer under the fit to the other folds; by candidate."""
    rng = generator()
    losses = {served: [] for served in (*taus, MAP)}
    for part in folds(answers.labels, len(TEXTS), rng):
        left = [i for i in range(len(answers)) if i not in part.tolist()]
        tuned = most_probable(answers[left], random_posterior(), TEXTS, config=CONFIG.finetune)
        fitted = refit(random_posterior(), tuned, answers[left], TEXTS, CONFIG)
        for served, each in losses.items():
            at, kind = (fitted, MAP) if served == MAP else (fitted.with_tau(served), POSTERIOR)
            probs = predict(at, answers[part].features, TEXTS, kind)
            each += [-float(row[label].log()) for row, label in zip(probs, answers.labels[part], strict=True)]
    return losses


def test_without_validation_labels_the_answers_choose_by_cross_validation():
    answers = labelled(12, 4)
    learned = run(answers, None)
    means = {served: sum(each) / len(each) for served, each in slowly_cross_validated(answers).items()}
    best = min(CONFIG.taus, key=means.get)
    assert learned.posterior.image.tau == best
    assert_close(learned.choice.nlpd, {POSTERIOR: means[best], MAP: means[MAP]})
    assert learned.served == min(learned.choice.nlpd, key=learned.choice.nlpd.get)
    assert learned.choice.by == "cross-validation over 12 answers"


def test_few_validation_images_judge_together_with_the_answers_and_stop_no_descent():
    answers, few = labelled(12, 4), labelled(CONFIG.few - 1, 3)
    learned = run(answers, few)
    unstopped = most_probable(answers, random_posterior(), TEXTS, config=CONFIG.finetune)
    assert_close(learned.posterior.image.weight, unstopped.image)
    probs = predict(learned.posterior, few.features, TEXTS, MAP)
    pooled = slowly_cross_validated(answers)[MAP] + (-probs.gather(1, few.labels[:, None]).log()).flatten().tolist()
    assert_close(learned.choice.nlpd[MAP], sum(pooled) / len(pooled))
    assert learned.choice.by == f"validation, {CONFIG.few - 1} images and cross-validation over 12 answers"
    assert run(answers, labelled(CONFIG.few, 3)).choice.by == f"validation, {CONFIG.few} images"
    assert run(one_class(12), few).choice.by == f"validation, {CONFIG.few - 1} images"


def test_the_refit_posterior_conditions_the_image_variance_on_the_labelled_images():
    training, pretrained = labelled(12, 4), random_posterior()
    learned = run(training, labelled(20, 2))
    head = learned.posterior.image
    assert_close(head.conditions.activations, training.features.activations)
    assert_close(head.conditions.signal, label_signal(pretrained, training.features, TEXTS, CONFIG.rho))
    bare = pretrained.image.with_weight(head.weight).with_tau(head.tau)
    assert_close(head.unconditioned().A_root, bare.A_root)  # what ranks images conditions on them itself
    assert (head.embed(training.features).variance < bare.embed(training.features).variance).all()


def test_the_median_label_has_the_signal_rho_and_a_label_that_was_clear_before_has_less():
    posterior, images = random_posterior(), random_features(9)
    signal = label_signal(posterior, images, TEXTS, 10.0)
    assert_close(signal.median(), torch.tensor(10.0, dtype=torch.float64))
    S = class_covariance(posterior, TEXTS)
    probs = probit(posterior_logits(posterior, images, TEXTS))
    slow = [
        float(row.square().sum() * ((p.diag() - torch.outer(p, p)) @ S).trace())
        for row, p in zip(whitened(posterior, images), probs, strict=True)
    ]
    assert_close(signal / signal[0], torch.tensor(slow, dtype=torch.float64) / slow[0])


@pytest.mark.parametrize("head", [Trained.TEXT, Trained.BOTH])
def test_a_text_head_that_learnt_observes_the_class_text_of_each_label(head):
    training, pretrained = labelled(12, 4), random_posterior()
    learned = run(training, labelled(20, 2), finetune=FinetuneConfig(learning_rate=0.01, head=head))
    text, before = learned.posterior.text, pretrained.text.factors
    psi = TEXTS.activations[training.labels]
    assert text.factors.n == before.n + 12
    assert_close(text.factors.n**0.5 * text.factors.A - before.n**0.5 * before.A, psi.T @ psi)
    images = training.features.embed(learned.posterior.image.weight)
    hessian = kfac_b(psi @ text.weight.T, images, 8.0, -2.0)
    assert_close(text.factors.n**0.5 * text.factors.B - before.n**0.5 * before.B, hessian)
    assert (learned.posterior.image.conditions is None) == (head is Trained.TEXT)


@pytest.mark.parametrize("head", list(Trained))
@pytest.mark.parametrize("n", [1, 12])
def test_what_is_served_is_never_worse_on_validation_than_the_alternative(head, n):
    validation = labelled(20, 2)
    learned = run(labelled(n, 4), validation, finetune=FinetuneConfig(head=head, max_steps=30))
    for metric, stated in ((lambda *a: nlpd(*a).value, learned.choice.nlpd), (ece, learned.choice.ece)):
        for kind in (POSTERIOR, MAP):
            assert_close(
                stated[kind], metric(predict(learned.posterior, validation.features, TEXTS, kind), validation.labels)
            )
    assert learned.choice.nlpd[learned.served] == min(learned.choice.nlpd.values())


def one_class(n, seed=4):
    return Labelled(random_features(n, seed=seed), torch.zeros(n, dtype=torch.int64))


@pytest.mark.parametrize("validation", [None, 1, 20])
@pytest.mark.parametrize("head", list(Trained))
@pytest.mark.parametrize("n", [1, 10])
def test_one_label_and_one_class_learn_and_measure_without_a_crash_or_a_nan(n, head, validation):
    judge = None if validation is None else labelled(validation, 2)
    learned = run(one_class(n), judge, finetune=FinetuneConfig(head=head))
    for test in (labelled(25, 6), one_class(5), one_class(1), one_class(0), None):
        report = measure(learned, TEXTS, test, CONFIG)
        json.dumps(report, allow_nan=False)
    assert measure(learned, TEXTS, one_class(5), CONFIG)[MAP]["balanced_accuracy"] is None
    assert measure(learned, TEXTS, labelled(25, 6), CONFIG)[MAP]["balanced_accuracy"] is not None


def test_validation_of_one_class_judges_nothing():
    learned = run(labelled(12, 4), one_class(9))
    assert learned.choice.by == "cross-validation over 12 answers"


def test_a_fixed_tau_is_kept_whatever_validation_says():
    config = LearningConfig.of(tau=42.0, head="text")
    learned = learn(random_posterior(), TEXTS, None, labelled(20, 2), rng=generator(), config=config)
    assert learned.posterior.image.tau == learned.posterior.text.tau == 42.0
    assert config.finetune.head is Trained.TEXT
    assert learned.choice.by == "fixed τ and validation, 20 images"


def test_settings_survive_json():
    config = LearningConfig(finetune=FinetuneConfig(head="both", class_balance=0.5), tau=3.0)
    assert LearningConfig(**json.loads(json.dumps(asdict(config)))) == config


@pytest.mark.parametrize(
    "wrong",
    [
        {"tau": 1e-300},
        {"tau": 0},
        {"taus": ()},
        {"taus": (1.0, -1.0)},
        {"rho": 0},
        {"bins": 0},
        {"folds": -1},
        {"few": -1},
    ],
)
def test_settings_are_checked_when_made(wrong):
    with pytest.raises(ValueError, match=r"positive|τ|bin|negative"):
        LearningConfig(**wrong)


@pytest.mark.parametrize("validation", [None, 8, 20])
def test_the_same_seed_learns_the_same(validation):
    judge = None if validation is None else labelled(validation, 2)
    first, second = (run(labelled(12, 4), judge) for _ in range(2))
    assert first.choice == second.choice
    assert torch.equal(first.posterior.image.weight, second.posterior.image.weight)
    assert torch.equal(first.posterior.image.A_root, second.posterior.image.A_root)


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
