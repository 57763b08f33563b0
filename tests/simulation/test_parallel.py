"""Curves from several processes."""

from dataclasses import replace

import pytest

from core.errors import Cancelled, InputError
from core.simulation.curve import curve
from core.simulation.parallel import BASE, Task, curves, workers_for
from tests.simulation.scene import CONFIG, images_of

TASKS = [Task("epig", 0), Task("random", 0)]


def test_the_curves_are_those_of_one_process(tmp_path):
    images, seen = images_of(), []
    found = dict(curves(images, "here", TASKS, CONFIG, workers=2, on_progress=lambda *args: seen.append(args)))
    assert found == {task: list(curve(images, "here", *task, CONFIG)) for task in TASKS}
    assert seen[-1][:2] == (8, 8)


def test_an_error_in_a_process_arrives():
    few = images_of(3)
    with pytest.raises(InputError, match="larger folder"):
        list(curves(few, "here", TASKS[:1], CONFIG, workers=1))


def test_cancelling_stops_the_processes():
    def cancel(done, total, message):
        raise Cancelled

    config = replace(CONFIG, rounds=25, batch=1)
    with pytest.raises(Cancelled):
        list(curves(images_of(), "here", TASKS, config, workers=1, on_progress=cancel))


def test_as_many_processes_as_there_is_memory_for():
    assert workers_for(1000, 100, memory=BASE) == 1
    assert workers_for(10, 1, memory=100 * BASE) == 1
    assert 1 <= workers_for(1000, 100, memory=3 * BASE) <= 2
