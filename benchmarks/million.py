"""Ranking 1,000,000 × 512 cached features × 65 classes towards 500 targets in bounded memory.

    python -m benchmarks.million [--pool 1000000] [--batch 20] [--memory-gb 7] [--folder DIR]

Random features are written once to a temporary feature store, as shards on disk; the ranking runs in another process.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

import torch

from benchmarks.measuring import Scene, alone, describing, peak, product_rate, random_scene, scoring, timed
from core.acquisition.table import Acquisition
from core.config import memory_budget
from core.features import FeatureStore
from core.ranking import make_ranker
from core.stored import pool_features

MODULE = "benchmarks.million"
SHARD = 16_384
p = 512


def keys(n: int) -> list[str]:
    """What the images are stored under."""
    return [hashlib.sha256(str(i).encode()).hexdigest() for i in range(n)]


def write(folder: Path, N: int, C: int) -> None:
    """N random features in shards."""
    store, names = FeatureStore(folder, "random"), keys(N)
    scene = random_scene(SHARD, 1, C)
    for number, start in enumerate(range(0, N, SHARD)):
        some = names[start : start + SHARD]
        rng = torch.Generator().manual_seed(number)
        noise = torch.randn(len(some), p, generator=rng)
        store.append(some, type(scene.features)(scene.features.activations[: len(some)] + noise))


def measure(folder: Path, N: int, M: int, C: int, batch: int, memory: int) -> dict:
    """Seconds of each step and the peak in MB."""
    scene: Scene = random_scene(1, M, C)
    store = FeatureStore(folder, "random")
    before = peak()
    opening, pool = timed(lambda: pool_features(store, keys(N), memory))
    rest = scene.posterior, pool, scene.targets, scene.texts
    rng = torch.Generator().manual_seed(0)
    describe, ranker = timed(lambda: make_ranker(Acquisition.EPIG, *rest, rng=rng, memory=memory))
    first, picks = timed(lambda: ranker.pick(1))
    more, _ = timed(lambda: ranker.pick(batch - 1, picks))
    return {
        "opening": opening,
        "describe": describe,
        "first": first,
        "rest": more,
        "before": before,
        "peak": peak(),
        "kinds": [type(pool).__name__, type(ranker).__name__],
    }


def main() -> None:
    options = _arguments()
    torch.set_num_threads(options.threads)
    N, M, C = options.pool, options.targets, options.classes
    memory = memory_budget(options.memory_gb)
    if options.measure:
        print(json.dumps(measure(Path(options.folder), N, M, C, options.batch, memory)))
        return
    folder = Path(options.folder or tempfile.mkdtemp(prefix="penumbra-million-"))
    try:
        seconds, _ = timed(lambda: write(folder, N, C)) if not any(folder.glob("random/*")) else (0.0, None)
        written = sum(path.stat().st_size for path in folder.glob("random/*"))
        rate = product_rate(options.threads)
        print(
            f"{N:,} × {p}, {written / 1e9:.2f} GB in shards, written in {seconds:.0f} s; budget {memory / 1e9:.1f} GB"
        )
        flags = {key: str(getattr(options, key)) for key in ("pool", "targets", "classes", "batch", "threads")}
        words = [word for key, value in flags.items() for word in (f"--{key}", value)]
        f = alone(MODULE, *words, "--memory-gb", str(memory / 1e9), "--folder", str(folder), "--measure")
        floor = describing(N, C) / rate, scoring(N, M, C) / rate
        print(f"{rate / 1e9:.0f} G multiply-adds/s; {', '.join(f['kinds'])}")
        print(
            f"opening {f['opening']:.1f} s, describing {f['describe']:.1f} s (floor {floor[0]:.1f}), "
            f"scores and first pick {f['first']:.1f} s (floor {floor[1]:.1f}, scores alone), "
            f"then {f['rest'] / max(1, options.batch - 1):.2f} s a pick"
        )
        print(f"peak {f['peak']:.0f} MB resident, {f['before']:.0f} MB of it before there was a pool (limit 8,000 MB)")
    finally:
        if not options.folder:
            shutil.rmtree(folder)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pool", type=int, default=1_000_000)
    parser.add_argument("--targets", type=int, default=500)
    parser.add_argument("--classes", type=int, default=65)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--memory-gb", type=float, default=7.0)
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--folder", help="keep the store here and use it again")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
