"""The calibration table: MAP, its temperature, augmentation at test time and the posterior, on every domain by itself.

τ and the temperature are chosen on a domain's validation images; every figure is of its test images, which nothing
was chosen on. Axes: N labelled images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from core.calibration import NAMES, Measured, Predictive, rivals, with_best_tau
from core.class_texts import as_in
from core.config import home
from core.data.scan import assign_splits
from core.errors import InputError
from core.evaluation import encoded_views, labelled_items
from core.finetune import Labelled, usable
from core.learning import LearningConfig
from core.posterior.laplace import Posterior
from core.projects import get_project
from core.simulation.images import load_images
from core.storage import Place, place
from core.values import Features, Progress, silent
from core.workspace import class_texts, rounds_of
from db.repository import Split
from db.session import Database


@dataclass(frozen=True, slots=True)
class DomainLine:
    """One predictive on one domain's test images; `nlpd` in nats.

    `seconds` from the files to the probabilities of all these images, None without their files; `chosen_on` counts the
    validation images that τ and the temperature were chosen on.
    """

    domain: str | None
    images: int
    chosen_on: int
    predictive: str
    name: str
    accuracy: float
    nlpd: float
    ece: float
    brier: float
    seconds: float | None
    views: int
    tau: float | None
    temperature: float | None


@dataclass(frozen=True, slots=True)
class CalibrationTable:
    """The lines, domain by domain, and all that their figures depend on; `seed` drew the splits."""

    source: str
    model: str
    round: int
    split: str
    chosen_on: str
    bins: int
    seed: int
    taus: list[float]
    lines: list[DomainLine]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class _Images:
    """What one model says of N labelled test and validation images; the views are of all N."""

    posterior: Posterior
    texts: Features
    domains: list[str | None]
    splits: list[Split]
    labelled: Labelled
    files: list[tuple[str, Place]]  # sha256 and where

    def rows(self, domain: str | None, split: Split) -> list[int]:
        return [i for i, at in enumerate(zip(self.domains, self.splits, strict=True)) if at == (domain, split)]


def project_table(
    database: Database, project_id: int, *, bins: int = 15, on_progress: Progress = silent
) -> CalibrationTable:
    """The table of a project's newest model, on each of its domains whatever its target.

    Raises NotReady before the first round, InputError where no test image's class is known.
    """
    project = get_project(database, project_id)
    newest = rounds_of(database, project_id)[-1]
    parts = [labelled_items(database, project, newest, split) for split in (Split.TEST, Split.VALIDATION)]
    items = [item for each, _ in parts for item in each]
    known = [each for _, each in parts if each is not None]
    if not parts[0][0]:
        raise InputError(f"the test split of {project.name!r} has no labelled image: label some")
    images = _Images(
        Posterior.load(home() / newest.checkpoint),
        class_texts(as_in(project, newest), newest.fingerprint),
        [item.domain for item in items],
        [Split(item.split) for item in items],
        Labelled(Features.cat([each.features for each in known]), torch.cat([each.labels for each in known])),
        [(item.sha256, place(project.root, item.path)) for item in items],
    )
    lines, notes = _measured(images, project.model, bins, on_progress)
    return _table(project.name, project.model, newest.number, bins, project.seed, lines, notes)


def folder_table(
    folder: Path, *, model: str = "mini", bins: int = 15, seed: int = 0, on_progress: Progress = silent
) -> CalibrationTable:
    """The table of a labelled folder under the pre-trained model: round 0 of what would be a project with this seed.

    Raises what `load_images` raises, InputError where the seed leaves no test image.
    """
    found = load_images(folder, target=None, model=model, on_progress=on_progress)
    splits = assign_splits(found.sha256s, seed=seed)
    kept = [i for i, split in enumerate(splits) if split != Split.POOL]
    if Split.TEST not in splits:
        raise InputError(f"{len(found)} images leave no test image with seed {seed}: give a larger folder")
    images = _Images(
        found.pretrained,
        found.texts,
        [found.domains[i] for i in kept],
        [Split(splits[i]) for i in kept],
        Labelled(found.features[kept], found.labels[kept]),
        [(found.sha256s[i], folder / found.paths[i]) for i in kept],
    )
    lines, notes = _measured(images, model, bins, on_progress)
    return _table(str(folder), model, 0, bins, seed, lines, notes)


def _table(
    source: str, model: str, number: int, bins: int, seed: int, lines: list[DomainLine], notes: list[str]
) -> CalibrationTable:
    taus = list(LearningConfig().taus)
    return CalibrationTable(source, model, number, "test", "validation", bins, seed, taus, lines, notes)


def _measured(images: _Images, model: str, bins: int, on_progress: Progress) -> tuple[list[DomainLine], list[str]]:
    test = [i for i, split in enumerate(images.splits) if split == Split.TEST]
    fingerprint = images.posterior.fingerprint
    views, encoding, notes = encoded_views(model, fingerprint, [images.files[i] for i in test], on_progress)
    place = {row: i for i, row in enumerate(test)}  # of a test image among the views
    lines: list[DomainLine] = []
    for domain in sorted(set(images.domains), key=str):
        rows = images.rows(domain, Split.TEST)
        if not rows:
            notes.append(f"nothing of {_name(domain)}: no test image of it has a known class")
            continue
        seen = [view[[place[row] for row in rows]] for view in views]
        chosen = usable(images.labelled[images.rows(domain, Split.VALIDATION)])
        if chosen is None:
            few = "its validation labels are of fewer than 2 classes"
            notes.append(f"{_name(domain)}: the model's own τ and no temperature, as {few}")
        table = _domain(images, images.labelled[rows], chosen, seen, bins)
        lines += [_line(domain, len(rows), chosen, each, encoding) for each in table]
    return lines, notes


def _name(domain: str | None) -> str:
    return "images without a domain" if domain is None else domain


def _domain(
    images: _Images, judged: Labelled, chosen: Labelled | None, views: Sequence[Features], bins: int
) -> list[Measured]:
    posterior = images.posterior
    if chosen is not None:
        posterior = with_best_tau(posterior, images.texts, chosen, LearningConfig().taus)
    return rivals(posterior, images.texts, judged, validation=chosen, views=views, bins=bins)


def _line(
    domain: str | None, images: int, chosen: Labelled | None, measured: Measured, encoding: float | None
) -> DomainLine:
    m = measured.metrics
    seconds = None if encoding is None else images * measured.views * encoding / 1000 + measured.seconds
    about = measured.views, measured.tau, measured.temperature
    kind, on = measured.predictive, 0 if chosen is None else len(chosen)
    return DomainLine(
        domain, images, on, str(kind), NAMES[Predictive(kind)], m.accuracy, m.nlpd, m.ece, m.brier, seconds, *about
    )
