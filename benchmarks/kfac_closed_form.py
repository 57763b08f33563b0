"""KFAC's B in closed form against the textbook form, in one run: `python -m benchmarks.kfac_closed_form`.

Axes: n images · m texts · D joint embedding size. The textbook form makes, for every image, the D × D Jacobian of the
normalisation and the m × m Hessian of the loss in the logits, and multiplies them out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor

from core.posterior.curvature import Likelihood, kfac_b


def textbook_b(embeddings: Tensor, others: Tensor, scale: float, bias: float, likelihood: Likelihood) -> Tensor:
    """Σ_i J_i Yᵀ Λ_i Y J_i [D, D], image by image."""
    y = others / others.norm(dim=1, keepdim=True)
    identity = torch.eye(embeddings.shape[1], dtype=embeddings.dtype)
    total = torch.zeros_like(identity)
    for embedding in embeddings:
        norm = embedding.norm()
        unit = embedding / norm
        jacobian = (identity - torch.outer(unit, unit)) / norm  # [D, D]
        logits = scale * (y @ unit) + bias
        if likelihood is Likelihood.INFONCE:
            p = logits.softmax(dim=0)
            hessian = p.diag() - torch.outer(p, p)  # [m, m]
        else:
            p = logits.sigmoid()
            hessian = (p * (1 - p)).diag()
        directions = scale * y @ jacobian  # [m, D]
        total += directions.T @ hessian @ directions
    return total


def best_time(compute: Callable[[], Tensor], repeats: int) -> tuple[float, Tensor]:
    """The shortest of `repeats` runs in seconds, after one to warm up, and the result."""
    result, times = compute(), []
    for _ in range(repeats):
        started = time.perf_counter()
        result = compute()
        times.append(time.perf_counter() - started)
    return min(times), result


def compare(n: int, m: int, D: int, likelihood: Likelihood) -> str:
    """One line: both times, their ratio, and the largest difference relative to B's largest entry."""
    rng = torch.Generator().manual_seed(0)
    embeddings = 10 * torch.randn(n, D, generator=rng)
    others = 8 * torch.randn(m, D, generator=rng)
    arguments = (embeddings, others, 100.0, -10.0, likelihood)
    slow, expected = best_time(lambda: textbook_b(*arguments), repeats=2)
    fast, ours = best_time(lambda: kfac_b(*arguments), repeats=10)
    difference = float((ours - expected).abs().max() / expected.abs().max())
    return (
        f"{likelihood:8} textbook {slow * 1e3:8.1f} ms   closed form {fast * 1e3:6.2f} ms   "
        f"ratio {slow / fast:6.0f}×   max relative difference {difference:.1e}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="KFAC B: closed form against the textbook form")
    parser.add_argument("--images", type=int, default=32)
    parser.add_argument("--texts", type=int, default=1024)
    parser.add_argument("--size", type=int, default=512, help="joint embedding size D")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"batch {options.images}, {options.texts} texts, D = {options.size}, float32, {options.threads} threads")
    for likelihood in Likelihood:
        print(compare(options.images, options.texts, options.size, likelihood))


if __name__ == "__main__":
    main()
