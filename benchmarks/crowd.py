"""Everybody at work on one project: people in several processes, a worker, an import, migrations.

A process notes in its journal what it saw; nothing here counts.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path

import torch

from core import jobs, rounds, worker
from core.queue import Card, queue_for
from db import repository
from db.models import JobState
from db.repository import LabelKind, NewLabel
from db.session import Database, open_database
from tests.toy import ToyEncoder, draw, toy_factors

ORDER = "epig"
TWICE, BACK = 0.1, 0.05  # shares of answers that are sent again, or taken back
SCREEN = 3  # images leased to a person at a time
FIRST_ROUND = 20  # answers
SIDE = 64  # of a drawn image, in pixels
_processes = multiprocessing.get_context("forkserver")  # torch is loaded once
_processes.set_forkserver_preload(["benchmarks.crowd"])


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A project in a database, and who labels it how fast."""

    url: str
    home: Path
    project: int = 0
    annotators: int = 20
    processes: int = 4
    presses: int = 40  # of each
    pause: float = 0.4  # seconds between two, on average
    images: int = 1600
    more_images: int = 120  # that come in meanwhile


@dataclass
class Journal:
    """What one process saw."""

    sent: list[tuple] = field(default_factory=list)  # (key, item, person, kind, class) of what was acknowledged
    again: int = 0
    in_vain: int = 0  # times that nothing was served, as others were faster
    served: set[tuple[int, int]] = field(default_factory=set)  # (item, person)
    press: list[float] = field(default_factory=list)  # seconds from the key to the next images, the answer stored
    saved: list[float] = field(default_factory=list)  # seconds of that until it was stored
    errors: list[str] = field(default_factory=list)
    imports: int = 0
    migrations: int = 0
    rounds: int = 0


@contextmanager
def colours() -> Iterator[None]:
    """In this process models are encoders that see only colour; all else is real."""
    before = rounds.encoder_for, rounds.factors_for
    rounds.encoder_for, rounds.factors_for = (lambda model: ToyEncoder()), toy_factors
    try:
        yield
    finally:
        rounds.encoder_for, rounds.factors_for = before


def at_work(database: Database, scene: Scene, people: list[int]) -> tuple[dict[str, Journal], Journal]:
    """The journals of all processes by name, and that of the rounds."""
    results, over = _processes.Queue(), _processes.Event()
    start = _processes.Barrier(scene.processes + 1)
    shares = [people[i :: scene.processes] for i in range(scene.processes)]
    work = {f"people {i}": (_label, share) for i, share in enumerate(shares)} | {
        "others": (_others, over),
    }
    started: list[BaseProcess] = [
        _processes.Process(target=_process, args=(name, what, scene, argument, start, results), daemon=True)
        for name, (what, argument) in work.items()
    ]
    learner = _processes.Process(target=_work_off, args=(scene, os.getpid()))
    for each in (*started, learner):
        each.start()
    try:
        return _gather(database, scene, started, results, over)
    finally:
        for each in started:
            each.join(30)
        os.kill(learner.pid or 0, signal.SIGTERM)
        learner.join(30)


def _gather(
    database: Database, scene: Scene, started: list[BaseProcess], results, over: Event
) -> tuple[dict[str, Journal], Journal]:
    """Queue one round after the other until all people are done, then let the rest end."""
    journals: dict[str, Journal] = {}
    learned, job = Journal(), None
    while len(journals) < len(started) or job is not None:
        alive = any(each.is_alive() for each in started)
        with suppress(queue.Empty):
            name, journals[name] = results.get(timeout=0.2)
            alive = True
        if not alive and len(journals) < len(started):
            learned.errors.append("a process ended without a word")
            break
        if sum(name.startswith("people") for name in journals) == scene.processes:
            over.set()
        job = _learn(database, scene.project, job, learned, more=not over.is_set())
    return journals, learned


def _learn(database: Database, project: int, job: int | None, learned: Journal, more: bool) -> int | None:
    """Queue a round where there are answers enough and none is on the way; the id of the one that is."""
    if job is None:
        with database.read() as s:
            enough = more and len(repository.answers(s, project)) >= FIRST_ROUND
        return jobs.enqueue(database, project, "round", {}) if enough else None
    row = jobs.job(database, job)
    if row.state in (JobState.QUEUED, JobState.RUNNING):
        return job
    learned.rounds += row.state == JobState.DONE
    learned.errors += [] if row.state == JobState.DONE else [f"round: {row.error}"]
    return None


def _process(name: str, work: Callable, scene: Scene, argument, start, results) -> None:
    """One process: all wait for each other, then work; what goes wrong is noted."""
    _enter(scene)
    journal = Journal()
    try:
        database = open_database(scene.url)
        start.wait(120)
        work(database, scene, argument, journal)
        database.close()
    except Exception:
        journal.errors.append(f"{name}: {traceback.format_exc(limit=-3)}")
    results.put((name, journal))


def _enter(scene: Scene) -> None:
    torch.set_num_threads(1)
    os.environ |= {"PENUMBRA_HOME": str(scene.home), "PENUMBRA_DATABASE_URL": scene.url}


def _label(database: Database, scene: Scene, people: list[int], journal: Journal) -> None:
    with database.read() as s:
        classes = [each.id for each in repository.project(s, scene.project).classes]
    with ThreadPoolExecutor(len(people)) as pool:
        list(pool.map(lambda person: _annotate(database, scene, person, classes, journal), people))


def _annotate(database: Database, scene: Scene, person: int, classes: list[int], journal: Journal) -> None:
    """One person: ask, answer the first image, ask again."""
    rng = random.Random(person)
    try:
        cards = _served(database, scene, person, journal)
        for number in range(scene.presses):
            time.sleep(rng.uniform(0, 2 * scene.pause))
            pressed = time.perf_counter()
            event = NewLabel(
                f"{person}:{number}", cards[0].item_id, LabelKind.ANSWER, rng.choice(classes), source=ORDER
            )
            _send(database, scene, person, event, journal, rng.random() < TWICE)
            journal.saved.append(time.perf_counter() - pressed)
            if rng.random() < BACK:
                undo = NewLabel(f"{person}:{number}:back", event.item_id, LabelKind.UNDO, source=ORDER)
                _send(database, scene, person, undo, journal)
            cards = _served(database, scene, person, journal)
            journal.press.append(time.perf_counter() - pressed)
    except Exception:
        journal.errors.append(f"person {person}: {traceback.format_exc(limit=-3)}")


def _served(database: Database, scene: Scene, person: int, journal: Journal) -> list[Card]:
    """The person's next images; asked for again where others got all that were wished for, as a page does."""
    for _ in range(20):
        cards = queue_for(database, scene.project, ORDER).serve(person, SCREEN)
        journal.served |= {(card.item_id, person) for card in cards}
        if cards:
            return cards
        journal.in_vain += 1
        time.sleep(0.02)
    raise RuntimeError("there is no image left: give more --images")


def _send(
    database: Database, scene: Scene, person: int, event: NewLabel, journal: Journal, twice: bool = False
) -> None:
    line = queue_for(database, scene.project, ORDER)
    for _ in range(1 + twice):
        (stored,) = line.apply(person, [event])
        if not stored.accepted:
            raise RuntimeError(f"{event.event_key} was refused: {stored.reason}")
    journal.sent.append((event.event_key, event.item_id, person, str(event.kind), event.class_id))
    journal.again += twice


def _others(database: Database, scene: Scene, over: Event, journal: Journal) -> None:
    """What else happens: images come in, and servers start, which brings the tables up to date."""
    with ThreadPoolExecutor(2) as pool:
        for each in [pool.submit(work, database, scene, over, journal) for work in (_import, _migrate)]:
            each.result()


def _import(database: Database, scene: Scene, over: Event, journal: Journal) -> None:
    """New images into the folder and from there into the project, in six portions."""
    portion = max(1, scene.more_images // 6)
    with colours():
        for first in range(scene.images, scene.images + scene.more_images, portion):
            for number in range(first, min(first + portion, scene.images + scene.more_images)):
                draw(scene.home / "images", number, SIDE)
            rounds.prepare(database, scene.project)
            journal.imports += 1
            if over.wait(1):
                return


def _migrate(database: Database, scene: Scene, over: Event, journal: Journal) -> None:
    while not over.wait(0.2):
        open_database(scene.url).close()
        journal.migrations += 1


def _work_off(scene: Scene, parent: int) -> None:
    """The worker; a job's child runs this module, for its encoder."""
    _enter(scene)
    command = [sys.executable, "-m", "benchmarks.crowd"]
    worker.run_worker(Database(scene.url), tied_to=parent, poll=0.1, command=lambda job: [*command, str(job)])


def main() -> None:
    """A job's child."""
    torch.set_num_threads(1)
    with colours():
        worker.run_job(Database(os.environ["PENUMBRA_DATABASE_URL"]), int(sys.argv[1]))


if __name__ == "__main__":
    main()
