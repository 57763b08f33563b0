"""Demonstration pictures that this program draws itself: twelve things of desk and home in four styles.

Nothing is copied or loaded: each picture is a small model of a thing, built at random from curved sheets, looked at
through a pinhole camera and drawn in the manner of its domain. They lie in folders as those of OfficeHome do.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import numpy as np

from core.data.demo.catalogue import RECIPES
from core.data.demo.styles import STYLES
from core.values import Progress, silent

DEMO_CLASSES: tuple[str, ...] = tuple(RECIPES)
DEMO_DOMAINS: tuple[str, ...] = tuple(STYLES)

VERSION = 1
NOTE = "These images are drawn by Penumbra's program from a seed; they are free of rights (CC0 1.0)."


def draw_demo(
    folder: Path, *, seed: int = 0, per_class: int = 20, size: int = 224, on_progress: Progress = silent
) -> Path:
    """Draw `folder/<domain>/<Class>/<class>_<nnn>.jpg`, `per_class` pictures of `size` pixels a class and domain.

    The same seed gives the same bytes. Of a set that was completed only missing pictures are drawn: `demo.json`,
    written last, says what is there. Stops where `on_progress` raises and leaves no `demo.json` then. Returns `folder`.
    """
    folder = Path(folder)
    manifest = {
        "note": NOTE,
        "version": VERSION,
        "seed": seed,
        "per_class": per_class,
        "size": size,
        "classes": list(DEMO_CLASSES),
        "domains": list(DEMO_DOMAINS),
    }
    jobs = list(_jobs(folder, per_class))
    if _manifest(folder) == manifest:  # only then are pictures already there these
        jobs = [job for job in jobs if not job[-1].is_file()]
    if not jobs:
        return folder
    (folder / "demo.json").unlink(missing_ok=True)
    for parent in {path.parent for *_, path in jobs}:
        parent.mkdir(parents=True, exist_ok=True)
    _draw_all(jobs, seed, size, on_progress)
    (folder / "demo.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return folder


def _jobs(folder: Path, per_class: int) -> Iterator[tuple[str, str, int, Path]]:
    """Domain, class, number and path of each picture."""
    for domain in DEMO_DOMAINS:
        for name in DEMO_CLASSES:
            for index in range(per_class):
                yield domain, name, index, folder / domain / name / f"{name.lower()}_{index + 1:03d}.jpg"


def _manifest(folder: Path) -> dict | None:
    """What `demo.json` says, or None where there is none that can be read."""
    try:
        return json.loads((folder / "demo.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _draw_all(jobs: list[tuple[str, str, int, Path]], seed: int, size: int, on_progress: Progress) -> None:
    """Draw in threads: arrays and Pillow work outside the interpreter's lock, and threads start anywhere."""
    pool = ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, 8))
    try:
        drawn = [pool.submit(_draw, *job, seed, size) for job in jobs]
        for done, picture in enumerate(as_completed(drawn), 1):
            picture.result()
            on_progress(done, len(jobs), "drawing the demo images")
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _draw(domain: str, name: str, index: int, path: Path, seed: int, size: int) -> None:
    """Draw one picture; its randomness depends on nothing but what it is."""
    rng = np.random.default_rng([seed, zlib.crc32(f"{domain}/{name}".encode()), index])
    STYLES[domain](name, rng, size).save(path, quality=90)
