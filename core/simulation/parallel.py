"""Learning curves in several processes, one thread each: as many as there are processors and memory for.

A curve is the same whichever process computes it and however many there are.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from typing import Any, NamedTuple

import torch
import torch.multiprocessing

from core.config import memory_budget
from core.errors import PenumbraError
from core.process import gone_check
from core.ranking import TARGETS
from core.simulation.curve import Point, SimulationConfig, curve
from core.simulation.images import Images
from core.values import Progress, silent

BASE = 700_000_000  # bytes that a process takes before it holds any pair of images
POLL = 0.3  # seconds between two reports of progress


class Task(NamedTuple):
    """One curve."""

    strategy: str
    seed: int


def workers_for(images: int, tasks: int, memory: int | None = None) -> int:
    """How many processes: one for each processor, within `memory` bytes (default `memory_budget()`), at least 1."""
    each = BASE + 3 * 4 * images * min(images, TARGETS)
    room = (memory or memory_budget()) // each
    return max(1, min(tasks, len(os.sched_getaffinity(0)), room))


def curves(
    images: Images,
    target: str | None,
    tasks: Sequence[Task],
    config: SimulationConfig,
    *,
    workers: int | None = None,
    on_progress: Progress = silent,
) -> Iterator[tuple[Task, list[Point]]]:
    """Each curve as soon as it is whole; progress counts points. Raises what a curve raises.

    What `on_progress` raises (Cancelled) stops the processes within a point; so does leaving the iteration.
    """
    if not tasks:
        return
    count = workers or workers_for(len(images), len(tasks))
    context: Any = torch.multiprocessing.get_context("spawn")  # shares tensors instead of copying them
    stop, done = context.Event(), context.Value("q", 0)
    total = len(tasks) * (config.rounds + 1)
    with ProcessPoolExecutor(count, context, _begin, (images, target, config, os.getpid(), stop, done)) as pool:
        try:
            waiting = {pool.submit(_curve, task): task for task in tasks}
            while waiting:
                finished, _ = wait(waiting, POLL, FIRST_COMPLETED)
                on_progress(done.value, total, f"simulating, {count} at a time")
                for future in finished:
                    yield waiting.pop(future), future.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


_state: dict[str, Any] = {}  # of a process that computes curves: what `_begin` was given


def _begin(images: Images, target: str | None, config: SimulationConfig, parent: int, stop: Any, done: Any) -> None:
    torch.set_num_threads(1)
    _state.update(images=images, target=target, config=config, stop=stop, done=done)
    threading.Thread(target=_end_with, args=(gone_check(parent),), daemon=True).start()


def _end_with(gone) -> None:
    while not gone():
        threading.Event().wait(1)
    os._exit(1)


def _curve(task: Task) -> list[Point]:
    points = []
    for point in curve(_state["images"], _state["target"], task.strategy, task.seed, _state["config"]):
        if _state["stop"].is_set():
            raise PenumbraError("stopped")
        with _state["done"].get_lock():
            _state["done"].value += 1
        points.append(point)
    return points
