"""What the benchmarks of big pools share: random scenes, a process for each way, and the machine's own rate."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from core.posterior.laplace import Posterior, fit
from core.values import Features, Heads, KroneckerFactors

MB = 2**20


@dataclass(frozen=True, slots=True)
class Scene:
    """A random posterior, with pool, targets and class texts; sizes are those of a small CLIP."""

    posterior: Posterior
    features: Features
    targets: Features
    texts: Features


def random_scene(
    N: int, M: int, C: int, p: int = 512, D: int = 512, *, tau: float = 10.0, spread: float = 1.0
) -> Scene:
    """Images lie `spread` around one centre a class, which its text embedding points to. Float32, seed 0."""
    rng = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=rng)

    def images(n: int) -> Features:
        return Features(centres[torch.randint(C, (n,), generator=rng)] + spread * normal(n, p))

    def factor(size: int) -> Tensor:
        root = normal(size, size + 50).double()
        return root @ root.T / size

    centres, image_head = normal(C, p), normal(D, p) / p**0.5
    heads = Heads(image_head, torch.eye(D), scale=20.0)
    image, text = (KroneckerFactors(factor(size), factor(D), 10_000) for size in (p, D))
    posterior = fit(heads, image, text, tau=tau, fingerprint="random")
    return Scene(posterior, images(N), images(M), Features(centres @ image_head.T))


def product_rate(threads: int, seconds: float = 1.0) -> float:
    """Multiply-adds a second of this machine's float32 matrix product, [2048, 512] × [512, 2048], now."""
    torch.set_num_threads(threads)
    left, right = torch.randn(2048, 512), torch.randn(512, 2048)
    out, count, started = left @ right, 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        torch.mm(left, right, out=out)
        count += 1
    return count * 2048 * 512 * 2048 / (time.perf_counter() - started)


def describing(N: int, C: int, p: int = 512, D: int = 512) -> float:
    """Multiply-adds of embedding N images and classifying them: mean, spread, and three products of the logits."""
    return N * (p * D + p * p + 3 * D * C)


def scoring(N: int, M: int, C: int, p: int = 512) -> float:
    """Multiply-adds of closed-form EPIG: κ, and the three products of `pair_information`."""
    return N * M * (p + 3 * C)


def timed(compute: Callable):
    """(seconds, result)"""
    started = time.perf_counter()
    result = compute()
    return time.perf_counter() - started, result


def peak() -> float:
    """The most memory this process ever had resident, in MB; mapped files count."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def alone(module: str, *arguments: str) -> dict:
    """What `python -m module arguments` prints as one JSON document: a process of its own has a peak of its own."""
    run = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"{module} {' '.join(arguments)} failed:\n{run.stderr}")
    return json.loads(run.stdout)
