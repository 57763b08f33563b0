"""What this machine can do, measured in the same run as what is compared with it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import torch

T = TypeVar("T")


def best_time(compute: Callable[[], T], repeats: int, warm_up: bool = True) -> tuple[float, T]:
    """The shortest of `repeats` runs in seconds, after one to warm up, and the result."""
    times = []
    for _ in range(repeats + warm_up):
        started = time.perf_counter()
        result = compute()
        times.append(time.perf_counter() - started)
    return min(times[warm_up:]), result


def product_rate(dtype: torch.dtype) -> float:
    """Operations a second (a product and a sum are two) of the fastest of many matrix products of two sizes."""
    rng, rates = torch.Generator().manual_seed(0), []
    for size, repeats in ((512, 100), (1024, 20)):
        a, b = (torch.randn(size, size, generator=rng, dtype=dtype) for _ in range(2))
        rates.append(2 * size**3 / best_time(lambda a=a, b=b: a @ b, repeats)[0])
    return max(rates)
