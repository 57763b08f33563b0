"""Axes: N images · C = 3 classes · D = 5 · p = 7, texts p' = 4: not square on purpose."""

import pytest
import torch
from torch.nn.functional import cross_entropy, normalize
from torch.testing import assert_close

from core.finetune import FinetuneConfig, Labelled, Trained, class_weights, descend, finetune, most_probable
from core.posterior.laplace import fit
from core.values import Features, Heads, KroneckerFactors
from tests.small import generator, normal, positive_definite

D, P, P_TEXT, SCALE, BIAS = 5, 7, 4, 10.0, -2.0


def problem(n=150, residual=False, seed=0):
    """Classes that another image head than the given one would tell apart: (images, posterior, texts)."""
    rng = generator(seed)
    truth, text = normal(D, P, rng=rng), normal(D, P_TEXT, rng=rng)
    heads = Heads(truth + normal(D, P, rng=rng), text, SCALE, BIAS)
    factors = (KroneckerFactors(positive_definite(p, rng), positive_definite(D, rng), 9) for p in (P, P_TEXT))
    pretrained = fit(heads, *factors, tau=5.0, fingerprint="small")
    texts = Features(normal(3, P_TEXT, rng=rng))
    features = Features(normal(n, P, rng=rng), normal(n, D, rng=rng) if residual else None)
    labels = (normalize(features.embed(truth), dim=1) @ normalize(texts.embed(text), dim=1).T).argmax(dim=1)
    return Labelled(features, labels), pretrained, texts


def loss(part, image, text, texts):
    logits = SCALE * normalize(part.features.embed(image), dim=1) @ normalize(texts.embed(text), dim=1).T + BIAS
    return float(cross_entropy(logits, part.labels))


def split(data):
    return (data[slice(i, i + 50)] for i in (0, 50, 100))


@pytest.mark.parametrize("solve", [finetune, descend])
@pytest.mark.parametrize("head", list(Trained))
@pytest.mark.parametrize("residual", [False, True])
def test_it_lowers_the_loss_on_images_it_did_not_see(solve, head, residual):
    data, pretrained, texts = problem(residual=residual)
    training, validation, test = split(data)
    config = FinetuneConfig(learning_rate=0.02, head=head)
    tuned = solve(training, pretrained, texts, rng=generator(), validation=validation, config=config)
    before = loss(test, pretrained.image.weight, pretrained.text.weight, texts)
    assert loss(test, tuned.image, tuned.text, texts) < 0.9 * before
    assert_close(tuned.validation_loss, loss(validation, tuned.image, tuned.text, texts))


@pytest.mark.parametrize("with_validation", [False, True])
def test_only_the_chosen_head_moves(with_validation):
    data, pretrained, texts = problem()
    training, validation, _ = split(data)
    for head in Trained:
        config = FinetuneConfig(head=head)
        judge = validation if with_validation else None
        tuned = finetune(training, pretrained, texts, rng=generator(), validation=judge, config=config)
        moved = (
            not torch.equal(tuned.image, pretrained.image.weight),
            not torch.equal(tuned.text, pretrained.text.weight),
        )
        assert moved == (head is not Trained.TEXT, head is not Trained.IMAGE)


def test_it_keeps_the_pretrained_head_when_nothing_is_better():
    data, pretrained, texts = problem()
    wrong = Labelled(data.features, (data.labels + 1) % 3)
    tuned = finetune(wrong, pretrained, texts, rng=generator(), validation=data)
    assert tuned.validation_loss <= loss(data, pretrained.image.weight, pretrained.text.weight, texts)


def test_with_validation_it_is_the_better_of_its_two_ways():
    data, pretrained, texts = problem()
    training, validation, _ = split(data)
    given = (training, pretrained, texts)
    either = descend(*given, rng=generator(), validation=validation), most_probable(*given, validation=validation)
    tuned = finetune(*given, rng=generator(), validation=validation)
    assert tuned.validation_loss == min(each.validation_loss for each in either)


@pytest.mark.parametrize("with_validation", [False, True])
@pytest.mark.parametrize("head", list(Trained))
def test_the_same_seed_gives_the_same_heads_to_the_last_bit_and_changes_nothing_given(head, with_validation):
    data, pretrained, texts = problem()
    training, validation, _ = split(data)
    before = pretrained.image.weight.clone(), pretrained.text.weight.clone()
    config = FinetuneConfig(batch=16, head=head)
    judge = validation if with_validation else None
    first, second = (
        finetune(training, pretrained, texts, rng=generator(3), validation=judge, config=config) for _ in range(2)
    )
    assert torch.equal(first.image, second.image)
    assert torch.equal(first.text, second.text)
    assert torch.equal(before[0], pretrained.image.weight)
    assert torch.equal(before[1], pretrained.text.weight)
    assert not first.image.requires_grad
    assert not first.text.requires_grad


def test_another_seed_draws_other_batches():
    data, pretrained, texts = problem()
    config = FinetuneConfig(batch=16, max_steps=5)
    first, second = (descend(data, pretrained, texts, rng=generator(seed), config=config) for seed in (0, 1))
    assert not torch.equal(first.image, second.image)


@pytest.mark.parametrize("n", [4, 40])  # fewer rows than p, and more
@pytest.mark.parametrize("head", list(Trained))
def test_the_most_probable_heads_are_where_the_whole_objective_is_flat(n, head):
    """The slow way: the gradient over full weights of Σ cross-entropy + ½ Σ tr(B̃ ΔP Ã ΔPᵀ)."""
    data, pretrained, texts = problem()
    config = FinetuneConfig(head=head, prior_tau=2.0)
    tuned = most_probable(data[:n], pretrained, texts, config=config, iterations=300)
    weights = [tuned.image.clone().requires_grad_(config.image), tuned.text.clone().requires_grad_(config.text)]
    logits = SCALE * normalize(data[:n].features.embed(weights[0]), dim=1) @ normalize(texts.embed(weights[1]), dim=1).T
    objective = cross_entropy(logits, data.labels[:n], reduction="sum")
    for weight, old in zip(weights, (pretrained.image, pretrained.text), strict=True):
        prior, change = old.with_tau(2.0), weight - old.weight
        precision_A, precision_B = (prior.A_root @ prior.A_root.T).inverse(), prior.B_inverse.inverse()
        objective = objective + (precision_B @ change @ precision_A @ change.T).trace() / 2
    gradients = torch.autograd.grad(objective, [weight for weight in weights if weight.requires_grad])
    assert max(float(gradient.abs().max()) for gradient in gradients) < 1e-3


@pytest.mark.parametrize("with_validation", [False, True])
@pytest.mark.parametrize("n", [1, 10])
def test_answers_of_one_class_do_not_drown_the_others(n, with_validation):
    """Names learnt in the pre-training stay: accuracy on the other classes keeps four fifths of what it was."""
    data, pretrained, texts = problem(400)
    known = pretrained.with_image(pretrained.image.with_weight(data_head(data, pretrained, texts)))
    one, rest = data[data.labels == 0][:n], data[100:][data.labels[100:] != 0]
    judge = data[20:60] if with_validation else None
    tuned = finetune(one, known, texts, rng=generator(), validation=judge)
    assert right(rest, tuned.image, tuned.text, texts) > 0.8 * right(rest, known.image.weight, known.text.weight, texts)


def data_head(data, pretrained, texts):
    """A head that names the data well."""
    return descend(data, pretrained, texts, rng=generator(), config=FinetuneConfig(learning_rate=0.02)).image


def right(part, image, text, texts):
    cosines = normalize(part.features.embed(image), dim=1) @ normalize(texts.embed(text), dim=1).T
    return float((cosines.argmax(dim=1) == part.labels).double().mean())


def test_answers_of_one_class_move_the_head_less():
    data, pretrained, texts = problem()
    one = data[data.labels == 0][:10]
    moved = [
        float((most_probable(one, pretrained, texts, config=config).image - pretrained.image.weight).norm())
        for config in (FinetuneConfig(), FinetuneConfig(one_class_tau=FinetuneConfig().prior_tau))
    ]
    assert 0 < moved[0] < moved[1]


def test_validation_of_one_class_does_not_judge():
    data, pretrained, texts = problem()
    one = data[data.labels == 0]
    tuned = finetune(data, pretrained, texts, rng=generator(), validation=one)
    assert tuned.validation_loss is None
    assert torch.equal(tuned.image, finetune(data, pretrained, texts, rng=generator()).image)


def test_without_validation_the_descent_makes_all_its_steps():
    data, pretrained, texts = problem()
    tuned = descend(data, pretrained, texts, rng=generator(), config=FinetuneConfig(max_steps=7, patience=2))
    assert tuned.steps == 7
    assert tuned.validation_loss is None


def test_class_weights_count_each_class_alike_or_each_answer():
    labels = torch.tensor([0] * 8 + [2] * 2)
    assert_close(class_weights(labels, 4, 0.0), torch.tensor([1.0, 0, 1, 0], dtype=torch.float64))
    whole = class_weights(labels, 4, 1.0)
    assert_close(whole[0] * 8, whole[2] * 2)
    for balance in (0.0, 0.5, 1.0):
        assert_close(class_weights(labels, 4, balance)[labels].mean(), torch.tensor(1.0, dtype=torch.float64))
    assert_close(class_weights(labels, 4, 0.5)[2] / class_weights(labels, 4, 0.5)[0], torch.tensor(2.0).double())


@pytest.mark.parametrize(
    "wrong",
    [
        {"learning_rate": 0},
        {"learning_rate": float("nan")},
        {"max_steps": 0},
        {"batch": 0},
        {"patience": -1},
        {"prior_tau": 0},
        {"one_class_tau": -1},
        {"class_balance": 1.5},
        {"weight_decay": -1},
        {"head": "neck"},
    ],
)
def test_settings_are_checked_when_made(wrong):
    with pytest.raises(ValueError, match=r"positive|balance|neck"):
        FinetuneConfig(**wrong)
