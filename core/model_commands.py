"""The command line's `model`: a round's model as files."""

from __future__ import annotations

import argparse
from pathlib import Path

from core.progress import Bar


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="a new folder")
    parser.add_argument("--round", type=int, metavar="N", help="default: the newest")


def model(args) -> dict:
    """Write a round's model: posterior and texts as safetensors, a card, and weights that plain open_clip loads."""
    from core.commands import open_home
    from core.model_export import export_model
    from core.projects import find_project

    database = open_home()
    project = find_project(database, args.project)
    with Bar() as bar:
        card = export_model(database, project.id, args.out, number=args.round, on_progress=bar)
    kept = ("project", "round", "classes", "served", "open_clip", "files")
    return {"folder": str(args.out)} | {key: card[key] for key in kept}
