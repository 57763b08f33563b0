"""Key press → next image painted, in a real Chromium: 200 presses on a pool of 3,000, and how many were lost.

    python -m benchmarks.annotate_latency [--project NAME] [--presses 200] [--pause 0.1]

Without --project, a project of 3,000 drawn images is made in a temporary data folder, with an encoder that sees only
colour: the queue, the database, the images and the browser are real. With it, that project of $PENUMBRA_HOME is
labelled (and its answers stay): use a copy.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from core.config import database_url, home
from core.projects import find_project
from db import repository
from db.session import Database, open_database
from tests.e2e.conftest import FLAGS, Server
from tests.e2e.desk import FRAME, Desk
from tests.toy import make_project

POOL_SHARE = 0.7  # of a project's images: the rest is validation and test

WATCH = f"""() => {{
  const frame = {FRAME};
  window.times = [];
  let pressed = null;
  document.addEventListener('keydown', () => {{ pressed = [performance.now(), frame.dataset.item] }}, true);
  new MutationObserver(() => {{
    const [item, painted] = (frame.dataset.painted ?? '').split('@');
    if (pressed === null || item === pressed[1]) return;
    window.times.push(Number(painted) - pressed[0]);
    pressed = null;
  }}).observe(frame, {{ attributes: true, attributeFilter: ['data-painted'] }});
}}"""


def main() -> None:
    asked = _arguments()
    if asked.project:
        database = open_database(database_url())
        figures = measure(database, home(), find_project(database, asked.project).id, asked.presses, asked.pause)
    else:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["PENUMBRA_HOME"] = folder
            database = open_database(database_url())
            with pytest.MonkeyPatch.context() as patch:
                images = round(asked.pool / POOL_SHARE)
                project = make_project(database, Path(folder) / "images", images, "latency", patch)
            figures = measure(database, Path(folder), project, asked.presses, asked.pause)
    print(json.dumps(figures, indent=2))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--project", help="an existing project's name; its answers stay")
    parser.add_argument("--pool", type=int, default=3000, help="images to label, without --project")
    parser.add_argument("--presses", type=int, default=200)
    parser.add_argument("--pause", type=float, default=0.1, help="seconds from press to press")
    return parser.parse_args()


def measure(database: Database, folder: Path, project: int, presses: int, pause: float) -> dict:
    """p50, p95 and worst in milliseconds; `lost`: presses that are not in the database on the image then on screen."""
    with database.read() as session:
        before = repository.last_label_id(session, project)
        pool = repository.counts(session, project).pool
    server = Server(folder)
    server.start()
    try:
        seen, times = _press(server, project, presses, pause)
    finally:
        server.stop()
    stored = _stored(database, project, before)
    return {
        "pool": pool,
        "presses": presses,
        "pause_ms": round(1000 * pause),
        "p50_ms": round(statistics.median(times), 1),
        "p95_ms": round(statistics.quantiles(times, n=20)[-1], 1),
        "worst_ms": round(max(times), 1),
        "lost": presses - sum(left == right for left, right in zip(seen, stored, strict=False)),
    }


def _press(server: Server, project: int, presses: int, pause: float) -> tuple[list[int], list[float]]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(FLAGS))
        context = browser.new_context(viewport={"width": 1366, "height": 860})
        context.add_cookies([{"name": "penumbra_person", "value": "Benchmark", "url": server.url}])
        desk = Desk(context.new_page(), f"{server.url}/annotate?project={project}")
        desk.load()
        time.sleep(3)  # the next images arrive
        desk.page.evaluate(WATCH)
        seen = desk.press("1", presses, pause)
        desk.saved(seen[-1], 30)
        times = desk.page.evaluate("() => window.times")
        browser.close()
    return seen, times


def _stored(database: Database, project: int, before: int) -> list[int]:
    """Images of the new answers, in the order in which they were written."""
    with database.read() as session:
        rows = [row for row in repository.standing(session, project) if row.label_id > before]
    return [row.item_id for row in sorted(rows, key=lambda row: row.label_id)]


if __name__ == "__main__":
    main()
