"""No pick reads a label that was not asked before it: all others are poisoned, and every pick stays."""

from dataclasses import replace

import pytest
import torch

from core.calibration import certain_logits
from core.data.scan import Split, assign_splits
from core.simulation import curve as simulated
from core.simulation.curve import ONLINE, Protocol, Validation, curve
from core.simulation.strategies import STRATEGIES
from tests.simulation.scene import CONFIG, images_of

IMAGES = images_of()
POOL = [each == Split.POOL for each in assign_splits(IMAGES.sha256s, seed=0)]
SHORT = replace(CONFIG, rounds=2)
HOW = [  # in the paper's protocol all others do what they do in rounds
    (name, protocol, validation)
    for name in STRATEGIES
    for protocol in Protocol
    for validation in Validation
    if protocol is not Protocol.PAPER or name in ONLINE
]


def picks(config, name, images=IMAGES) -> list[tuple[str, ...]]:
    return [point.picked for point in curve(images, "here", name, 0, config)][1:]


def may_be_heard(config, name, asked: list[tuple[str, ...]]) -> set[str]:
    """The images whose labels may move some pick: those answered before the last pick is made."""
    if config.protocol is Protocol.BATCH:
        return set()
    if config.protocol is Protocol.PAPER and name in ONLINE:
        return {path for each in asked for path in each} - {asked[-1][-1]}
    return {path for each in asked[:-1] for path in each}


def poisoned(config, heard: set[str]):
    """All labels of the pool and the test split moved on by one, but for those heard; validation where it is unused."""
    spent = config.validation is Validation.SPENT
    splits = assign_splits(IMAGES.sha256s, seed=0)
    hidden = [
        path not in heard and not (spent and split == Split.VALIDATION)
        for path, split in zip(IMAGES.paths, splits, strict=True)
    ]
    return replace(IMAGES, labels=torch.where(torch.tensor(hidden), (IMAGES.labels + 1) % 3, IMAGES.labels))


@pytest.mark.parametrize(("name", "protocol", "validation"), HOW)
def test_no_pick_reads_a_label_that_was_not_asked_before_it(name, protocol, validation):
    config = replace(SHORT, protocol=protocol, validation=validation)
    first = picks(config, name)
    assert picks(config, name, poisoned(config, may_be_heard(config, name, first))) == first


@pytest.mark.parametrize("protocol", [Protocol.ROUNDS, Protocol.PAPER])
def test_what_was_asked_is_heard(protocol):
    """The test above would also pass if nothing ever listened to the oracle."""
    config = replace(SHORT, protocol=protocol, validation=Validation.UNUSED)
    assert picks(config, "entropy", poisoned(config, set())) != picks(config, "entropy")


def test_spent_validation_labels_are_heard():
    """Where the model is right on all of them they choose the largest τ, and other images are doubtful."""
    learning = replace(SHORT.learning, taus=(0.1, 1000.0))
    config = replace(SHORT, validation=Validation.SPENT, protocol=Protocol.BATCH, learning=learning)
    guesses = certain_logits(IMAGES.pretrained, IMAGES.features, IMAGES.texts).argmax(dim=1)
    right, wrong = (replace(IMAGES, labels=labels) for labels in (guesses, (guesses + 1) % 3))
    assert picks(config, "entropy", right) != picks(config, "entropy", wrong)


@pytest.mark.parametrize("validation", Validation)
def test_a_leak_would_be_noticed(validation, monkeypatch):
    """An oracle that also tells the labels of images that were not asked."""
    real = simulated._labelled
    unasked = [i for i, inside in enumerate(POOL) if inside]
    monkeypatch.setattr(simulated, "_labelled", lambda images, rows: real(images, [*rows, *unasked]))
    config = replace(SHORT, validation=validation)
    first = picks(config, "entropy")
    assert picks(config, "entropy", poisoned(config, may_be_heard(config, "entropy", first))) != first
