"""The command line: the same core as the pages, for scripts and servers.

`--json` prints one JSON document on stdout; progress and errors go to stderr. Exit status 2: what was given cannot be
used; 1: anything else went wrong. State lives under PENUMBRA_HOME (default ./data).
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path

from core.errors import Cancelled, InputError, PenumbraError
from core.progress import Bar

SCORES = ("epig", "bald", "entropy", "random")  # spelt out: torch would take seconds to import for --help
BATCHES = ("greedy", "quota", "power", "cosine", "wasserstein")
NARROWINGS = ("none", "cosine", "wasserstein")
STRATEGIES = ("random", "epig", "bald", "entropy", "random-wasserstein", "entropy-wasserstein")
Result = dict | None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    args = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO if args.verbose else logging.WARNING, stream=sys.stderr)
    try:
        result = args.run(args)
    except InputError as error:
        return _fail(error, 2)
    except Cancelled as error:
        return _fail(error, 1)
    except PenumbraError as error:
        return _fail(error, 1)
    except KeyboardInterrupt:
        return _fail("stopped; what was done is kept, run it again to go on", 1)
    if result is not None:
        print(json.dumps(result, default=_plain) if args.json else _table(result))
    return 0


def _fail(error: object, status: int) -> int:
    print(f"error: {error}", file=sys.stderr)
    return status


def _plain(value: object) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def _database():
    from core.config import database_url
    from db.session import open_database

    return open_database(database_url())


# --- commands ----------------------------------------------------------------------------------------------------


def import_(args) -> Result:
    """Take a folder of images in as a project and rank it."""
    from core.rounds import create_from_folder, prepare
    from db import repository

    database = _database()
    project_id = create_from_folder(
        database,
        name=args.project,
        folder=Path(args.folder),
        model=args.model,
        prompt=args.prompt,
        target_domain=args.target,
        seed=args.seed,
        classes=tuple(args.classes.split(",")) if args.classes else None,
    )
    with Bar() as bar:
        prepare(database, project_id, bar)
    with database.read() as s:
        problems = [asdict(problem) for problem in repository.problems(s, project_id)]
    return _status(database, project_id) | {"problem_files": problems}


def rank(args) -> Result:
    """The images to label next, best first."""
    from core.acquisition.table import Acquisition
    from core.config import memory_budget
    from core.ranking import Batch
    from core.rounds import find_project, rank
    from core.targeting import Metric

    memory = memory_budget(args.memory_gb)
    database = _database()
    project = find_project(database, args.project)
    narrow = None if args.narrow == "none" else Metric(args.narrow)
    options = {"narrow": narrow, "limit": args.limit, "batch": args.batch and Batch(args.batch), "memory": memory}
    ranking = rank(database, project.id, score=Acquisition(args.score), **options)
    return {"project": project.name, "score": args.score, "batch": args.batch} | asdict(ranking)


def label(args) -> Result:
    """Store answers from a CSV file (columns path, label)."""
    from core.labels_csv import import_labels
    from core.rounds import find_project

    database = _database()
    project = find_project(database, args.project)
    return {"project": project.name, "stored": import_labels(database, project.id, Path(args.csv), args.annotator)}


def round_(args) -> Result:
    """Learn from all answers, refit the posterior, measure."""
    from core.rounds import find_project, run_round

    database = _database()
    project = find_project(database, args.project)
    with Bar() as bar:
        row = run_round(database, project.id, on_progress=bar)
    return {"project": project.name} | _figures(row)


def status(args) -> Result:
    """How far a project is."""
    from core.rounds import find_project

    database = _database()
    return _status(database, find_project(database, args.project).id)


def simulate(args) -> Result:
    """Learning curves of strategies on a labelled folder; the oracle answers from the folder names."""
    from core.simulate import SimulationConfig, Strategy, load_images, simulate

    with Bar() as bar:
        images = load_images(Path(args.folder), target=args.target, model=args.model, on_progress=bar)
        points = simulate(
            images,
            target=args.target,
            strategies=[Strategy(name) for name in args.strategies],
            seeds=range(args.seeds),
            config=SimulationConfig(batch=args.batch, rounds=args.rounds),
            on_progress=bar,
        )
        found = [asdict(point) for point in points]
    return {"folder": args.folder, "target": args.target, "model": args.model, "split": "test", "curves": found}


def demo(args) -> Result:
    """Draw the demo images and make the demo project of them."""
    from core.demo_project import make_demo_project

    database = _database()
    with Bar() as bar:
        project_id = make_demo_project(database, on_progress=bar)
    return _status(database, project_id)


def curvature(args) -> Result:
    """Estimate a model's curvature from folders of image–text pairs, which its posterior needs once."""
    from core.curvatures import estimate_curvature
    from core.rounds import encoder_for

    encoder = encoder_for(args.model)
    with Bar() as bar:
        folders = [Path(folder) for folder in args.folders]
        path = estimate_curvature(args.model, encoder, folders, hold_out=args.hold_out, on_progress=bar)
    return {"model": args.model, "fingerprint": encoder.fingerprint, "file": str(path)}


def train_mini(args) -> Result:
    """Train mini's heads and estimate their curvature from folders of image–text pairs."""
    from core.encoders.train_mini import train_mini

    with Bar() as bar:
        return train_mini([Path(folder) for folder in args.folders], on_progress=bar)


def worker(args) -> Result:
    """Do queued jobs until told to stop."""
    from core.worker import run_worker

    run_worker(_database(), tied_to=args.tied)
    return None


def run_job(args) -> Result:
    """Do one queued job in this process (what the worker starts)."""
    from core.worker import run_job

    return {"job": args.id, "state": str(run_job(_database(), args.id))}


# --- what they print ---------------------------------------------------------------------------------------------


def _status(database, project_id: int) -> dict:
    from core.rounds import get_project
    from db import repository

    project = get_project(database, project_id)
    with database.read() as s:
        counts = asdict(repository.counts(s, project_id))
        rounds = [_figures(row) for row in repository.rounds(s, project_id)]
    about = {key: getattr(project, key) for key in ("name", "model", "target_domain", "seed", "root")}
    return {"project": about["name"], **about, "classes": [c.name for c in project.classes], **counts, "rounds": rounds}


def _figures(row) -> dict:
    served = row.metrics.get(row.metrics["served"]) or {}
    figures = {key: served.get(key) for key in ("accuracy", "nlpd", "ece")}
    kept = {key: row.metrics.get(key) for key in ("split", "n", "bins", "served", "tau", "posterior", "map")}
    return {"round": row.number, "labels": row.labels, **figures, **kept, "seconds": row.seconds}


def _table(result: dict) -> str:
    """For a person: scalars as lines, lists of records as aligned tables."""
    import pandas as pd

    parts = []
    for key, value in result.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            columns = [name for name, cell in value[0].items() if not isinstance(cell, (dict, list, tuple))]
            parts.append(f"\n{key}\n{pd.DataFrame(value)[columns].to_string(index=False, float_format='%.3f')}")
        elif not isinstance(value, (dict, list)):
            parts.append(f"{key}: {value:.3f}" if isinstance(value, float) else f"{key}: {value}")
        elif value:
            parts.append(f"{key}: {', '.join(map(str, value))}")
    return "\n".join(parts)


# --- the parser --------------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m core", description=__doc__.split("\n")[0])
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    common.add_argument("--verbose", action="store_true", help="say what is being done, on stderr")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable, *positional: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, parents=[common], help=run.__doc__, description=run.__doc__)
        added.set_defaults(run=run)
        for each in positional:
            added.add_argument(each)
        return added

    def on_project(name: str, run: Callable) -> argparse.ArgumentParser:
        added = command(name, run)
        added.add_argument("--project", required=True, metavar="NAME")
        return added

    _import_options(command("import", import_, "folder"))
    ranking = on_project("rank", rank)
    ranking.add_argument("--score", choices=SCORES, default="epig")
    ranking.add_argument("--narrow", choices=NARROWINGS, default="none", help="keep only the targets' neighbours")
    ranking.add_argument("--limit", type=_positive, default=100)
    filling = "one batch without duplicates: the best (greedy), none of a class over its share (quota), drawn by score "
    filling += "(power), or neighbours of the targets that the model is least sure of (cosine, wasserstein)"
    ranking.add_argument("--batch", choices=BATCHES, help=filling)
    ranking.add_argument(
        "--memory-gb", type=float, metavar="GB", help="to rank in; default: a quarter of the machine's"
    )
    labels = on_project("label", label)
    labels.add_argument("--csv", required=True, metavar="FILE", help="columns path, label")
    labels.add_argument("--annotator", required=True, metavar="NAME")
    on_project("round", round_)
    on_project("status", status)
    _simulate_options(command("simulate", simulate, "folder"))
    command("demo", demo)
    pairs = command("curvature", curvature)
    pairs.add_argument("folders", nargs="+", metavar="DIR", help="with captions.csv or labels.csv")
    pairs.add_argument("--model", required=True)
    pairs.add_argument("--hold-out", type=int, default=0, help="last rows of captions.csv to leave out")
    command("train-mini", train_mini).add_argument("folders", nargs="+", metavar="DIR")
    command("worker", worker).add_argument("--tied", type=int, metavar="PID", help="end with this process")
    command("run-job", run_job).add_argument("id", type=int)
    return parser


def _import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", required=True, metavar="NAME")
    parser.add_argument("--target", metavar="DOMAIN", help="rank and measure for this domain")
    parser.add_argument("--model", default="mini", help="mini, or any of open_clip's: architecture/pretrained")
    parser.add_argument("--prompt", default="a photo of a {class}")
    parser.add_argument("--classes", metavar="A,B,…", help="default: the folders' names")
    parser.add_argument("--seed", type=int, default=0, help="of splits and draws")


def _simulate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", metavar="DOMAIN")
    parser.add_argument("--strategies", type=_strategies, default=("random", "epig"), metavar="A,B,…")
    parser.add_argument("--batch", type=_positive, default=10)
    parser.add_argument("--rounds", type=_positive, default=7)
    parser.add_argument("--seeds", type=_positive, default=3, help="how many, counted from 0")
    parser.add_argument("--model", default="mini")


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not 1 or more")
    return value


def _strategies(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := [name for name in names if name not in STRATEGIES]:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; there are {', '.join(STRATEGIES)}")
    return names
