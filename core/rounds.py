"""One project's circle: prepare | fine-tune | refit | measure, each stored; `core.workspace` reads and ranks."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib.metadata import version

from core import encoders
from core.class_texts import KEY, as_in, prompts
from core.config import home
from core.curvatures import factors_for
from core.errors import InputError, NotReady
from core.features import encode_files, encode_texts, text_key
from core.importing import take_in
from core.learning import Learned, LearningConfig, learn, measure
from core.posterior.laplace import Posterior, fit
from core.projects import get_project
from core.sources import Source
from core.storage import path_in, place
from core.values import Progress, silent
from core.workspace import (
    class_texts,
    encoded,
    feature_store,
    generator,
    labelled,
    measured_items,
    rounds_of,
    text_store,
)
from db import repository
from db.repository import ProjectRow, RoundRow, Split
from db.session import Database

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


def prepare(
    database: Database, project_id: int, on_progress: Progress = silent, *, source: Source | None = None
) -> RoundRow:
    """Take the project's images in, encode what is not encoded yet, and make round 0: the pre-trained model.

    What is there already stays; called again it goes on where it stopped. `source` None: the project's own.
    """
    project = get_project(database, project_id)
    take_in(database, project, on_progress, source=source)
    encoder = encoder_for(project.model)
    store = feature_store(encoder.fingerprint)
    with database.read() as s:
        items = [item for item in repository.items(s, project_id) if item.gone_at is None]
    files = [(item.sha256, place(project.root, item.path)) for item in items]
    lost = encode_files(store, encoder, files, on_progress=on_progress)
    if lost:
        with database.write() as s:
            repository.add_problems(s, project_id, [(path_in(project.root, where), why) for where, why in lost])
    with database.read() as s:
        latest = repository.latest_round(s, project_id)
    said = prompts(project) if latest is None else [*prompts(project), *prompts(as_in(project, latest))]
    encode_texts(text_store(encoder.fingerprint), encoder, said)
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
    first = rounds_of(database, project_id)[0]
    read_texts(project, first.fingerprint, prompts(project))
    return _round(database, project, Posterior.load(home() / first.checkpoint), config, on_progress)


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


@lru_cache(maxsize=1)
def encoder_for(model: str) -> encoders.Encoder:
    """The encoder, kept: towers take seconds to load."""
    return encoders.load_encoder(model)


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
    answered = encoded([items[i] for i in answers], feature_store(pretrained.fingerprint))
    training = labelled(pretrained.fingerprint, answered, [answers[item.id] for item in answered])
    validation, test = (
        labelled(pretrained.fingerprint, *measured_items(database, project, pretrained.fingerprint, split))
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
            class_version=project.class_version,
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


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("torch", "open_clip_torch", "timm", "transformers")}
    return {"python": platform.python_version(), **packages}
