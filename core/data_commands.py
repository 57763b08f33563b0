"""The commands that take images and labels in and give them out."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from core.commands import Result, open_home, status_of
from core.errors import InputError
from core.progress import Bar

# Spelt out: reading them takes torch, and --help would wait for it.
FORMATS = (
    "imagefolder",
    "officehome",
    "csv",
    "huggingface",
    "labelstudio",
    "fiftyone-tree",
    "fiftyone",
    "coco",
    "list",
)


def import_(args) -> Result:
    """Take images in as a project and rank them; again: take in what is new, and say what changed."""
    from core.changes import last_changes
    from core.duplicates import leaks
    from core.intake import check_project
    from core.rounds import prepare
    from core.sources import Labels, choose
    from db import repository

    labels = {"labels": Labels(args.labels or Labels.AS_FOUND), "annotator": args.annotator or ""}
    place = {"root": str(Path(args.root).resolve()) if args.root else "", "private": args.allow_local_address}
    source = choose(args.source, format=args.format, **labels, **place)
    database = open_home()
    project_id = _there(database, args.project) or _new_project(database, args, source)
    check_project(database, project_id)
    with Bar() as bar:
        prepare(database, project_id, bar, source=source)
    with database.read() as s:
        problems = [asdict(problem) for problem in repository.problems(s, project_id)]
    changes = last_changes(database, project_id)
    assert changes is not None
    leaking = [
        {"in": leak.splits[0], "and": leak.splits[1], "copies": leak.copies, "nearly_the_same": leak.alike}
        for leak in leaks(database, project_id)
    ]
    about = {"changes": asdict(changes), "leaks": leaking, "problem_files": problems}
    return status_of(database, project_id) | about


def _new_project(database, args, source) -> int:
    """Nothing is written for a model that cannot be had or has no curvature."""
    from core.intake import check_model
    from core.projects import create

    check_model(args.model)
    return create(
        database,
        name=args.project,
        source=source,
        model=args.model,
        prompt=args.prompt,
        target_domain=args.target,
        seed=args.seed,
        classes=tuple(name.strip() for name in args.classes.split(",")) if args.classes else None,
    )


def _there(database, name: str) -> int | None:
    from db import repository

    with database.read() as s:
        return next((project.id for project in repository.projects(s) if project.name == name), None)


def label(args) -> Result:
    """Store the labels of a file (CSV with the columns path, label, or another format) as one person's answers."""
    from core.answers import store_labels
    from core.projects import find_project

    database = open_home()
    project = find_project(database, args.project)
    done = store_labels(database, project.id, Path(args.csv), args.annotator)
    return {"project": project.name, "stored": done.stored, "standing_already": done.there}


def export(args) -> Result:
    """Write the project in a format that others read, or (--csv) all standing answers, which `label` reads back."""
    from core.export import export, export_answers
    from core.projects import find_project

    if bool(args.csv) == bool(args.format and args.out):
        raise InputError("name either a file (--csv FILE) or a format and a folder (--format NAME --out FOLDER)")
    database = open_home()
    project = find_project(database, args.project)
    if args.csv:
        answers = export_answers(database, project.id, Path(args.csv))
        return {"project": project.name, "file": args.csv, "answers": answers}
    with Bar() as bar:
        made = export(database, project.id, args.format, Path(args.out), replace=args.replace, on_progress=bar)
    left_out = [asdict(each) for each in made.left_out]
    about = {"project": project.name, "format": args.format, "folder": str(made.folder), "images": made.written}
    return about | {"snapshot": made.snapshot, "cannot_hold": list(made.lost), "left_out": left_out}


def add_import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", required=True, metavar="NAME")
    parser.add_argument("--target", metavar="DOMAIN", help="rank and measure for this domain")
    parser.add_argument("--model", default="mini", help="mini, or any of open_clip's: architecture/pretrained")
    parser.add_argument("--prompt", default="a photo of a {class}")
    parser.add_argument("--classes", metavar="A,B,…", help="default: the folders' names")
    parser.add_argument("--format", metavar="NAME", help=f"{', '.join(FORMATS)}; default: what the source looks like")
    known = "classes to measure against, hidden in the pool; or answers of --annotator. Default: as the source says"
    parser.add_argument("--labels", choices=("known", "answers"), help=known)
    parser.add_argument("--annotator", metavar="NAME", help="who gave the answers, where the source does not say")
    parser.add_argument("--root", metavar="DIR", help="where the paths of a file start; default: where the file lies")
    parser.add_argument("--allow-local-address", action="store_true", help="fetch from private networks too")


def add_export_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--csv", metavar="FILE", help="all standing answers, as `label` reads them")
    parser.add_argument("--format", choices=FORMATS, help="with --out: everything, as others read it")
    parser.add_argument("--out", metavar="FOLDER", help="new, empty, or an earlier export with --replace")
    parser.add_argument("--replace", action="store_true", help="put it in the place of an earlier export")
