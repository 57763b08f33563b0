"""The same picks and figures, to the last bit, however the work is cut: rows, blocks, memory, processes."""

from dataclasses import replace

import pytest

from core.finetune import Labelled
from core.learning import learn
from core.simulation.curve import Protocol, curve
from core.simulation.parallel import Task, curves
from core.simulation.strategies import STRATEGIES, Setting
from tests.simulation.cuts import few_rows, little_memory, small_blocks
from tests.simulation.scene import CONFIG, images_of
from tests.small import generator

SHORT = replace(CONFIG, rounds=1)
BY_BOUNDS = [name for name in STRATEGIES if name.startswith("epig") and name != "epig-draws"]
PAIRS = 1e-5  # GB: the pairs of the scene do not fit, the slopes of its bounds do
BOUNDS = 1e-6  # GB: nor do these
BATCH = 12


@pytest.fixture(scope="module")
def setting():
    """What a strategy may see after 20 answers."""
    images = images_of()
    taken = list(range(0, 60, 3))
    answers = Labelled(images.features[taken], images.labels[taken])
    learned = learn(images.pretrained, images.texts, answers, None, rng=generator(), config=CONFIG.learning)
    targets = images.features[range(1, 120, 2)]
    return Setting(learned.posterior, images.features, targets, images.texts, taken, generator(), CONFIG.rho)


def picked(setting, name) -> list[int]:
    return STRATEGIES[name].pick(replace(setting, rng=generator(5)), BATCH)


def cut(monkeypatch) -> None:
    """All at once."""
    few_rows(monkeypatch, 7)
    small_blocks(monkeypatch)
    little_memory(monkeypatch, BOUNDS)


def run(images, name, config=SHORT):
    return list(curve(images, "here", name, 0, config))


@pytest.mark.parametrize("name", STRATEGIES)
def test_rows_blocks_and_memory_change_no_pick(setting, name, monkeypatch):
    expected = picked(setting, name)
    assert len(expected) == BATCH
    for rows in (7, 50):
        with monkeypatch.context() as patch:
            few_rows(patch, rows)
            assert picked(setting, name) == expected, f"{rows} rows at once"
    with monkeypatch.context() as patch:
        small_blocks(patch)
        assert picked(setting, name) == expected, "small blocks"
    for gigabytes in (PAIRS, BOUNDS) if name in BY_BOUNDS else ():
        with monkeypatch.context() as patch:
            few_rows(patch, 50)
            little_memory(patch, gigabytes)
            assert picked(setting, name) == expected, f"{gigabytes} GB"


@pytest.mark.parametrize("name", STRATEGIES)
def test_so_the_curves_are_the_same(name, monkeypatch):
    images = images_of()
    expected = run(images, name)
    cut(monkeypatch)
    assert run(images, name) == expected


@pytest.mark.parametrize("name", ["epig", "bald", "entropy"])
def test_nor_do_they_in_the_papers_protocol(name, monkeypatch):
    images, config = images_of(), replace(SHORT, protocol=Protocol.PAPER)
    expected = run(images, name, config)
    cut(monkeypatch)
    assert run(images, name, config) == expected


def test_the_cuts_are_cuts(monkeypatch):
    """The tests above would pass, too, if nothing were cut."""
    images = images_of()
    for gigabytes, slopes in ((PAIRS, True), (BOUNDS, False)):
        with monkeypatch.context() as patch:
            parts, made = few_rows(patch, 7), little_memory(patch, gigabytes)
            run(images, "epig")
            assert max(parts) == 7
            assert made == [slopes]


def test_the_number_of_processes_changes_no_strategy(monkeypatch):
    images, tasks = images_of(), [Task(name, 3) for name in STRATEGIES]
    expected = {task: list(curve(images, "here", *task, SHORT)) for task in tasks}
    monkeypatch.setenv("PENUMBRA_MEMORY_GB", str(BOUNDS))  # the processes inherit it
    assert dict(curves(images, "here", tasks, SHORT, workers=2)) == expected
