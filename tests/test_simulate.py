"""Simulated rounds on random features whose classes the heads can learn to tell apart."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from core.errors import InputError
from core.finetune import FinetuneConfig
from core.learning import LearningConfig
from core.simulate import STRATEGIES, Images, Protocol, SimulationConfig, Strategy, simulate
from tests.small import P_TEXT, generator, random_features, random_posterior

CONFIG = SimulationConfig(batch=4, rounds=3, learning=LearningConfig(finetune=FinetuneConfig(max_steps=10)))


@pytest.fixture(scope="module")
def images():
    n, posterior, texts = 120, random_posterior(), random_features(3, P_TEXT, seed=5)
    features = random_features(n, seed=9)
    truth = torch.randn(posterior.image.weight.shape, generator=generator(4), dtype=torch.float64)
    labels = (features.embed(truth) @ texts.embed(posterior.text.weight).T).argmax(dim=1)
    return Images(
        tuple(f"{i}.jpg" for i in range(n)),
        tuple(f"{i:064x}" for i in range(n)),
        tuple("here" if i % 2 else "there" for i in range(n)),
        features,
        labels,
        texts,
        posterior,
    )


def run(images, strategies=tuple(Strategy), target="here", seeds=(0, 1)):
    return list(simulate(images, target=target, strategies=strategies, seeds=seeds, config=CONFIG))


def test_every_strategy_spends_the_same_labels_and_asks_no_image_twice(images):
    points = run(images)
    assert len(points) == len(Strategy) * 2 * 4
    for strategy in Strategy:
        curve = [p for p in points if p.strategy == strategy and p.seed == 1]
        assert [p.labels for p in curve] == [0, 4, 8, 12]
        asked = [path for p in curve for path in p.picked]
        assert len(asked) == len(set(asked)) == 12


def test_the_same_command_gives_the_same_picks_and_figures(images):
    assert run(images) == run(images)


@pytest.mark.parametrize("strategy", list(Strategy))
def test_no_strategy_reads_a_hidden_label(images, strategy):
    """The first picks are made before any answer: poisoned labels of the pool do not move them."""
    poisoned = replace(images, labels=(images.labels + 1) % 3)
    settings = replace(CONFIG, rounds=1)
    first, second = (
        list(simulate(each, target=None, strategies=[strategy], seeds=[0], config=settings))[-1].picked
        for each in (with_fixed_tau(images), with_fixed_tau(poisoned))
    )
    assert first == second


def with_fixed_tau(images):
    """Validation labels choose τ, which is no pool label: taken out of the comparison."""
    return replace(images, sha256s=tuple(NO_VALIDATION[: len(images.sha256s)]))


def _hashes_outside_validation():
    from core.data.scan import Split, assign_splits

    shas = [f"{i:064x}" for i in range(400)]
    kept = [sha for sha, split in zip(shas, assign_splits(shas, seed=0), strict=True) if split != Split.VALIDATION]
    return kept


NO_VALIDATION = _hashes_outside_validation()


def test_picks_come_from_the_pool_only(images):
    points = run(images, seeds=(0,))
    from core.data.scan import Split, assign_splits

    split = assign_splits(images.sha256s, seed=0)
    pool = {path for path, each in zip(images.paths, split, strict=True) if each == Split.POOL}
    assert {path for point in points for path in point.picked} <= pool


def test_round_0_is_the_same_for_every_strategy(images):
    zero = {p.strategy: p.accuracy for p in run(images) if p.round == 0 and p.seed == 0}
    assert len(set(zero.values())) == 1
    assert set(zero) == set(STRATEGIES)


def test_the_callers_features_are_not_changed(images):
    before = images.features.activations.clone()
    run(images, strategies=[Strategy.EPIG], seeds=(0,))
    assert_close(images.features.activations, before, atol=0, rtol=0)


def test_a_pool_that_is_used_up_ends_the_curve_and_counts_no_image_twice(images):
    settings = replace(CONFIG, batch=30, rounds=6)
    points = list(simulate(images, target=None, strategies=[Strategy.EPIG], seeds=[0], config=settings))
    asked = [path for point in points for path in point.picked]
    assert len(asked) == len(set(asked)) == points[-1].labels
    assert len(points) < 7


def test_a_folder_too_small_to_be_split_is_refused(images):
    few = replace(images, paths=images.paths[:2], sha256s=images.sha256s[:2], domains=images.domains[:2])
    with pytest.raises(InputError, match="larger folder"):
        list(simulate(few, target=None, strategies=[Strategy.EPIG], seeds=[0], config=CONFIG))


def test_the_papers_protocol_learns_within_a_batch_and_says_so(images):
    settings = replace(CONFIG, protocol=Protocol.PAPER)
    points = list(
        simulate(images, target="here", strategies=[Strategy.EPIG, Strategy.RANDOM], seeds=[0], config=settings)
    )
    assert {(p.strategy, p.protocol) for p in points} == {("epig", "paper"), ("random", "rounds")}
    asked = [path for p in points if p.strategy == "epig" for path in p.picked]
    assert len(asked) == len(set(asked)) == 12
