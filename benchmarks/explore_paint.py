"""Explore on 10,000 images in a real Chromium: first paint of the grid, what went over the wire, memory while browsing.

    python -m benchmarks.explore_paint [--images 10000] [--browse 2000]

A project of small textured JPEGs is made in a temporary data folder, with an encoder that sees only colour: database,
map, pages and browser are real. "opened" is a load of the address in a browser that knows Streamlit's own scripts;
"switched" is a click on Explore from the Projects page. Bytes are those of the socket (uncompressed) and of the
thumbnails; Streamlit's scripts, the same for every page and kept by the browser for good, are told apart. Memory is
what the server's process holds resident, after the first page of thumbnails and after the last.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, sync_playwright

from core import atlas
from core.config import database_url
from db.session import Database, open_database
from pages.parts.explore_grid import TILES
from tests.e2e.conftest import FLAGS, Server
from tests.toy import CLASSES, make_project

REPEATS = 5
GRID = (
    "[...document.querySelectorAll('[data-testid=stBidiComponentIsolated]')]"
    ".map(host => host.shadowRoot?.querySelector('.grid')).find(Boolean)"
)
PAINTED = f"""() => {{
  const first = {GRID}?.querySelector('img');
  return first?.complete && first.naturalWidth > 0 ? performance.now() : false;
}}"""
ALL_PAINTED = f"""before => {{
  const shown = [...({GRID}?.querySelectorAll('img') ?? [])];
  return shown.length && shown[0].src !== before && shown.every(each => each.complete && each.naturalWidth > 0);
}}"""


def main() -> None:
    asked = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PENUMBRA_HOME"] = folder
        database = open_database(database_url())
        started = time.perf_counter()
        project = make(database, Path(folder) / "images", asked.images)
        figures = {"images": asked.images, "made_in_s": round(time.perf_counter() - started, 1)}
        figures |= measure(Path(folder), project, asked.browse)
    print(json.dumps(figures, indent=2))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--browse", type=int, default=2_000, help="images whose thumbnails are looked at")
    return parser.parse_args()


def make(database: Database, folder: Path, images: int, name: str = "paint") -> int:
    """A project of textured images with its map."""
    with pytest.MonkeyPatch.context() as patch:
        project = make_project(database, folder, images, name, patch, draw=textured)
        atlas.build(database, project)
    return project


def textured(folder: Path, number: int) -> None:
    """A small image of its own whose thumbnail weighs about as much as a photo's: its hue is its class."""
    position, rng = number % len(CLASSES), np.random.default_rng(number)
    hue = np.array([20 * position, 220 - 18 * position, 60 + 50 * (position % 3)])
    coarse = np.clip(hue + rng.normal(0, 45, (36, 48, 3)), 0, 255).astype(np.uint8)
    path = folder / CLASSES[position] / f"{number:05d}.jpg"
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(coarse).resize((256, 192), Image.Resampling.BICUBIC).save(path, quality=85)


def measure(folder: Path, project: int, browse: int) -> dict:
    """First paints in seconds, bytes of the first one, and memory in MB."""
    server = Server(folder)
    server.start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(FLAGS))
            figures = painting(browser.new_context(viewport={"width": 1366, "height": 860}), server, project)
            figures |= browsing(browser.new_context(viewport={"width": 1366, "height": 2400}), server, project, browse)
            browser.close()
    finally:
        server.stop()
    return figures


def painting(context: BrowserContext, server: Server, project: int) -> dict:
    """First paints of the grid, and the bytes of the first of all, where no thumbnail is known to the browser yet."""
    page = _page(context, server)
    page.goto(f"{server.url}/?project={project}")  # Streamlit's own scripts
    page.get_by_role("link", name="Explore").first.wait_for()
    wire = Wire(context, page)
    first = opened(page, server, project)
    page.wait_for_timeout(2500)
    sent = wire.figures()
    again = [opened(page, server, project) for _ in range(REPEATS)]
    inside = [switched(page) for _ in range(REPEATS)]
    context.close()
    paints = {"first": first, "opened": statistics.median(again), "switched": statistics.median(inside)}
    paints |= {"opened_best": min(again), "switched_best": min(inside)}
    rounded = {name: round(each, 2) for name, each in paints.items()}
    return {"paint_s": rounded, "load_of_machine": os.getloadavg()[0], "bytes": sent}


def _page(context: BrowserContext, server: Server) -> Page:
    context.add_cookies([{"name": "penumbra_person", "value": "Benchmark", "url": server.url}])
    return context.new_page()


def opened(page: Page, server: Server, project: int) -> float:
    """Seconds from asking for the address to the first thumbnail."""
    page.goto(f"{server.url}/explore?project={project}", wait_until="commit")
    return page.wait_for_function(PAINTED, polling="raf", timeout=120_000).json_value() / 1000


def switched(page: Page) -> float:
    """Seconds from a click in the menu of another page to the first thumbnail."""
    page.get_by_role("link", name="Projects").first.click()
    page.wait_for_function(f"() => !{GRID}", timeout=60_000)
    page.wait_for_timeout(2000)
    page.evaluate(
        "() => document.addEventListener('click', () => { window.pressed = performance.now() }, "
        "{ capture: true, once: true })"
    )
    page.get_by_role("link", name="Explore").first.click()
    painted = page.wait_for_function(PAINTED, polling="raf", timeout=120_000).json_value()
    return (painted - page.evaluate("() => window.pressed")) / 1000


class Wire:
    """Bytes that a page receives, from now on."""

    def __init__(self, context: BrowserContext, page: Page) -> None:
        self.socket, self.urls, self.sizes = 0, {}, {}
        session = context.new_cdp_session(page)
        session.on("Network.webSocketFrameReceived", self._frame)
        session.on("Network.responseReceived", lambda e: self.urls.update({e["requestId"]: e["response"]["url"]}))
        session.on("Network.loadingFinished", lambda e: self.sizes.update({e["requestId"]: e["encodedDataLength"]}))
        session.send("Network.enable")

    def _frame(self, event: dict) -> None:
        frame = event["response"]
        length = len(frame["payloadData"])
        self.socket += length * 3 // 4 if frame["opcode"] == 2 else length  # binary frames are told in base64

    def figures(self) -> dict:
        images = [size for each, size in self.sizes.items() if "/img/" in self.urls.get(each, "")]
        rest = sum(self.sizes.values()) - sum(images)
        return {"socket": self.socket, "thumbnails": sum(images), "how_many": len(images), "scripts": int(rest)}


def browsing(context: BrowserContext, server: Server, project: int, images: int) -> dict:
    """The server's memory before and after `images` thumbnails, a page after the other, and how much of it is new."""
    page = _page(context, server)
    opened(page, server, project)
    pages = -(-images // TILES)
    before, started = resident(server), time.perf_counter()
    turn(page, pages)
    seconds = (time.perf_counter() - started) / pages
    context.close()
    after = resident(server)
    figures = {"before_mb": before, "after_mb": after, "growth_mb": after - before}
    return {"browsed": pages * TILES, "page_turn_s": round(seconds, 2), "memory": figures}


def turn(page: Page, pages: int) -> None:
    """Turn this many pages of the grid, each looked at in full."""
    for _ in range(pages):
        page.wait_for_function(ALL_PAINTED, arg="", timeout=120_000)
        before = page.evaluate(f"() => {GRID}.querySelector('img').src")
        page.get_by_role("button", name="Next page").click()
        page.wait_for_function(ALL_PAINTED, arg=before, timeout=120_000)


def resident(server: Server) -> int:
    """MB that the server's process holds in memory (Linux)."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) // 1024


if __name__ == "__main__":
    main()
