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

from core.errors import InputError, ModelUnavailable, PenumbraError
from core.progress import Bar

# Spelt out: torch would take seconds to import for --help.
CLOSED = ("epig", "bald", "bald-saturating", "entropy", "entropy-map", "margin", "least-confidence", "variance")
SCORES = (*CLOSED, "random", "epig-draws", "bald-draws")
SPLITS = ("test", "validation", "pool")
HEADS = ("image", "text", "both")
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
    except (InputError, ModelUnavailable) as error:
        return _fail(error, 2)
    except (PenumbraError, OSError) as error:
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
    """Take a folder of images in as a project and rank it; again: take in what is new."""
    from core.rounds import create_from_folder, encoder_for, prepare
    from db import repository

    database = _database()
    encoder_for(args.model)  # nothing is written for a model that cannot be had
    project_id = _same_project(database, args.project, Path(args.folder)) or create_from_folder(
        database,
        name=args.project,
        folder=Path(args.folder),
        model=args.model,
        prompt=args.prompt,
        target_domain=args.target,
        seed=args.seed,
        classes=tuple(name.strip() for name in args.classes.split(",")) if args.classes else None,
    )
    with Bar() as bar:
        prepare(database, project_id, bar)
    with database.read() as s:
        problems = [asdict(problem) for problem in repository.problems(s, project_id)]
    return _status(database, project_id) | {"problem_files": problems}


def _same_project(database, name: str, folder: Path) -> int | None:
    """The project of this name if it is on this folder already; raises InputError if it is on another."""
    from db import repository

    with database.read() as s:
        there = next((project for project in repository.projects(s) if project.name == name), None)
    if there is not None and Path(there.root) != folder.resolve():
        raise InputError(f"project {name!r} is on {there.root} already: choose another name for {folder}")
    return None if there is None else there.id


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
    stored, there = import_labels(database, project.id, Path(args.csv), args.annotator)
    return {"project": project.name, "stored": stored, "standing_already": there}


def export(args) -> Result:
    """Write all standing answers as CSV, which `label` reads back."""
    from core.labels_csv import export_labels
    from core.rounds import find_project

    database = _database()
    project = find_project(database, args.project)
    return {"project": project.name, "file": args.csv, "answers": export_labels(database, project.id, Path(args.csv))}


def round_(args) -> Result:
    """Learn from all answers, refit the posterior, measure."""
    from core.learning import LearningConfig
    from core.rounds import RoundConfig, find_project, run_round

    database = _database()
    project = find_project(database, args.project)
    learning = LearningConfig.of(head=args.head, tau=args.tau)
    with Bar() as bar:
        row = run_round(database, project.id, RoundConfig(learning=learning, seed=args.seed), bar)
    return {"project": project.name} | _figures(row)


def evaluate(args) -> Result:
    """Every predictive on a labelled split: MAP, temperature, augmentation, posterior; how good and how dear."""
    from core.evaluation import evaluate_project
    from core.rounds import find_project
    from db.repository import Split

    database = _database()
    project = find_project(database, args.project)
    options = {"split": Split(args.split), "draws": args.draws, "bins": args.bins, "seed": args.seed}
    with Bar() as bar:
        return asdict(evaluate_project(database, project.id, **options, on_progress=bar))


def scores(args) -> Result:
    """All scores of the pool side by side, with their rank correlation and the draws' noise floor."""
    from core.comparison import compare_scores, summary
    from core.rounds import find_project

    database = _database()
    project = find_project(database, args.project)
    options = {"images": args.images, "targets": args.targets, "draws": args.draws, "seed": args.seed}
    with Bar() as bar:
        return summary(compare_scores(database, project.id, **options, with_text=args.text, on_progress=bar))


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
    """Estimate a model's curvature from image–text pairs, or take published factors; its posterior needs it once."""
    from core.curvatures import estimate_curvature, import_official
    from core.posterior.curvature import Likelihood
    from core.rounds import encoder_for

    sources = [*args.folders, *args.pairs]
    if bool(sources) == bool(args.official):
        raise InputError("name either image–text pairs (--pairs DIR, CSV or tar …) or published factors (--official)")
    encoder = encoder_for(args.model)
    about = {"model": args.model, "fingerprint": encoder.fingerprint}
    with Bar() as bar:
        if args.official:
            local = args.allow_local_address
            file = import_official(args.model, encoder, args.official, n=args.n, allow_local=local, on_progress=bar)
            return about | {"file": str(file), "pairs": args.n}
        found = estimate_curvature(
            args.model,
            encoder,
            sources,
            hold_out=args.hold_out,
            block=args.block,
            likelihood=Likelihood(args.likelihood) if args.likelihood else None,
            on_progress=bar,
        )
    problems = [asdict(problem) for problem in found.problems]
    counts = {"pairs": found.pairs, "blocks": found.blocks, "skipped": found.skipped}
    return about | {"file": str(found.file), **counts, "problem_files": problems}


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


def _digits(value: float) -> str:
    return f"{value:.3f}" if abs(value) >= 0.01 or value == 0 else f"{value:.2g}"


def _table(result: dict) -> str:
    """For a person: scalars as lines, lists of records as aligned tables."""
    import pandas as pd

    parts = []
    for key, value in result.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            columns = [name for name, cell in value[0].items() if not isinstance(cell, (dict, list, tuple))]
            parts.append(
                f"\n{key}\n{pd.DataFrame(value)[columns].to_string(index=False, float_format=_digits, na_rep='–')}"
            )
        elif not isinstance(value, (dict, list)):
            parts.append(f"{key}: {_digits(value) if isinstance(value, float) else value}")
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
    on_project("export", export).add_argument("--csv", required=True, metavar="FILE")
    learning = on_project("round", round_)
    learning.add_argument("--head", choices=HEADS, default="image", help="what learns (default: image)")
    learning.add_argument("--tau", type=_tau, metavar="auto|NUMBER", help="pseudo-data count (default: by validation)")
    learning.add_argument("--seed", type=int, help="of the fine-tuning (default: the project's plus the number)")
    on_project("status", status)
    _comparison_options(on_project("evaluate", evaluate), on_project("scores", scores))
    _simulate_options(command("simulate", simulate, "folder"))
    command("demo", demo)
    _curvature_options(command("curvature", curvature))
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
    parser.add_argument("--seed", type=_seed, default=0, help="of splits and draws")


def _curvature_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", nargs="*", metavar="DIR", help="the same as --pairs")
    parser.add_argument(
        "--pairs",
        nargs="+",
        default=[],
        metavar="SOURCE",
        help="folders with captions.csv, CSV files (file_name, caption), webdataset tars, shard-{000..031}.tar",
    )
    parser.add_argument("--official", metavar="SOURCE", help="a folder, https address or hf-hub:owner/name of factors")
    parser.add_argument("--model", required=True)
    parser.add_argument("--hold-out", type=int, default=0, help="last rows of CSV files to leave out")
    parser.add_argument("--block", type=_positive, default=32_768, help="pairs whose texts a softmax runs over")
    parser.add_argument("--likelihood", choices=("infonce", "siglip"), help="default: what the model was trained with")
    parser.add_argument("--n", type=_positive, default=327_680, help="pairs behind published factors (the paper's)")
    parser.add_argument("--allow-local-address", action="store_true", help="fetch from http://127.0.0.1 too")


def _comparison_options(evaluating: argparse.ArgumentParser, scoring: argparse.ArgumentParser) -> None:
    evaluating.add_argument("--split", choices=SPLITS, default="test")
    evaluating.add_argument("--bins", type=_positive, default=15, help="of the calibration error")
    scoring.add_argument("--images", type=_positive, default=1000, help="of the pool, drawn by the seed")
    scoring.add_argument("--targets", type=_positive, default=100)
    scoring.add_argument("--text", action="store_true", help="draw the text head too")
    for parser, draws in ((evaluating, 1024), (scoring, 4096)):
        parser.add_argument("--draws", type=_several, default=draws, help="of the heads, for Monte Carlo")
        parser.add_argument("--seed", type=int, default=0)


def _simulate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", metavar="DOMAIN")
    parser.add_argument("--strategies", type=_strategies, default=("random", "epig"), metavar="A,B,…")
    parser.add_argument("--batch", type=_positive, default=10)
    parser.add_argument("--rounds", type=_positive, default=7)
    parser.add_argument("--seeds", type=_positive, default=3, help="how many, counted from 0")
    parser.add_argument("--model", default="mini")


def _positive(text: str) -> int:
    return _whole(text, 1)


def _seed(text: str) -> int:
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    if not text.isdecimal() or not least <= int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} to {2**31 - 1}")
    return int(text)


def _tau(text: str) -> float | None:
    value = None if text == "auto" else float(text)
    if value is not None and not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is neither auto nor a number above 0")
    return value


def _several(text: str) -> int:
    value = int(text)
    if value < 2:
        raise argparse.ArgumentTypeError(f"{value} is not 2 or more")
    return value


def _strategies(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if unknown := [name for name in names if name not in STRATEGIES]:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; there are {', '.join(STRATEGIES)}")
    return names
