"""Axes: N images · C = 3 classes · D = 5 · p = 7: not square on purpose."""

import pytest
import torch
from torch.nn.functional import cross_entropy, normalize
from torch.testing import assert_close

from core.finetune import FinetuneConfig, Labelled, finetune
from core.values import Features


def problem(n=150, residual=False, seed=0):
    """Classes that another head than the given one would tell apart."""
    rng = torch.Generator().manual_seed(seed)
    texts = torch.randn(3, 5, generator=rng, dtype=torch.float64)
    truth = torch.randn(5, 7, generator=rng, dtype=torch.float64)
    weight = truth + torch.randn(5, 7, generator=rng, dtype=torch.float64)
    phi = torch.randn(n, 7, generator=rng, dtype=torch.float64)
    residuals = torch.randn(n, 5, generator=rng, dtype=torch.float64) if residual else None
    features = Features(phi, residuals)
    labels = (normalize(features.embed(truth), dim=1) @ normalize(texts, dim=1).T).argmax(dim=1)
    return Labelled(features, labels), weight, texts


def rows(part, index):
    return Labelled(part.features[index], part.labels[index])


def loss(part, head, texts, scale=10.0):
    logits = scale * normalize(part.features.embed(head), dim=1) @ normalize(texts, dim=1).T
    return float(cross_entropy(logits, part.labels))


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("residual", [False, True])
def test_it_lowers_the_loss_on_images_it_did_not_see(residual):
    data, weight, texts = problem(residual=residual)
    training, validation, test = (rows(data, slice(i, i + 50)) for i in (0, 50, 100))
    config = FinetuneConfig(learning_rate=0.02)
    tuned = finetune(training, weight, texts, 10.0, rng=rng(), validation=validation, config=config)
    assert loss(test, tuned.weight, texts) < 0.8 * loss(test, weight, texts)
    assert_close(tuned.validation_loss, loss(validation, tuned.weight, texts))


def test_it_keeps_the_pretrained_head_when_nothing_is_better():
    data, weight, texts = problem()
    wrong = Labelled(data.features, (data.labels + 1) % 3)
    tuned = finetune(wrong, weight, texts, 10.0, rng=rng(), validation=data, config=FinetuneConfig(learning_rate=0.1))
    assert loss(data, tuned.weight, texts) <= loss(data, weight, texts)


def test_the_given_head_is_not_changed_and_the_same_seed_gives_the_same_head():
    data, weight, texts = problem()
    before = weight.clone()
    config = FinetuneConfig(batch=16)
    first, second = (finetune(data, weight, texts, 10.0, rng=rng(3), config=config) for _ in range(2))
    assert_close(weight, before, atol=0, rtol=0)
    assert_close(first.weight, second.weight, atol=0, rtol=0)


def test_without_validation_it_makes_the_stated_number_of_steps():
    data, weight, texts = problem()
    tuned = finetune(data, weight, texts, 10.0, rng=rng(), config=FinetuneConfig(steps_without_validation=7))
    assert tuned.steps == 7
    assert tuned.validation_loss is None


def test_settings_are_checked_when_made():
    with pytest.raises(ValueError, match="positive"):
        FinetuneConfig(learning_rate=0)
