"""Work on the machines of a Ray cluster, in order, where PENUMBRA_RAY_ADDRESS names one.

Every machine has this program at the same place, the same packages, and what the work reads: images below the same path
or in a store of objects. What is shared by all pieces of work (an encoder) is sent once to each process there, so its
weights are the same bits, and each piece runs with as many threads as it would here: the results are those of this
machine wherever the processors are of one kind.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import torch

from core.config import home
from core.errors import InputError, ModelError, NotReady, PenumbraError

Item = TypeVar("Item")
Result = TypeVar("Result")

ROOT = Path(__file__).resolve().parent.parent
AHEAD = 2  # pieces of work that wait for each process
RETRIES = 3  # of a piece whose machine was lost


def ray_address() -> str | None:
    """The cluster: $PENUMBRA_RAY_ADDRESS, such as 10.0.0.5:6379, "auto", or "local" for one of its own; or None."""
    return os.environ.get("PENUMBRA_RAY_ADDRESS") or None


class Cluster:
    """Processes on a Ray cluster, each with what all pieces of work share; `with` ends them.

    Raises NotReady where Ray is missing, InputError where the cluster does not answer.
    """

    def __init__(self, shared: Any, *, gpu: bool = False) -> None:
        self._ray = ray = _connected()
        threads = torch.get_num_threads()
        cpus = min(threads, max(int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]))
        whole = ray.cluster_resources()
        count = whole.get("GPU", 0) if gpu else whole.get("CPU", 0) // max(1, cpus)
        self._held = ray.put(shared)  # kept: a process that is started again asks for it
        kind = ray.remote(num_cpus=cpus, num_gpus=int(gpu), max_restarts=RETRIES, max_task_retries=RETRIES)(_Holder)
        self._actors = [kind.remote(self._held, threads, str(home())) for _ in range(max(1, int(count)))]
        self._begun = 0

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        for actor in self._actors:
            self._ray.kill(actor)

    @property
    def room(self) -> int:
        """How many pieces of work to begin before the first is done."""
        return AHEAD * len(self._actors)

    def begin(self, work: Callable[..., Result], *inputs: Any) -> Any:
        """Begin work(shared, *inputs); a promise of the result, which may be among the inputs of other work.

        `work` is a function of a module of this program.
        """
        self._begun += 1
        return self._actors[self._begun % len(self._actors)].do.remote(work, *inputs)

    def result(self, promise: Any) -> Any:
        """What was promised; raises what `work` raised, ModelError where a machine was lost again and again."""
        try:
            return self._ray.get(promise)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, PenumbraError):
                raise error.cause from None  # without the trace of the other machine
            raise
        except self._ray.exceptions.RayError as error:
            raise ModelError(f"the Ray cluster could not do the work ({type(error).__name__}): {error}") from error

    def wait(self, promise: Any) -> None:
        """Until the promise is kept, or broken."""
        self._ray.wait([promise])


def on_ray(
    work: Callable[[Any, Item], Result], shared: Any, items: Iterable[Item], *, gpu: bool = False
) -> Generator[Result, None, None]:
    """work(shared, item) of each item, in their order; a few of them are begun before their turn.

    Whoever stops early closes it, which ends the processes there. Raises as `Cluster` does, and what `work` raises.
    """
    with Cluster(shared, gpu=gpu) as cluster:
        coming, waiting = iter(items), deque[Any]()
        while True:
            for item in islice(coming, cluster.room - len(waiting)):
                waiting.append(cluster.begin(work, item))
            if not waiting:
                return
            yield cluster.result(waiting.popleft())


class _Holder:
    """A process of the cluster that keeps what all pieces of work share."""

    def __init__(self, shared: Any, threads: int, folder: str) -> None:
        os.environ.setdefault("PENUMBRA_HOME", folder)  # for copies of remote images
        torch.set_num_threads(threads)
        self._shared = shared

    def do(self, work: Callable[..., Any], *inputs: Any) -> Any:
        return work(self._shared, *inputs)


def _connected() -> Any:
    """Ray, connected to the cluster."""
    try:
        import ray
    except ImportError as error:
        raise NotReady(
            "PENUMBRA_RAY_ADDRESS is set, but Ray is not installed: pip install -r requirements-far.txt"
        ) from error
    address = ray_address()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report to its makers
    if not ray.is_initialized():
        try:
            ray.init(
                address=address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"env_vars": {"PYTHONPATH": str(ROOT)}},
            )
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            raise InputError(
                f"no Ray cluster answers at PENUMBRA_RAY_ADDRESS={address}: start it (ray start --head), or unset the "
                f"variable ({type(error).__name__}: {str(error)[:200]})"
            ) from error
    return ray
