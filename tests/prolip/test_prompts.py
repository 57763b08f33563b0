"""Prompt weights, filters, and the classes they make."""

import json

import pytest
import torch
from torch.nn.functional import normalize
from torch.testing import assert_close

from core.errors import InputError
from core.prolip.prompts import (
    PromptFilter,
    PromptMethod,
    PromptWeights,
    class_gaussians,
    class_probabilities,
    equal_weights,
    filtered_weights,
    kept,
    prompt_effect,
    vagueness,
)
from core.prolip.similarity import csd_logits
from core.values import ProlipEmbeddings
from tests.prolip.gaussians import random_gaussians

CLASSES, TEMPLATES = ("dog", "cat"), ("a {class}", "the {class}", "{class}s")
EQUAL = equal_weights(CLASSES, TEMPLATES)
UNCERTAINTY = torch.tensor([[3.0, 1.0, 2.0], [9.0, 7.0, 8.0]])


def some_weights(method=PromptMethod.FILTERED) -> PromptWeights:
    return PromptWeights(CLASSES, TEMPLATES, torch.tensor([[0.5, 0.25, 0.25], [0.0, 0.1, 0.9]]).double(), method)


@pytest.mark.parametrize(
    ("which", "amount", "expected"),
    [
        (PromptFilter.MOST_CERTAIN, 2, [[0, 1, 1], [0, 1, 1]]),
        (PromptFilter.MOST_CERTAIN, 50, [[1, 1, 1], [1, 1, 1]]),
        (PromptFilter.MOST_CERTAIN_OVERALL, 4, [[1, 1, 1], [0, 1, 0]]),
        (PromptFilter.MOST_CERTAIN_OVERALL, 2, [[0, 1, 1], [0, 1, 0]]),
        (PromptFilter.THRESHOLD, 8, [[1, 1, 1], [0, 1, 1]]),
        (PromptFilter.THRESHOLD, 0.5, [[0, 1, 0], [0, 1, 0]]),
        (PromptFilter.DEVIATIONS, 0, [[0, 1, 1], [0, 1, 1]]),
        (PromptFilter.DEVIATIONS, -1, [[0, 1, 0], [0, 1, 0]]),
        (PromptFilter.DEVIATIONS, 1, [[1, 1, 1], [1, 1, 1]]),
    ],
)
def test_filters_drop_the_vaguest_and_never_empty_a_class(which, amount, expected):
    assert kept(UNCERTAINTY, which, amount).int().tolist() == expected


def test_ties_at_the_limit_are_kept_and_one_prompt_is_enough():
    assert kept(torch.tensor([[2.0, 1.0, 2.0]]), PromptFilter.MOST_CERTAIN, 2).tolist() == [[True, True, True]]
    for which in PromptFilter:
        assert kept(torch.tensor([[5.0], [6.0]]), which, 1).tolist() == [[True], [True]]


@pytest.mark.parametrize(
    ("which", "amount"),
    [(PromptFilter.MOST_CERTAIN, 0), (PromptFilter.MOST_CERTAIN_OVERALL, -3), (PromptFilter.THRESHOLD, float("nan"))],
)
def test_an_amount_that_keeps_nothing_is_refused(which, amount):
    with pytest.raises(InputError, match="give a number"):
        kept(UNCERTAINTY, which, amount)


def test_what_is_kept_shares_one_as_before():
    keep = torch.tensor([[True, True, False], [False, False, True]])
    weights = filtered_weights(some_weights(), keep)
    assert_close(weights.weights, torch.tensor([[2 / 3, 1 / 3, 0], [0, 0, 1]], dtype=torch.float64))
    assert weights.method is PromptMethod.FILTERED
    with pytest.raises(InputError, match="cat would have no prompt left"):
        filtered_weights(some_weights(), torch.tensor([[True, True, True], [True, False, False]]))


def test_vagueness_is_the_uncertainty_class_by_class():
    prompts = random_gaussians(6)
    assert_close(vagueness(prompts, 3)[1, 2], prompts.log_variance[5].exp().sum())
    with pytest.raises(InputError, match="5 prompts are not classes times 3"):
        vagueness(prompts[:5], 3)


def test_an_average_is_the_normalised_mean_with_the_mean_variance():
    prompts = random_gaussians(6)
    classes = class_gaussians(prompts, EQUAL)
    for c, rows in enumerate((slice(0, 3), slice(3, 6))):
        assert_close(classes.mean[c], normalize(prompts.mean[rows].mean(dim=0), dim=0))
        assert_close(classes.variance[c], prompts.variance[rows].mean(dim=0))


def test_bprw_combines_as_published():
    prompts = random_gaussians(6)
    weights = some_weights(PromptMethod.BPRW)
    classes = class_gaussians(prompts, weights)
    for c, rows in enumerate((slice(0, 3), slice(3, 6))):
        w = weights.weights[c]
        assert_close(classes.mean[c], sum(w[t] * prompts.mean[rows][t] for t in range(3)))
        assert_close(classes.variance[c], sum(w[t] ** 2 * prompts.variance[rows][t] for t in range(3)))


def test_class_probabilities_are_those_of_the_csd_logits_or_of_the_cosine():
    images, classes = random_gaussians(4), random_gaussians(3, seed=1)
    assert_close(class_probabilities(images, classes, 5.0), csd_logits(images, classes, 5.0, -3.0).softmax(dim=1))
    cosine = (5 * images.mean @ classes.mean.T).softmax(dim=1)
    assert_close(class_probabilities(images, classes, 5.0, vague_costs=False), cosine)


def test_the_effect_counts_images_with_a_label_alone():
    prompts = random_gaussians(6, level=-6.0)
    images = ProlipEmbeddings(class_gaussians(prompts, EQUAL).mean, random_gaussians(2).log_variance)
    images = images[[0, 1, 1, 0]]
    effect = prompt_effect(images, torch.tensor([0, 1, 0, -1]), prompts, EQUAL, 30.0)
    assert effect.n == 3
    assert effect.accuracy == pytest.approx(2 / 3)
    probs = class_probabilities(images, class_gaussians(prompts, EQUAL), 30.0)
    by_hand = -sum(float(probs[i, c].log()) for i, c in ((0, 0), (1, 1), (2, 0))) / 3
    assert effect.nlpd == pytest.approx(by_hand)
    with pytest.raises(InputError, match="no image has an answer"):
        prompt_effect(images, torch.full((4,), -1), prompts, EQUAL, 30.0)


def test_weights_go_through_json_unchanged():
    weights = some_weights(PromptMethod.BPRW)
    back = PromptWeights.from_json(json.loads(json.dumps(weights.to_json())))
    assert torch.equal(back.weights, weights.weights)
    assert (back.classes, back.templates, back.method) == (CLASSES, TEMPLATES, PromptMethod.BPRW)


@pytest.mark.parametrize(
    "change",
    [
        {"weights": [[1.0, 0.0, 0.0]]},
        {"weights": [[0.5, 0.6, 0.0], [1.0, 0.0, 0.0]]},
        {"weights": [[1.5, -0.5, 0.0], [1.0, 0.0, 0.0]]},
        {"weights": [[float("nan"), 0.0, 0.0], [1.0, 0.0, 0.0]]},
        {"weights": [[1.0], [1.0, 0.0, 0.0]]},
        {"classes": 3},
        {"method": "guessed"},
        {"templates": [], "weights": [[], []]},
    ],
)
def test_what_is_no_set_of_weights_is_refused(change):
    with pytest.raises(InputError, match="weights"):
        PromptWeights.from_json(some_weights().to_json() | change)
    with pytest.raises(InputError, match="'method'"):
        PromptWeights.from_json({key: value for key, value in some_weights().to_json().items() if key != "method"})


def test_prompts_of_another_number_are_refused():
    with pytest.raises(InputError, match="9 prompts do not fit"):
        class_gaussians(random_gaussians(9), EQUAL)
