"""One project's circle: prepare | rank | label | fine-tune | refit | measure. The module that knows maths and database.

Axes: N pool images · M target images · C classes.
"""

from __future__ import annotations

import logging
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import torch

from core import encoders
from core.acquisition.baselines import own_uncertainty
from core.acquisition.table import Acquisition
from core.batches import Limits, NearDuplicates, Pick, Quota
from core.class_texts import KEY, as_in, load, prompts
from core.config import home, memory_budget
from core.curvatures import factors_for
from core.errors import InputError, NotReady, UnknownName
from core.features import FeatureStore, encode_files, encode_texts, text_key
from core.finetune import Labelled
from core.kernel import Pool
from core.learning import Learned, LearningConfig, learn, measure, predict
from core.posterior.laplace import Posterior, fit
from core.projects import get_project, take_in
from core.ranking import Batch, Ranker, draw_targets, make_ranker, outside, take_batch
from core.stored import pool_features
from core.targeting import Metric
from core.values import Features, Progress, silent
from db import repository
from db.repository import ItemRow, ProjectRow, RoundRow, Split
from db.session import Database

logger = logging.getLogger(__name__)

RHO = 10.0
TEXTS_AT_ONCE = 64  # between two reports of progress


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundConfig:
    """Settings of a round, kept in its row; checked when made (InputError), also when they come as JSON."""

    learning: LearningConfig = field(default_factory=LearningConfig)
    seed: int | None = None  # of the fine-tuning; None: the project's seed plus the round's number

    def __post_init__(self):
        if isinstance(self.learning, Mapping):
            try:
                object.__setattr__(self, "learning", LearningConfig(**self.learning))
            except (TypeError, ValueError) as error:
                raise InputError(f"these settings of a round cannot be used: {error}") from error


@dataclass(frozen=True, slots=True)
class RankedItem:
    """One image in the order to label; `score` is its score when its turn comes.

    `own_uncertainty` is the encoder's own, Σσ², beside it: None where it has none.
    """

    id: int
    path: str
    score: float
    own_uncertainty: float | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """The next images to label, best first; `non_finite` counts the pool images that have no finite score."""

    items: list[RankedItem]
    non_finite: int

    def __iter__(self) -> Iterator[RankedItem]:
        return iter(self.items)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a round's served predictive says of one measured image; positions are rows of the project's classes."""

    item: ItemRow
    predicted: int
    confidence: float
    actual: int

    @property
    def correct(self) -> bool:
        return self.predicted == self.actual


@dataclass(frozen=True, slots=True)
class Workspace:
    """A project's encoded images and its newest posterior: all that ranking reads. No labels, on purpose."""

    project: ProjectRow
    round: RoundRow
    posterior: Posterior
    texts: Features  # [C, p']
    pool: tuple[ItemRow, ...]
    features: Pool  # of the pool [N, p], on disk when they are large
    targets: Features  # [M, p]


def prepare(database: Database, project_id: int, on_progress: Progress = silent) -> RoundRow:
    """Take the project's images in, encode what is not encoded yet, and make round 0: the pre-trained model.

    What is there already stays; called again it goes on where it stopped.
    """
    project = get_project(database, project_id)
    take_in(database, project, on_progress)
    encoder = encoder_for(project.model)
    store = feature_store(encoder.fingerprint)
    with database.read() as s:
        items = repository.items(s, project_id)
    root = Path(project.root)
    lost = encode_files(store, encoder, [(i.sha256, root / i.path) for i in items], on_progress=on_progress)
    if lost:
        with database.write() as s:
            repository.add_problems(s, project_id, [(str(path.relative_to(root)), why) for path, why in lost])
    encode_texts(text_store(encoder.fingerprint), encoder, prompts(project))
    with database.read() as s:
        latest = repository.latest_round(s, project_id)
    if latest is not None:
        return latest
    image, text = factors_for(project.model, encoder)
    config = RoundConfig()
    posterior = fit(encoder.heads, image, text, tau=config.learning.tau, fingerprint=encoder.fingerprint)
    return _round(database, project, posterior, config, on_progress)


def run_round(
    database: Database, project_id: int, config: RoundConfig = RoundConfig(), on_progress: Progress = silent
) -> RoundRow:
    """Learn from all standing answers, starting from the pre-trained model, and measure. Raises NotReady."""
    project = get_project(database, project_id)
    first = _rounds(database, project_id)[0]
    read_texts(project, first.fingerprint, prompts(project))
    return _round(database, project, Posterior.load(home() / first.checkpoint), config, on_progress)


def rank(
    database: Database,
    project_id: int,
    *,
    score: Acquisition = Acquisition.EPIG,
    narrow: Metric | None = None,
    limit: int = 100,
    batch: Batch | None = None,
    memory: int | None = None,
) -> Ranking:
    """The next `limit` images to label, best first, given all answers so far; no label value is read.

    With `batch` they are one batch, filled in that way and with one at most of each set of exact and near duplicates.
    `memory` in bytes, default `memory_budget()`.
    """
    space = workspace(database, project_id, memory=memory)
    ranker = ranker_of(space, score, memory)
    with database.read() as s:
        settled = {standing.item_id for standing in repository.standing(s, project_id)}
        answered = repository.answers(s, project_id).keys()
    position = {item.id: i for i, item in enumerate(space.pool)}
    ranker.condition([position[i] for i in answered if i in position])
    taken = {position[i] for i in settled if i in position}
    taken |= set(outside(space.posterior, space.features, space.targets, narrow))
    if batch is None:
        picks = ranker.take(limit, taken)
    else:
        same_file = Quota.of((item.sha256 for item in space.pool), limit=1)
        limits, rng = Limits((same_file,), NearDuplicates(space.features)), generator(space.project.seed)
        picks = take_batch(batch, ranker, space, limit, rng=rng, exclude=sorted(taken), limits=limits)
    return Ranking(_ranked(space, picks), ranker.non_finite)


def _ranked(space: Workspace, picks: Sequence[Pick]) -> list[RankedItem]:
    items = [space.pool[pick.position] for pick in picks]
    positions = torch.tensor([pick.position for pick in picks], dtype=torch.int64)
    own = space.features[positions].log_variance if picks else None
    beside = [None] * len(picks) if own is None else own_uncertainty(own).tolist()
    rows = zip(items, picks, beside, strict=True)
    return [RankedItem(item.id, item.path, pick.score, doubt) for item, pick, doubt in rows]


def predictions(database: Database, project_id: int, number: int, split: Split = Split.TEST) -> list[Prediction]:
    """What round `number` serves for the measured images of a split: the images behind every figure and bin."""
    project = get_project(database, project_id)
    row = next((row for row in _rounds(database, project_id) if row.number == number), None)
    if row is None:
        raise UnknownName(f"project {project.name!r} has no round {number}")
    items, labels = _measured(database, project, row.fingerprint, split)
    if not items:
        return []
    features = feature_store(row.fingerprint).load([item.sha256 for item in items])
    posterior = Posterior.load(home() / row.checkpoint)
    probs = predict(posterior, features, class_texts(as_in(project, row), row.fingerprint), row.metrics["served"])
    confidence, predicted = probs.max(dim=1)
    rows = zip(items, predicted.tolist(), confidence.tolist(), labels, strict=True)
    return [Prediction(*row) for row in rows]


def unmeasured(database: Database, project_id: int) -> list[ItemRow]:
    """Validation and test images without a known class: answers on them make the project measurable."""
    with database.read() as s:
        known = {i for split in (Split.VALIDATION, Split.TEST) for i in repository.measured(s, project_id, split)}
        items = [*repository.items(s, project_id, Split.TEST), *repository.items(s, project_id, Split.VALIDATION)]
    return [item for item in items if item.id not in known]


def workspace(
    database: Database, project_id: int, of: list[ItemRow] | None = None, memory: int | None = None
) -> Workspace:
    """What ranking reads of a project, from its newest round; the pool, or the items `of`.

    Raises NotReady before `prepare` has ended, or where there is no image to rank.
    """
    project = get_project(database, project_id)
    newest = _rounds(database, project_id)[-1]
    store = feature_store(newest.fingerprint)
    with database.read() as s:
        items = repository.items(s, project_id, Split.POOL) if of is None else of
    pool = _encoded(items, store)
    if not pool:
        raise NotReady("no image is left to label: the pool is empty; add images to the project's folder")
    features = pool_features(store, [item.sha256 for item in pool], memory or memory_budget())
    towards = [i for i, item in enumerate(pool) if project.target_domain in (None, item.domain)] or range(len(pool))
    targets = features[torch.tensor(draw_targets(towards, generator(project.seed)), dtype=torch.int64)]
    posterior = _posterior(str(home() / newest.checkpoint))
    texts = class_texts(as_in(project, newest), newest.fingerprint)
    return Workspace(project, newest, posterior, texts, tuple(pool), features, targets)


def ranker_of(space: Workspace, score: Acquisition, memory: int | None = None) -> Ranker:
    """The ranker of a workspace's pool; nothing is conditioned yet."""
    rng, parts = generator(space.project.seed), (space.posterior, space.features, space.targets, space.texts)
    return make_ranker(score, *parts, rng=rng, rho=RHO, memory=memory)


def feature_store(fingerprint: str) -> FeatureStore:
    return FeatureStore(home() / "features", fingerprint)


def text_store(fingerprint: str) -> FeatureStore:
    return FeatureStore(home() / "features", f"{fingerprint}-texts")


def class_texts(project: ProjectRow, fingerprint: str) -> Features:
    """Text activations [C, p'] of the project's classes, from the store; of a round's: `as_in(project, row)`."""
    return load(project, text_store(fingerprint))


def read_texts(project: ProjectRow, fingerprint: str, texts: Sequence[str], on_progress: Progress = silent) -> None:
    """Encode texts by the project's model, those that its store lacks; what is read stays when this is stopped."""
    store = text_store(fingerprint)
    missing = set(store.missing([text_key(text) for text in texts]))
    todo = [text for text in dict.fromkeys(texts) if text_key(text) in missing]
    if not todo:
        return
    encoder = encoder_for(project.model)
    if encoder.fingerprint != fingerprint:
        raise NotReady(f"{project.model!r} is not the model any more that read the images: import them again")
    for start in range(0, len(todo), TEXTS_AT_ONCE):
        on_progress(start, len(todo), "reading texts")
        encode_texts(store, encoder, todo[start : start + TEXTS_AT_ONCE])


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@lru_cache(maxsize=1)
def encoder_for(model: str) -> encoders.Encoder:
    """The encoder, kept: towers take seconds to load."""
    return encoders.load_encoder(model)


@lru_cache(maxsize=8)
def _posterior(path: str) -> Posterior:
    return Posterior.load(path)


def _rounds(database: Database, project_id: int) -> list[RoundRow]:
    with database.read() as s:
        found = repository.rounds(s, project_id)
    if not found:
        raise NotReady("the project's images are not encoded yet: wait for the import, or start it again")
    return found


def _round(
    database: Database, project: ProjectRow, pretrained: Posterior, config: RoundConfig, on_progress: Progress
) -> RoundRow:
    """Learn from the answers as they stand now and store the round: checkpoint first, then its row."""
    started = time.monotonic()
    with database.read() as s:
        watermark = repository.last_label_id(s, project.id)
        answers = repository.answers(s, project.id, watermark)
        items = {item.id: item for item in repository.items(s, project.id, Split.POOL)}
        number = len(repository.rounds(s, project.id))
    seed = project.seed + number if config.seed is None else config.seed
    texts = class_texts(project, pretrained.fingerprint)
    answered = _encoded([items[i] for i in answers], feature_store(pretrained.fingerprint))
    training = _labelled(pretrained.fingerprint, answered, [answers[item.id] for item in answered])
    validation, test = (
        _labelled(pretrained.fingerprint, *_measured(database, project, pretrained.fingerprint, split))
        for split in (Split.VALIDATION, Split.TEST)
    )
    learned = learn(
        pretrained,
        texts,
        training,
        validation,
        rng=generator(seed),
        config=config.learning,
        on_progress=on_progress,
    )
    metrics = measure(learned, texts, test, config.learning)
    metrics["domain"] = project.target_domain
    metrics["answers_without_features"] = len(answers) - len(answered)
    metrics["validation_images"] = 0 if validation is None else len(validation)
    checkpoint = _save(
        project, number, learned, {"label_watermark": watermark, "settings": asdict(config), "seed": seed}
    )
    with database.write() as s:
        repository.add_round(
            s,
            project.id,
            label_watermark=watermark,
            labels=len(answered),
            settings=asdict(config) | {"steps": learned.steps, KEY: project.prompt_weights},
            seed=seed,
            fingerprint=pretrained.fingerprint,
            checkpoint=checkpoint,
            metrics=metrics,
            versions=_versions(),
            seconds=time.monotonic() - started,
        )
        return repository.rounds(s, project.id)[-1]


def _save(project: ProjectRow, number: int, learned: Learned, made_of: dict) -> str:
    name = f"rounds/{project.id}/{number}-{time.time_ns():x}.safetensors"
    (home() / name).parent.mkdir(parents=True, exist_ok=True)
    about = {
        "project": project.name,
        "round": number,
        "classes": [c.name for c in project.classes],
        "served": learned.served,
    }
    about |= {"prompt": project.prompt, KEY: project.prompt_weights, "model": project.model}
    learned.posterior.save(home() / name, about | made_of)
    return name


def _measured(
    database: Database, project: ProjectRow, fingerprint: str, split: Split
) -> tuple[list[ItemRow], list[int]]:
    """Encoded images of a split whose class is known, of the target domain only where there is one."""
    with database.read() as s:
        known = repository.measured(s, project.id, split)
        items = [item for item in repository.items(s, project.id, split) if item.id in known]
    inside = [item for item in items if project.target_domain in (None, item.domain)]
    usable = _encoded(inside, feature_store(fingerprint))
    return usable, [known[item.id] for item in usable]


def _labelled(fingerprint: str, items: list[ItemRow], labels: list[int]) -> Labelled | None:
    if not items:
        return None
    features = feature_store(fingerprint).load([item.sha256 for item in items])
    return Labelled(features, torch.tensor(labels))


def _encoded(items: list[ItemRow], store: FeatureStore) -> list[ItemRow]:
    missing = set(store.missing([item.sha256 for item in items]))
    return [item for item in items if item.sha256 not in missing]


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("torch", "open_clip_torch", "timm", "transformers")}
    return {"python": platform.python_version(), **packages}
