"""Every predictive of a project's newest model on one of its labelled splits: how good, how honest, how dear.

Axes: N images of the split · V views · C classes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from core.calibration import NAMES, Measured, Predictive, compare
from core.class_texts import as_in
from core.config import home
from core.encoders import Encoder
from core.encoding import DECODED_SIDE
from core.errors import InputError, NotReady, PenumbraError
from core.finetune import Labelled
from core.images import read_image
from core.posterior.laplace import Posterior
from core.projects import get_project
from core.rounds import encoder_for
from core.storage import Place, fetched, path_in, place
from core.values import Progress, silent
from core.views import encode_views, load_views
from core.workspace import class_texts, feature_store, generator
from db import repository
from db.repository import ItemRow, ProjectRow, RoundRow, Split
from db.session import Database

DRAWS = 1024
TIMED = 16  # images that encoding is timed on


@dataclass(frozen=True, slots=True)
class Line:
    """One predictive: nats for `nlpd`; `milliseconds` an image from file to probabilities, None without its files."""

    predictive: str
    name: str
    accuracy: float
    nlpd: float
    ece: float
    brier: float
    milliseconds: float | None
    views: int
    tau: float | None
    temperature: float | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The table, all that its figures depend on, and the parts of the split's mean doubt, in nats and as variances."""

    project: str
    round: int
    split: str
    domain: str | None
    images: int
    bins: int
    seed: int
    draws: int
    tau: float
    predictives: list[Line]
    entropy: float  # nats; aleatoric + epistemic
    aleatoric: float
    epistemic: float
    aleatoric_variance: float
    epistemic_variance: float
    notes: list[str]


def evaluate_project(
    database: Database,
    project_id: int,
    *,
    split: Split = Split.TEST,
    draws: int = DRAWS,
    bins: int = 15,
    seed: int = 0,
    on_progress: Progress = silent,
) -> Evaluation:
    """Measure the newest model on the labelled images of a split, of the target domain where there is one.

    The pool's labels are the answers given so far, which the model has learned from. Views for test-time augmentation
    are encoded once. Raises NotReady before the first round and InputError for a split without labelled images.
    """
    project = get_project(database, project_id)
    with database.read() as s:
        newest = repository.latest_round(s, project_id)
    if newest is None:
        raise NotReady(f"project {project.name!r} has no model yet: wait for the import, or start it again")
    items, judged = _labelled(database, project, newest, split)
    if judged is None:
        raise InputError(f"the {split} split of {project.name!r} has no labelled image: label some, or choose another")
    validation = judged if split == Split.VALIDATION else _labelled(database, project, newest, Split.VALIDATION)[1]
    posterior = Posterior.load(home() / newest.checkpoint)
    texts = class_texts(as_in(project, newest), newest.fingerprint)
    views, milliseconds, notes = _views(project, newest, items, on_progress)
    table, parts = compare(
        posterior, texts, judged, validation=validation, views=views, K=draws, rng=generator(seed), bins=bins
    )
    means = [float(getattr(parts, each).mean()) for each in PARTS]
    return Evaluation(
        project=project.name,
        round=newest.number,
        split=str(split),
        domain=project.target_domain,
        images=len(items),
        bins=bins,
        seed=seed,
        draws=draws,
        tau=posterior.image.tau,
        predictives=[_line(each, len(items), milliseconds) for each in table],
        entropy=means[0] + means[1],
        **dict(zip(PARTS, means, strict=True)),
        notes=notes + _remarks(split, validation, newest),
    )


PARTS = ("aleatoric", "epistemic", "aleatoric_variance", "epistemic_variance")


def _line(measured: Measured, images: int, encoding: float | None) -> Line:
    m = measured.metrics
    cost = None if encoding is None else encoding * measured.views + 1000 * measured.seconds / images
    about = measured.views, measured.tau, measured.temperature
    name = NAMES[measured.predictive]
    return Line(str(measured.predictive), name, m.accuracy, m.nlpd, m.ece, m.brier, cost, *about)


def _remarks(split: Split, validation: Labelled | None, newest: RoundRow) -> list[str]:
    notes = []
    if validation is None:
        notes.append(f"no {NAMES[Predictive.TEMPERATURE]!r}: the validation split has no labelled image")
    if split == Split.VALIDATION:
        notes.append("temperature and τ were chosen on this very split: use the test split to compare")
    if split == Split.POOL and newest.labels:
        notes.append("these images were learned from: use the test split to compare")
    return notes


def _labelled(
    database: Database, project: ProjectRow, newest: RoundRow, split: Split
) -> tuple[list[ItemRow], Labelled | None]:
    """Encoded images of a split whose class is known; of the pool, those that people answered."""
    store = feature_store(newest.fingerprint)
    with database.read() as s:
        known = repository.answers(s, project.id) if split == Split.POOL else repository.measured(s, project.id, split)
        items = [item for item in repository.items(s, project.id, split) if item.id in known]
    missing = set(store.missing([item.sha256 for item in items]))
    items = [i for i in items if i.sha256 not in missing and project.target_domain in (None, i.domain)]
    if not items:
        return [], None
    features = store.load([item.sha256 for item in items])
    return items, Labelled(features, torch.tensor([known[item.id] for item in items]))


def _views(
    project: ProjectRow, newest: RoundRow, items: Sequence[ItemRow], on_progress: Progress
) -> tuple[list, float | None, list[str]]:
    """The images' further views, the milliseconds that encoding one image takes, and what was not possible."""
    files = [(item.sha256, place(project.root, item.path)) for item in items]
    store = feature_store(newest.fingerprint)
    try:
        encoder = encoder_for(project.model)
        if encoder.fingerprint != newest.fingerprint:
            return [], None, ["no augmentation and no times: the encoder has changed since the images were encoded"]
        lost = encode_views(store, encoder, files, on_progress)
        if lost:
            where, reason = lost[0]
            return [], None, [f"no augmentation and no times: {path_in(project.root, where)} cannot be read ({reason})"]
        return load_views(store, [sha for sha, _ in files]), _milliseconds(encoder, files), []
    except PenumbraError as error:
        return [], None, [f"no augmentation and no times: {error}"]


def _milliseconds(encoder: Encoder, files: Sequence[tuple[str, Place]]) -> float:
    """From file to activations, an image, in one batch of up to TIMED; the second run, as the first warms up."""
    some = [fetched(where, sha256) for sha256, where in files[:TIMED]]
    seconds = 0.0
    for _ in range(2):
        started = time.perf_counter()
        pixels = [encoder.preprocess(read_image(path, max_side=DECODED_SIDE)) for path in some]
        encoder.encode_images(torch.stack(pixels))
        seconds = time.perf_counter() - started
    return 1000 * seconds / len(some)
