"""Simulations in the process of the test."""

import pytest

from core.simulation import study
from core.simulation.curve import curve


@pytest.fixture
def in_this_process(monkeypatch):
    """The processes of core/simulation/parallel.py have tests of their own, and take seconds to start."""

    def curves(images, target, tasks, config, *, workers, on_progress):
        done, total = 0, len(tasks) * (config.rounds + 1)
        for task in tasks:
            points = []
            for point in curve(images, target, *task, config):
                done += 1
                points.append(point)
                on_progress(done, total, "")
            yield task, points

    monkeypatch.setattr(study, "curves", curves)
