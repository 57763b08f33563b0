"""KFAC's B in closed form against the per-image form, in one run: `python -m benchmarks.kfac_closed_form`.

Axes: n images · m texts · D joint embedding size. The textbook form makes, for every image, the D × D Jacobian of the
normalisation and the m × m Hessian of the loss in the logits, and multiplies them out. The frugal form is as much as
can be saved image by image: the Hessian's diagonal and rank one are used as such. Both are linear in the images, so
the textbook form is timed on the first few and its time scaled. Beside each time stands its arithmetic floor: the
operations of its matrix products over the rate at which this machine multiplies matrices in the same run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.machine import best_time, product_rate
from core.posterior.curvature import Likelihood, kfac_b

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def textbook_b(embeddings: Tensor, others: Tensor, scale: float, bias: float, likelihood: Likelihood) -> Tensor:
    """Σ_i J_i Yᵀ Λ_i Y J_i [D, D], image by image, Λ_i [m, m] written out."""

    def one(unit: Tensor, norm: Tensor, y: Tensor) -> Tensor:
        jacobian = (torch.eye(len(unit), dtype=unit.dtype) - torch.outer(unit, unit)) / norm  # [D, D]
        logits = scale * (y @ unit) + bias
        if likelihood is Likelihood.INFONCE:
            p = logits.softmax(dim=0)
            hessian = p.diag() - torch.outer(p, p)  # [m, m]
        else:
            p = logits.sigmoid()
            hessian = (p * (1 - p)).diag()
        directions = scale * y @ jacobian  # [m, D]
        return directions.T @ hessian @ directions

    return _summed(one, embeddings, others)


def frugal_b(embeddings: Tensor, others: Tensor, scale: float, bias: float, likelihood: Likelihood) -> Tensor:
    """The same, image by image, but with J_i and Λ_i applied and never formed."""

    def one(unit: Tensor, norm: Tensor, y: Tensor) -> Tensor:
        cosines = y @ unit
        directions = (y - torch.outer(cosines, unit)) * (scale / norm)  # [m, D]
        logits = scale * cosines + bias
        if likelihood is Likelihood.INFONCE:
            p = logits.softmax(dim=0)
            mean = p @ directions
            return directions.T @ (p[:, None] * directions) - torch.outer(mean, mean)
        p = logits.sigmoid()
        return directions.T @ ((p * (1 - p))[:, None] * directions)

    return _summed(one, embeddings, others)


def _summed(one: Callable[[Tensor, Tensor, Tensor], Tensor], embeddings: Tensor, others: Tensor) -> Tensor:
    y = others / others.norm(dim=1, keepdim=True)
    total = embeddings.new_zeros(embeddings.shape[1], embeddings.shape[1])
    for embedding in embeddings:
        norm = embedding.norm()
        total += one(embedding / norm, norm, y)
    return total


def operations(n: int, m: int, D: int, likelihood: Likelihood) -> dict[str, float]:
    """Of the matrix products in each form; a product and a sum are two."""
    infonce = likelihood is Likelihood.INFONCE
    return {
        "textbook": n * (2 * m * D * D + 2 * D * m * m + 2 * m * D * D),
        "frugal": n * 2 * m * D * D,
        "closed form": (3 if infonce else 2) * 2 * n * m * D + 2 * m * D * D + (2 if infonce else 1) * 2 * n * D * D,
    }


def compare(n: int, m: int, D: int, likelihood: Likelihood, dtype: torch.dtype, timed: int) -> list[str]:
    """A line for each form: its time, its floor, how many times slower than the closed form, the difference to it."""
    rng = torch.Generator().manual_seed(0)
    embeddings = 10 * torch.randn(n, D, generator=rng, dtype=dtype)
    others = 8 * torch.randn(m, D, generator=rng, dtype=dtype)
    settings = (others, 100.0, -10.0, likelihood)
    closed, ours = best_time(lambda: kfac_b(embeddings, *settings), repeats=20)
    frugal, theirs = best_time(lambda: frugal_b(embeddings, *settings), repeats=2)
    some = embeddings[:timed]
    textbook, few = best_time(lambda: textbook_b(some, *settings), repeats=1)
    measured = {
        "textbook": (textbook * n / len(some), few, kfac_b(some, *settings)),
        "frugal": (frugal, theirs, ours),
        "closed form": (closed, ours, ours),
    }
    rate, lines = product_rate(dtype), []
    for form, count in operations(n, m, D, likelihood).items():
        took, result, expected = measured[form]
        floor, difference = count / rate, float((result - expected).abs().max() / expected.abs().max())
        lines.append(
            f"{likelihood:8} {form:12} {took * 1e3:9.1f} ms   floor {floor * 1e3:9.1f} ms ({took / floor:4.1f}×)   "
            f"{took / closed:6.0f}× the closed form   max relative difference {difference:.1e}"
        )
    return [f"this machine multiplies matrices at {rate / 1e9:.0f} GFLOP/s", *lines]


def main() -> None:
    parser = argparse.ArgumentParser(description="KFAC B: closed form against the per-image forms")
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--texts", type=int, default=4096)
    parser.add_argument("--size", type=int, default=512, help="joint embedding size D")
    parser.add_argument("--timed", type=int, default=4, help="images that the textbook form is timed on")
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    sizes = f"batch {options.images}, {options.texts} texts, D = {options.size}"
    print(f"{sizes}, {options.dtype}, {options.threads} threads")
    for likelihood in Likelihood:
        sizes = (options.images, options.texts, options.size)
        print(*compare(*sizes, likelihood, DTYPES[options.dtype], options.timed), sep="\n")


if __name__ == "__main__":
    main()
