"""20 people label at once while images come in, rounds are learned and the database is opened anew: what goes wrong?

    python -m benchmarks.annotators [--database sqlite|postgresql] [--annotators 20] [--presses 40] [--pause 0.4]

Both databases by default; PostgreSQL is a server of its own in a temporary folder, which waits for the disk. The people
are threads of several processes that share nothing but the database, as behind several web servers: each asks its queue
for images, answers the first, sends some answers twice as a browser does after a broken connection, and takes some
back. A worker process learns rounds; one more process reads new images in, another one runs the migrations.

    lost             answers that were acknowledged and are not in the log as they were sent
    doubled          events in the log beyond those
    double servings  images that two people got, where one is asked
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from sqlalchemy import select

from benchmarks.crowd import SIDE, Journal, Scene, at_work, colours
from core import projects, rounds
from db import repository
from db.models import Label
from db.session import Database, open_database
from tests import postgres
from tests.toy import CLASSES, draw


def run(scene: Scene) -> dict:
    """Make the project, let everybody work, and count."""
    os.environ |= {"PENUMBRA_HOME": str(scene.home), "PENUMBRA_DATABASE_URL": scene.url}
    database = open_database(scene.url)
    project, people = _project(database, scene), _people(database, scene.annotators)
    started = time.monotonic()
    journals, learned = at_work(database, replace(scene, project=project), people)
    seconds = time.monotonic() - started
    counts = _count(database, project, [journal for name, journal in journals.items() if name.startswith("people")])
    database.close()
    errors = [error for journal in (*journals.values(), learned) for error in journal.errors]
    return {
        "database": scene.url.split(":")[0].split("+")[0],
        "people": scene.annotators,
        **counts,
        "rounds": learned.rounds,
        "imports": journals["others"].imports,
        "migration_checks": journals["others"].migrations,
        "seconds": round(seconds, 1),
        "errors": len(errors),
        **({"first_errors": errors[:3]} if errors else {}),
    }


def _project(database: Database, scene: Scene) -> int:
    folder = scene.home / "images"
    for number in range(scene.images):
        draw(folder, number, SIDE)
    with colours():
        project = projects.create_from_folder(database, name="annotators", folder=folder, classes=CLASSES)
        rounds.prepare(database, project)
    return project


def _people(database: Database, n: int) -> list[int]:
    with database.write() as s:
        return [repository.person(s, f"annotator {i}") for i in range(n)]


def _count(database: Database, project: int, journals: list[Journal]) -> dict:
    sent = [event for journal in journals for event in journal.sent]
    stored = _stored(database, project)
    people = defaultdict(set)
    for item, person in set().union(*(journal.served for journal in journals)):
        people[item].add(person)
    return {
        "answers_sent": len(sent),
        "sent_twice": sum(journal.again for journal in journals),
        "stored": len(stored),
        "lost": len(set(sent) - set(stored)),
        "doubled": len(stored) - len(set(sent) & set(stored)),
        "images_served": len(people),
        "double_servings": sum(len(who) > 1 for who in people.values()),
        "served_in_vain": sum(journal.in_vain for journal in journals),
        **_quantiles("saved", [each for journal in journals for each in journal.saved]),
        **_quantiles("press", [each for journal in journals for each in journal.press]),
    }


def _stored(database: Database, project: int) -> list[tuple]:
    columns = (Label.event_key, Label.item_id, Label.person_id, Label.kind, Label.class_id)
    with database.read() as s:
        rows = s.execute(select(*columns).where(Label.project_id == project)).all()
    return [(key, item, person, str(kind), class_id) for key, item, person, kind, class_id in rows]


def _quantiles(name: str, seconds: list[float]) -> dict[str, float]:
    if len(seconds) < 2:
        return {}
    return {
        f"{name}_p50_ms": round(1000 * statistics.median(seconds), 1),
        f"{name}_p95_ms": round(1000 * statistics.quantiles(seconds, n=20)[-1], 1),
    }


def main() -> None:
    asked = _arguments()
    size = {"annotators": asked.annotators, "presses": asked.presses, "pause": asked.pause, "images": asked.images}
    for kind in [asked.database] if asked.database else ["sqlite", "postgresql"]:
        print(json.dumps(measure(kind, size), indent=2), flush=True)


def measure(kind: str, size: dict) -> dict:
    """`run` on a database of this kind in a temporary folder; for PostgreSQL where it is installed."""
    with tempfile.TemporaryDirectory() as folder:
        if kind == "sqlite":
            return run(Scene(url=f"sqlite:///{folder}/penumbra.sqlite", home=Path(folder), **size))
        if reason := postgres.missing():
            return {"database": kind, "left_out": reason}
        with postgres.server(durable=True) as server:
            return run(Scene(url=server.empty(), home=Path(folder), **size))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", choices=["sqlite", "postgresql"], help="only this one")
    parser.add_argument("--annotators", type=int, default=20)
    parser.add_argument("--presses", type=int, default=40, help="answers of each")
    parser.add_argument("--pause", type=float, default=0.4, help="seconds between two, on average")
    parser.add_argument("--images", type=int, default=1600)
    return parser.parse_args()


if __name__ == "__main__":
    main()
