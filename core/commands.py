"""The commands: what each does with its parsed arguments, and the document it gives back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from core.errors import InputError
from core.progress import Bar

Result = dict | None


def open_home():
    """The database of this data folder."""
    from core.config import database_url
    from db.session import open_database

    return open_database(database_url())


def rank(args) -> Result:
    """The images to label next, best first."""
    from core.acquisition.table import Acquisition
    from core.config import memory_budget
    from core.projects import find_project
    from core.ranking import Batch
    from core.targeting import Metric
    from core.workspace import rank

    memory = memory_budget(args.memory_gb)
    database = open_home()
    project = find_project(database, args.project)
    narrow = None if args.narrow == "none" else Metric(args.narrow)
    options = {"narrow": narrow, "limit": args.limit, "batch": args.batch and Batch(args.batch), "memory": memory}
    ranking = rank(database, project.id, score=Acquisition(args.score), **options)
    items = [{key: value for key, value in asdict(item).items() if value is not None} for item in ranking]
    about = {"project": project.name, "score": args.score, "batch": args.batch}
    return about | {"items": items, "non_finite": ranking.non_finite}


def why(args) -> Result:
    """Why an image is worth an answer: the model's guesses, the targets it would sharpen, the answered ones like it."""
    from core.projects import find_project
    from core.why import why

    database = open_home()
    project = find_project(database, args.project)
    belief, reasons = why(database, project.id, args.image)
    doubt = {"epistemic": belief.epistemic, "aleatoric": belief.aleatoric, "epistemic_share": belief.epistemic_share}
    guesses = [guess._asdict() for guess in belief.guesses]
    return {"project": project.name, "image": args.image, **doubt, "guesses": guesses, **asdict(reasons)}


def round_(args) -> Result:
    """Learn from all answers, refit the posterior, measure."""
    from core.learning import LearningConfig
    from core.projects import find_project
    from core.rounds import RoundConfig, run_round

    database = open_home()
    project = find_project(database, args.project)
    learning = LearningConfig.of(head=args.head, tau=args.tau)
    with Bar() as bar:
        row = run_round(database, project.id, RoundConfig(learning=learning, seed=args.seed), bar)
    return {"project": project.name} | _figures(row)


def evaluate(args) -> Result:
    """Every predictive on a labelled split: MAP, temperature, augmentation, posterior; how good and how dear."""
    from core.evaluation import evaluate_project
    from core.projects import find_project
    from db.repository import Split

    database = open_home()
    project = find_project(database, args.project)
    options = {"split": Split(args.split), "draws": args.draws, "bins": args.bins, "seed": args.seed}
    with Bar() as bar:
        return asdict(evaluate_project(database, project.id, **options, on_progress=bar))


def scores(args) -> Result:
    """All scores of the pool side by side, with their rank correlation and the draws' noise floor."""
    from core.comparison import compare_scores, summary
    from core.projects import find_project

    database = open_home()
    project = find_project(database, args.project)
    options = {"images": args.images, "targets": args.targets, "draws": args.draws, "seed": args.seed}
    with Bar() as bar:
        return summary(compare_scores(database, project.id, **options, with_text=args.text, on_progress=bar))


def status(args) -> Result:
    """How far a project is."""
    from core.projects import find_project

    database = open_home()
    return status_of(database, find_project(database, args.project).id)


def simulate(args) -> Result:
    """Learning curves of strategies on a labelled folder or project; an oracle answers with the known classes."""
    from core.simulation.commands import simulate

    with Bar() as bar:
        return simulate(open_home(), args, bar)


def demo(args) -> Result:
    """Draw the demo images and make the demo project of them."""
    from core.demo_project import make_demo_project

    database = open_home()
    with Bar() as bar:
        project_id = make_demo_project(database, on_progress=bar)
    return status_of(database, project_id)


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

    run_worker(open_home(), tied_to=args.tied)
    return None


def run_job(args) -> Result:
    """Do one queued job in this process (what the worker starts)."""
    from core.worker import run_job

    return {"job": args.id, "state": str(run_job(open_home(), args.id))}


def status_of(database, project_id: int) -> dict:
    """How far a project is, as a document."""
    from core.projects import get_project
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
    kept = {
        key: row.metrics.get(key) for key in ("split", "n", "bins", "served", "tau", "chosen_by", "posterior", "map")
    }
    return {"round": row.number, "labels": row.labels, **figures, **kept, "seconds": row.seconds}
