"""Work that threads do ahead of the one who waits for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], *, workers: int, ahead: int
) -> Generator[tuple[Item, Result], None, None]:
    """(item, work(item)) in the order of `items`; `workers` threads, at most `ahead` items begun before their turn.

    Whoever stops early closes it: what has not begun is not begun.
    """
    coming = iter(items)
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        while True:
            for item in islice(coming, ahead - len(waiting)):
                waiting.append((item, pool.submit(work, item)))
            if not waiting:
                return
            item, future = waiting.popleft()
            yield item, future.result()
    finally:
        pool.shutdown(cancel_futures=True)
