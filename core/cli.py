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

from core import commands, data_commands, model_commands, prolip_commands, user_commands
from core.errors import InputError, ModelUnavailable, PenumbraError

# Spelt out: torch would take seconds to import for --help.
CLOSED = ("epig", "bald", "bald-saturating", "entropy", "entropy-map", "margin", "least-confidence", "variance")
SCORES = (*CLOSED, "own-uncertainty", "random", "epig-draws", "bald-draws")
SPLITS = ("test", "validation", "pool")
HEADS = ("image", "text", "both")
BATCHES = ("greedy", "quota", "power", "cosine", "wasserstein")
NARROWINGS = ("none", "cosine", "wasserstein")
TAUS = (1e-6, 1e9)  # beyond them nothing is left of the curvature, or of the prior


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


# --- what they print ---------------------------------------------------------------------------------------------


def _digits(value: float) -> str:
    return f"{value:.3f}" if 0.01 <= abs(value) < 1e6 or value == 0 else f"{value:.2g}"


def _cell(value: object) -> object:
    return "–" if value is None else _digits(value) if isinstance(value, float) else value


def _table(result: dict) -> str:
    """For a person: scalars as lines, lists of records as aligned tables."""
    import pandas as pd

    parts = []
    for key, value in result.items():
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], dict):
            columns = [name for name, cell in value[0].items() if not isinstance(cell, (dict, list, tuple))]
            parts.append(
                f"\n{key}\n{pd.DataFrame(value)[columns].to_string(index=False, float_format=_digits, na_rep='–')}"
            )
        elif isinstance(value, dict):
            parts.append(f"{key}: {', '.join(f'{name} {_cell(cell)}' for name, cell in value.items())}")
        elif not isinstance(value, (list, tuple)):
            parts.append(f"{key}: {_cell(value)}")
        elif value:
            parts.append(f"{key}: {', '.join(map(str, value))}")
    return "\n".join(parts)


# --- the parser --------------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m core", description=__doc__.split("\n")[0])
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    common.add_argument("--verbose", action="store_true", help="say what is being done, on stderr")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable, *positional: str) -> argparse.ArgumentParser:
        added = subparsers.add_parser(name, parents=[common], help=run.__doc__, description=run.__doc__)
        added.set_defaults(run=run)
        for each in positional:
            added.add_argument(each)
        return added

    def on_project(name: str, run: Callable) -> argparse.ArgumentParser:
        added = command(name, run)
        added.add_argument("--project", required=True, metavar="NAME")
        return added

    importing = command("import", data_commands.import_, "source")
    importing.add_argument("--seed", type=_seed, default=0, help="of splits and draws")
    data_commands.add_import_options(importing)
    ranking = on_project("rank", commands.rank)
    ranking.add_argument("--score", choices=SCORES, default="epig")
    ranking.add_argument("--narrow", choices=NARROWINGS, default="none", help="keep only the targets' neighbours")
    ranking.add_argument("--limit", type=_positive, default=100)
    filling = "one batch without duplicates: the best (greedy), none of a class over its share (quota), drawn by score "
    filling += "(power), or neighbours of the targets that the model is least sure of (cosine, wasserstein)"
    ranking.add_argument("--batch", choices=BATCHES, help=filling)
    ranking.add_argument(
        "--memory-gb", type=float, metavar="GB", help="to rank in; default: a quarter of the machine's"
    )
    reasons = on_project("why", commands.why)
    reasons.add_argument("--image", required=True, metavar="PATH", help="in the project's folder, as rank prints it")
    labels = on_project("label", data_commands.label)
    labels.add_argument("--csv", required=True, metavar="FILE", help="columns path, label")
    labels.add_argument("--annotator", required=True, metavar="NAME")
    data_commands.add_export_options(on_project("export", data_commands.export))
    learning = on_project("round", commands.round_)
    learning.add_argument("--head", choices=HEADS, default="image", help="what learns (default: image)")
    learning.add_argument(
        "--tau", type=_tau, metavar="auto|NUMBER", help="pseudo-data count (default: chosen on labels)"
    )
    learning.add_argument("--seed", type=int, help="of the fine-tuning (default: the project's plus the number)")
    on_project("status", commands.status)
    model_commands.add_options(on_project("model", model_commands.model))
    _comparison_options(on_project("evaluate", commands.evaluate), on_project("scores", commands.scores))
    _simulate_options(command("simulate", commands.simulate, "source"))
    command("demo", commands.demo)
    _curvature_options(command("curvature", commands.curvature))
    command("train-mini", commands.train_mini).add_argument("folders", nargs="+", metavar="DIR")
    mini_prolip = command("train-mini-prolip", prolip_commands.train_mini_prolip)
    mini_prolip.add_argument("--data", nargs="+", required=True, metavar="DIR", help="captions.csv, labels.csv")
    _train_prolip_options(command("train-prolip", prolip_commands.train_prolip))
    user = subparsers.add_parser("user", help="Accounts, for a team on a network.")
    user_commands.add_user_commands(user, common)
    command("worker", commands.worker).add_argument("--tied", type=int, metavar="PID", help="end with this process")
    command("run-job", commands.run_job).add_argument("id", type=int)
    return parser


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


def _train_prolip_options(parser: argparse.ArgumentParser) -> None:
    sources = "folders with captions.csv, CSV files (file_name, caption), webdataset tars, shard-{000..031}.tar"
    parser.add_argument("--data", nargs="+", required=True, metavar="SOURCE", help=sources)
    architecture = "ViT-B-16-ProLIP or another published architecture, or a config.json or a folder with one"
    parser.add_argument("--model", default="ViT-B-16-ProLIP", metavar="CONFIG", help=architecture)
    weights = "hf-hub:owner/name, a folder, or a file with weights of --model to start from; default: random ones"
    parser.add_argument("--from", dest="start", metavar="CHECKPOINT", help=weights)
    parser.add_argument("--out", required=True, metavar="DIR", help="for the model, checkpoints and the log")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--epochs", type=_positive, default=1)
    length.add_argument("--steps", type=_positive)
    parser.add_argument("--batch", type=_positive, default=512, help="pairs of all processes")
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--warmup", type=int, metavar="STEPS", help="default: a tenth of all")
    parser.add_argument("--weight-decay", type=float, default=0.2)
    parser.add_argument("--no-amp", action="store_true", help="single precision on a GPU too")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out")
    parser.add_argument("--save-every", type=_positive, default=1000, metavar="STEPS")
    parser.add_argument("--hold-out", type=int, default=0, help="last rows of CSV files to leave out")
    parser.add_argument("--threads", type=_positive, default=2, help="that decode images")
    parser.add_argument("--device", help="default: a GPU where there is one")
    parser.add_argument("--seed", type=_seed, default=0)


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
    parser.add_argument("--target", metavar="DOMAIN", help="of a folder; a project has its own")
    parser.add_argument("--strategies", type=_names, default=("random", "epig"), metavar="A,B,…", help="or: all")
    parser.add_argument("--batch", type=_positive, default=10)
    parser.add_argument("--rounds", type=_positive, default=7)
    parser.add_argument("--seeds", type=_positive, default=3, help="how many, counted from 0")
    when = "rounds: answers are learnt after each batch; batch: all is chosen before any answer; "
    when += "paper: EPIG, BALD and entropy hear the oracle after each pick"
    parser.add_argument("--protocol", choices=("rounds", "batch", "paper"), default="rounds", help=when)
    spent = "spent: they stop the fine-tuning, choose τ and count as labels; unused: nothing reads them"
    parser.add_argument("--validation", choices=("spent", "unused"), default="spent", help=spent)
    parser.add_argument("--workers", type=_positive, help="processes; default: by processors and memory")
    parser.add_argument("--out", type=Path, metavar="FILE", help="every point as .csv or .parquet")
    parser.add_argument("--model", default="mini", help="of a folder; a project has its own")


def _positive(text: str) -> int:
    return _whole(text, 1)


def _seed(text: str) -> int:
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    if not text.isdecimal() or not least <= int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} to {2**31 - 1}")
    return int(text)


def _tau(text: str) -> float | None:
    if text == "auto":
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not TAUS[0] <= value <= TAUS[1]:
        raise argparse.ArgumentTypeError(f"{text!r} is neither auto nor a number from {TAUS[0]:g} to {TAUS[1]:g}")
    return value


def _several(text: str) -> int:
    value = int(text)
    if value < 2:
        raise argparse.ArgumentTypeError(f"{value} is not 2 or more")
    return value


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))
