"""A greedy batch of 50 from 100,000 images × 500 targets × 65 classes, with all pairs in memory and by bounds.

    python -m benchmarks.greedy_batch [--pool 100000] [--targets 500] [--classes 65] [--batch 50]

Both find the same picks; each runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json

import torch

from benchmarks.measuring import alone, describing, peak, product_rate, random_scene, scoring, timed
from core.acquisition.table import Acquisition
from core.bounded import BoundedRanker
from core.kernel import Kernel
from core.selection import GreedyRanker

MODULE = "benchmarks.greedy_batch"
WAYS = {
    "pairs": lambda kernel: GreedyRanker.of(kernel, Acquisition.EPIG),
    "bounds": BoundedRanker,
    "bounds-lean": lambda kernel: BoundedRanker(kernel, slopes=False),
}


def measure(way: str, N: int, M: int, C: int, batch: int) -> dict:
    """Seconds and peak MB of one way."""
    scene = random_scene(N, M, C)
    before = peak()
    describe, kernel = timed(lambda: Kernel.of(scene.posterior, scene.features, scene.targets, scene.texts))
    first, ranker = timed(lambda: WAYS[way](kernel))
    more, picks = timed(lambda: ranker.pick(1))
    rest, others = timed(lambda: ranker.pick(batch - 1, picks))
    return {
        "describe": describe,
        "first": first + more,
        "rest": rest,
        "before": before,
        "peak": peak(),
        "picks": picks + others,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pool", type=int, default=100_000)
    parser.add_argument("--targets", type=int, default=500)
    parser.add_argument("--classes", type=int, default=65)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--way", choices=tuple(WAYS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    N, M, C, batch = options.pool, options.targets, options.classes, options.batch
    torch.set_num_threads(options.threads)
    if options.way:
        print(json.dumps(measure(options.way, N, M, C, batch)))
        return
    rate = product_rate(options.threads)
    print(f"{batch} from {N:,} × {M} × {C}, float32, {options.threads} threads, {rate / 1e9:.0f} G multiply-adds/s")
    print(
        f"floor: describing {describing(N, C) / rate:.1f} s, scoring once {scoring(N, M, C) / rate:.1f} s, "
        f"each pick on all pairs {N * (M + 512) / rate * 1e3:.0f} ms and {12 * N * M / 1e6:.0f} MB of memory"
    )
    flags = ["--pool", N, "--targets", M, "--classes", C, "--batch", batch, "--threads", options.threads]
    found = {way: alone(MODULE, *map(str, flags), "--way", way) for way in WAYS}
    for way, f in found.items():
        total = f["describe"] + f["first"] + f["rest"]
        print(
            f"{way:12} {total:6.1f} s: describing {f['describe']:.1f}, first pick {f['first']:.1f}, "
            f"then {f['rest'] / (batch - 1) * 1e3:.0f} ms a pick   peak {f['peak']:.0f} MB, "
            f"{f['peak'] - f['before']:.0f} MB over inputs   same picks: {f['picks'] == found['pairs']['picks']}"
        )


if __name__ == "__main__":
    main()
