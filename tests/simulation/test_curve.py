"""Simulated curves on random features whose classes the heads can learn to tell apart."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from core.data.scan import Split, assign_splits
from core.errors import InputError, UnknownName
from core.finetune import FinetuneConfig
from core.metrics import balanced_accuracy
from core.simulation.curve import FIGURES, Protocol, SimulationConfig, Validation, curve
from core.simulation.strategies import STRATEGIES
from tests.simulation.scene import CONFIG, images_of

SPLIT = assign_splits(images_of().sha256s, seed=0)


@pytest.fixture(scope="module")
def images():
    return images_of()


def run(images, name, target="here", seed=0, config=CONFIG):
    return list(curve(images, target, name, seed, config))


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_spends_the_same_labels_and_asks_no_image_of_the_pool_twice(images, name):
    points = run(images, name)
    assert [p.labels - points[0].labels for p in points] == [0, 4, 8, 12]
    asked = [path for p in points for path in p.picked]
    assert len(asked) == len(set(asked)) == 12
    pool = {path for path, each in zip(images.paths, SPLIT, strict=True) if each == Split.POOL}
    assert set(asked) <= pool


def test_of_exact_copies_one_is_asked_about(images):
    copies = [f"{i // 2:064x}" for i in range(len(images))]
    points = run(replace(images, sha256s=tuple(copies)), "random", target=None)
    asked = [copies[images.paths.index(path)] for point in points for path in point.picked]
    assert len(set(asked)) == len(asked) == 12


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_same_seed_gives_the_same_picks_and_figures(images, name):
    assert run(images, name) == run(images, name)


def test_validation_labels_are_spent_or_not_used_at_all(images):
    spent, unused = (
        run(images, "random", config=replace(CONFIG, validation=each)) for each in (Validation.SPENT, Validation.UNUSED)
    )
    validation = sum(
        each == Split.VALIDATION and domain == "here" for each, domain in zip(SPLIT, images.domains, strict=True)
    )
    assert [p.labels for p in spent] == [validation + n for n in (0, 4, 8, 12)]
    assert [p.labels for p in unused] == [0, 4, 8, 12]
    hidden = torch.tensor([each == Split.VALIDATION for each in SPLIT])
    poisoned = replace(images, labels=torch.where(hidden, (images.labels + 1) % 3, images.labels))
    unmoved = run(poisoned, "random", config=replace(CONFIG, validation=Validation.UNUSED))
    without_shares = ("accuracy", "nlpd", "ece")  # the weighted accuracy weighs by the whole domain's classes
    assert [[p.figures[f] for f in without_shares] for p in unmoved] == [
        [p.figures[f] for f in without_shares] for p in unused
    ]


def test_a_single_batch_is_chosen_before_any_answer(images):
    config = replace(CONFIG, protocol=Protocol.BATCH, validation=Validation.UNUSED)
    other = replace(images, labels=(images.labels + 1) % 3)
    first, second = ([p.picked for p in run(each, "epig", config=config)] for each in (images, other))
    assert first == second
    one = run(images, "epig", config=replace(config, batch=12, rounds=1))
    assert one[1].picked == tuple(path for p in run(images, "epig", config=config) for path in p.picked)


def test_the_papers_protocol_hears_each_answer_within_a_batch(images):
    steep = replace(CONFIG.learning, finetune=FinetuneConfig(max_steps=3, learning_rate=1.0))
    config = replace(CONFIG, protocol=Protocol.PAPER, learning=steep)
    other = replace(images, labels=(images.labels + 1) % 3)
    first, second = (run(each, "epig", config=config)[1].picked for each in (images, other))
    assert first[0] == second[0]
    assert first != second
    assert len({path for p in run(images, "epig", config=config) for path in p.picked}) == 12


def test_round_0_is_the_same_for_every_strategy(images):
    zero = [next(iter(curve(images, "here", name, 0, CONFIG))).figures for name in STRATEGIES]
    assert all(each == zero[0] for each in zero)
    assert set(zero[0]) == set(FIGURES)


def test_the_weighted_accuracy_of_equal_shares_is_the_balanced_one():
    from core.simulation.curve import _figures

    probs = torch.rand(9, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    labels = torch.tensor([0, 0, 0, 0, 1, 1, 2, 2, 2])
    found = _figures(probs, labels, torch.tensor([5.0, 5.0, 5.0], dtype=torch.float64), bins=5)
    assert found["weighted_accuracy"] == pytest.approx(balanced_accuracy(probs, labels), abs=1e-12)
    assert found["weighted_accuracy"] != pytest.approx(found["accuracy"], abs=1e-3)


def test_the_callers_features_are_not_changed(images):
    before = images.features.activations.clone()
    run(images, "epig")
    assert_close(images.features.activations, before, atol=0, rtol=0)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_pool_that_is_used_up_ends_the_curve_and_counts_no_image_twice(images, name):
    config = replace(CONFIG, batch=40, rounds=6, validation=Validation.UNUSED)
    points = run(images, name, target=None, config=config)
    asked = [path for point in points for path in point.picked]
    assert len(asked) == len(set(asked)) == points[-1].labels
    assert len(points) < 7


def test_a_folder_too_small_to_be_split_is_refused(images):
    few = replace(images, paths=images.paths[:2], sha256s=images.sha256s[:2], domains=images.domains[:2])
    with pytest.raises(InputError, match="larger folder"):
        run(few, "epig", target=None)


def test_unknown_strategies_and_settings_are_refused(images):
    with pytest.raises(UnknownName, match="no strategy 'magic'; there are random"):
        run(images, "magic")
    with pytest.raises(InputError, match="1 or more"):
        SimulationConfig(batch=0)
