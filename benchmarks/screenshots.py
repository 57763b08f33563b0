"""Every page of a project in a real Chromium, light and dark, on three screens, as PNG files to look at.

    python -m benchmarks.screenshots FOLDER [--learn] [--only PAGE] [--screen 1280] [--theme dark] [--readme]

The project is of $PENUMBRA_HOME, the demo project where none is named. `--learn` first answers 72 of its images in
three rounds, one in twelve wrongly, and simulates some, which stays: use it on a data folder of its own, as
`make screenshots` does. `--readme` renews the pictures of the README in docs/ as well. Pages are read from
pages/main.py.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from core import atlas, audit, rounds, workspace
from core.config import database_url, home
from core.demo_project import NAME
from core.projects import find_project, get_project
from core.simulation.curve import SimulationConfig
from core.simulation.study import project_images, run_study, tasks_of
from db import repository
from db.repository import LabelKind, NewLabel
from db.session import Database, open_database
from tests.conftest import ROOT
from tests.e2e.conftest import FLAGS, Server

SCREENS = {"1280": (1280, 800), "1920": (1920, 1080), "tablet": (820, 1180)}
ROUNDS, ANSWERS, PEOPLE = 3, 24, ("Ada", "Grace", "Linus")
THEMES = ("light", "dark")
TEAM = ("people", "agreement", "review", "flags", "gold", "classes", "settings")
VIEWS = {
    "projects": {"": ""},
    "annotate": {"": "", "grid": "view=grid"},
    "explore": {
        "": "",
        "duplicates": "view=duplicates",
        "doubts": "view=doubts",
        "problems": "view=problems",
        "search": "q=a+blue+cup",
    },
    "team": {view: f"view={view}" for view in TEAM},
    "prolip": {tab.lower(): f"tab={tab}" for tab in ("Texts", "Images", "Hierarchy", "Prompts")},
}
README = {"annotate": "annotate-1280-light", "explore": "explore-1280-light", "rounds": "rounds-1280-light"}


@dataclass(frozen=True, slots=True)
class View:
    """A page as it is opened."""

    page: str
    name: str
    query: str


def main() -> None:
    asked = _arguments()
    database = open_database(database_url())
    project = find_project(database, asked.project).id
    if asked.learn:
        learn(database, project)
    asked.folder.mkdir(parents=True, exist_ok=True)
    server = Server(home())
    server.start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(FLAGS))
            for path in taken(browser, server.url, project, asked):
                print(path, flush=True)
            browser.close()
    finally:
        server.stop()
    if asked.readme:
        for name, picture in README.items():
            shutil.copyfile(asked.folder / f"{picture}.png", ROOT / "docs" / f"{name}.png")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--project", default=NAME)
    parser.add_argument("--learn", action="store_true", help="first give answers, in three rounds")
    parser.add_argument("--only", help="one page alone")
    parser.add_argument("--screen", choices=SCREENS)
    parser.add_argument("--theme", choices=THEMES)
    parser.add_argument("--readme", action="store_true", help="renew docs/ too")
    return parser.parse_args()


def learn(database: Database, project: int) -> None:
    """Answers of three people as the folders state them, one in twelve wrong; a map and judged answers."""
    for number in range(ROUNDS):
        items = [item.id for item in workspace.rank(database, project, limit=ANSWERS)]
        with database.write() as s:
            stated, classes = repository.reference(s, project), repository.project(s, project).classes
            for at, item in enumerate(items):
                person = repository.person(s, PEOPLE[at % len(PEOPLE)])
                answer = classes[(stated[item] + (at % 12 == 11)) % len(classes)].id
                event = NewLabel(f"shown-{number}-{at}", item, LabelKind.ANSWER, answer, source="epig", lead_ms=1800)
                repository.record(s, project, person, [event])
        rounds.run_round(database, project)
    for build in (atlas.build, audit.build):
        build(database, project)
    simulate(database, project)


def simulate(database: Database, project: int) -> None:
    """Three strategies with two seeds."""
    images, row = project_images(database, project), get_project(database, project)
    tasks = tasks_of(("random", "epig", "entropy-wasserstein"), range(2))
    config = SimulationConfig(rounds=4)
    asked = {"source": row.name, "target": row.target_domain, "project_id": project}
    run_study(database, images, tasks=tasks, config=config, **asked)


def views(only: str | None = None) -> list[View]:
    """Every registered page in its order, and what is seen of it."""
    pages = re.findall(r'st\.Page\("(\w+)\.py"', (ROOT / "pages" / "main.py").read_text(encoding="utf-8"))
    return [
        View(page, name, query)
        for page in pages
        if only in (None, page)
        for name, query in VIEWS.get(page, {"": ""}).items()
    ]


def taken(browser: Browser, url: str, project: int, asked: argparse.Namespace) -> Iterator[Path]:
    """Each picture, once it is there: `page-view-screen-theme.png`, the screen as it opens and the page in full."""
    for screen in [asked.screen] if asked.screen else SCREENS:
        width, height = SCREENS[screen]
        for theme in [asked.theme] if asked.theme else THEMES:
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=theme, has_touch=screen == "tablet"
            )
            context.add_cookies([{"name": "penumbra_person", "value": "Ada", "url": url}])
            page = context.new_page()
            for view in views(asked.only):
                place = "" if view.page == "projects" else view.page
                page.goto(f"{url}/{place}?project={project}&{view.query}")
                at_rest(page)
                path = asked.folder / f"{'-'.join(filter(None, (view.page, view.name, screen, theme)))}.png"
                page.screenshot(path=path)
                yield path
                yield whole(page, path, width, height)
            context.close()


def at_rest(page: Page, seconds: float = 120) -> None:
    """The script has run, no skeleton and no progress is left, and what is in sight has been drawn."""
    page.wait_for_selector("[data-testid=stMainBlockContainer]", timeout=1000 * seconds)
    page.wait_for_timeout(500)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=1000 * seconds)
    page.wait_for_function("() => !document.querySelector('[data-testid=stSkeleton]')", timeout=1000 * seconds)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1000)


def whole(page: Page, path: Path, width: int, height: int) -> Path:
    """The page in full: the screen is made as high as what scrolls in it."""
    tall = page.evaluate("() => document.querySelector('[data-testid=stMain]')?.scrollHeight ?? 0")
    page.set_viewport_size({"width": width, "height": min(max(tall, height), 6000)})
    page.wait_for_timeout(1200)
    target = path.with_name(f"{path.stem}-whole.png")
    page.screenshot(path=target)
    page.set_viewport_size({"width": width, "height": height})
    return target


if __name__ == "__main__":
    main()
