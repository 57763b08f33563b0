"""Importing 100,000 small files: seconds, files a second, the peak of memory; then again, and again after some changes.

    python -m benchmarks.import_scale [--files 100000] [--side 64] [--folder DIR]

Files are drawn once (JPEG, two domains, 50 classes); each import runs in a process of its own on an SQLite file.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.measuring import alone, peak, timed

MODULE = "benchmarks.import_scale"
CLASSES, DOMAINS = 50, ("photo", "art")
COPIES = 50  # one file in so many is a copy of the one before
CHANGED = 100  # files that are changed, moved, removed and added each, before the last import


def draw(folder: Path, files: int, side: int) -> None:
    """`files` JPEGs of noise, each of its own but for the copies."""
    path = folder / "first"
    for number in range(files):
        before, path = path, folder / DOMAINS[number % 2] / f"class {number // 2 % CLASSES}" / f"{number:06d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        if number and number % COPIES == 0:
            shutil.copyfile(before, path)
        else:
            picture(number, side).save(path, quality=80)


def picture(number: int, side: int) -> Image.Image:
    """Blocks of noise, the same for the same number."""
    noise = np.random.default_rng(number).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize((side, side), Image.Resampling.BILINEAR)


def change(folder: Path, files: int, side: int) -> None:
    """Change, move, remove and add some files."""
    some = [path for path in sorted(folder.rglob("*.jpg")) if int(path.stem) % COPIES not in (0, COPIES - 1)]
    count = min(CHANGED, len(some) // 4)
    changed, moved, removed = (some[i * count : (i + 1) * count] for i in range(3))
    for number, path in enumerate(changed):
        picture(files + number, side).save(path, quality=80)
    for path in moved:
        path.rename(path.with_name(f"m{path.name}"))
    for path in removed:
        path.unlink()
    for number in range(count):
        picture(2 * files + number, side).save(changed[0].with_name(f"new{number}.jpg"), quality=80)


def measure(home: str, folder: str, what: str) -> dict:
    """One step in this process: its seconds, the peak in MB, and what changed."""
    os.environ["PENUMBRA_HOME"] = home
    from core import duplicates, importing
    from core.projects import create_from_folder, get_project
    from core.team import Serves
    from db.session import open_database

    database = open_database(f"sqlite:///{home}/penumbra.sqlite")
    if what == "first":
        create_from_folder(database, name="scale", folder=Path(folder))
    before = peak()
    if what == "duplicates":
        seconds, groups = timed(lambda: duplicates.groups(database, 1))
        copies = len(duplicates.groups(database, 1, Serves.COPIES))
        return {"seconds": seconds, "peak": peak(), "before": before, "groups": len(groups), "copies": copies}
    seconds, changes = timed(lambda: importing.take_in(database, get_project(database, 1)))
    names = ("files", "new", "changed", "moved", "vanished", "unreadable")
    found = {name: getattr(changes, name) for name in names}
    return {"seconds": seconds, "peak": peak(), "before": before, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--side", type=int, default=64, help="pixels")
    parser.add_argument("--folder", type=Path, help="where the files are drawn, and left; default: a temporary one")
    parser.add_argument("step", nargs="*", help=argparse.SUPPRESS)  # what its own processes do
    args = parser.parse_args()
    if args.step:
        print(json.dumps(measure(*args.step)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.folder or Path(temporary)) / "images"
        home = Path(temporary) / "home"
        home.mkdir()
        if not folder.exists():
            draw(folder, args.files, args.side)
        print(f"{args.files:,} files of {args.side} x {args.side} pixels")
        for what in ("first", "again", "changed", "duplicates"):
            if what == "changed":
                change(folder, args.files, args.side)
            found = alone(MODULE, str(home), str(folder), what)
            rate = found.get("files", args.files) / found["seconds"]
            told = {name: value for name, value in found.items() if name not in ("seconds", "peak", "before")}
            print(
                f"{what:>10}: {found['seconds']:8.1f} s, {rate:8,.0f} files/s, peak {found['peak']:,.0f} MB "
                f"({found['before']:,.0f} before), {json.dumps(told)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
