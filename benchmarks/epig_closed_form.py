"""Closed-form EPIG against Monte Carlo with joint draws: time, peak memory, and whether they rank alike.

    python -m benchmarks.epig_closed_form [--pool 10000] [--targets 500] [--classes 7] [--draws 4000]

Axes: N pool images · M target images · C classes · K draws. Each runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from benchmarks.measuring import alone, describing, peak, product_rate, random_scene, scoring, timed
from core.acquisition.epig import epig_monte_carlo
from core.logits import joint_draws
from core.selection import GreedyRanker
from core.values import Features

MODULE = "benchmarks.epig_closed_form"


def closed_form(scene, K: int) -> torch.Tensor:
    """Second-order EPIG [N]."""
    return GreedyRanker.from_posterior(scene.posterior, scene.features, scene.targets, scene.texts).scores()


def monte_carlo(scene, K: int) -> torch.Tensor:
    """EPIG [N] from K draws of the image head that serve pool and targets alike."""
    both = Features.cat([scene.features, scene.targets])
    draws = joint_draws(scene.posterior, both, scene.texts, K, torch.Generator().manual_seed(1))
    return epig_monte_carlo(draws[: len(scene.features)], draws[len(scene.features) :])


WAYS = {"closed": closed_form, "draws": monte_carlo}


def rank_correlation(one: torch.Tensor, other: torch.Tensor) -> float:
    """Spearman's: the correlation of the ranks."""
    ranks = torch.stack([each.argsort().argsort().double() for each in (one, other)])
    return float(torch.corrcoef(ranks)[0, 1])


def main() -> None:
    options = _arguments()
    torch.set_num_threads(options.threads)
    if options.way:
        scene = random_scene(options.pool, options.targets, options.classes, tau=options.tau, spread=0.3)
        before = peak()
        seconds, scores = timed(lambda: WAYS[options.way](scene, options.draws))
        save_file({"scores": scores}, options.out)
        print(json.dumps({"seconds": seconds, "peak": peak(), "before": before}))
        return
    _compare(options)


def _compare(options: argparse.Namespace) -> None:
    N, M, C, K = options.pool, options.targets, options.classes, options.draws
    rate = product_rate(options.threads)
    work = {"closed": describing(N, C) + scoring(N, M, C), "draws": N * K * (C * 512 + C * C) + N * M * K * C * C}
    print(
        f"{N:,} × {M} × {C}, {K:,} joint draws, float32, {options.threads} threads, {rate / 1e9:.0f} G multiply-adds/s"
    )
    scores, seconds = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for way in WAYS:
            out = str(Path(folder) / way)
            given = {
                key: str(getattr(options, key)) for key in ("pool", "targets", "classes", "draws", "threads", "tau")
            }
            flags = [word for key, value in given.items() for word in (f"--{key}", value)]
            figures = alone(MODULE, *flags, "--way", way, "--out", out)
            scores[way], seconds[way] = load_file(out)["scores"], figures["seconds"]
            print(
                f"{way:7} {figures['seconds']:8.2f} s (floor {work[way] / rate:6.2f})   peak {figures['peak']:.0f} MB, "
                f"{figures['peak'] - figures['before']:6.0f} MB over inputs"
            )
    print(
        f"ratio {seconds['draws'] / seconds['closed']:.0f}×   rank correlation "
        f"{rank_correlation(scores['closed'], scores['draws']):.3f}"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pool", type=int, default=10_000)
    parser.add_argument("--targets", type=int, default=500)
    parser.add_argument("--classes", type=int, default=7)
    parser.add_argument("--draws", type=int, default=4_000)
    parser.add_argument("--tau", type=float, default=1.0, help="pseudo-data count: the covariance falls with it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--way", choices=tuple(WAYS), help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
