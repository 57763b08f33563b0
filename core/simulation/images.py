"""A labelled folder, encoded: what a simulation is about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from core.curvatures import factors_for
from core.data.scan import Split, read_files, scan_folder
from core.encoders import load_encoder
from core.errors import InputError, UnknownName
from core.features import encode_files, encode_texts
from core.learning import LearningConfig
from core.posterior.laplace import Posterior, fit
from core.projects import DEFAULT_PROMPT
from core.values import Features, Progress, silent
from core.workspace import feature_store, text_store


@dataclass(frozen=True, slots=True)
class Images:
    """N images of C classes. `labels` [N] are read by the oracle and the metrics, never by a strategy."""

    paths: tuple[str, ...]
    sha256s: tuple[str, ...]
    domains: tuple[str | None, ...]
    features: Features
    labels: Tensor
    classes: tuple[str, ...]
    texts: Features
    pretrained: Posterior
    splits: tuple[Split, ...] | None = None  # a project's own; None: drawn by each seed

    def __len__(self) -> int:
        return len(self.paths)


def load_images(
    folder: Path,
    *,
    target: str | None,
    model: str = "mini",
    prompt: str = DEFAULT_PROMPT,
    on_progress: Progress = silent,
) -> Images:
    """A labelled folder through the feature store: what was encoded before is not encoded again.

    Raises InputError for a folder that names fewer than 2 classes, UnknownName for a domain it does not have.
    """
    scan = scan_folder(folder)
    if target is not None and target not in scan.domains:
        raise UnknownName(f"no domain {target!r} in {folder}; its domains: {', '.join(scan.domains) or 'none'}")
    if len(scan.classes) < 2:
        raise InputError(f"{folder} names {len(scan.classes)} classes in its folders: the oracle needs 2 or more")
    encoder = load_encoder(model)
    image, text = factors_for(model, encoder)  # before the images are encoded: that may take hours
    position = {name: i for i, name in enumerate(scan.classes)}
    labels = {found.path: position[found.class_name] for found in scan.files if found.class_name}
    named = [found for found in scan.files if found.path in labels]
    read = [(e.found, e.info) for e in read_files(folder, named, on_progress=on_progress) if e.info is not None]
    store, texts = feature_store(encoder.fingerprint), text_store(encoder.fingerprint)
    encode_files(store, encoder, [(info.sha256, folder / found.path) for found, info in read], on_progress=on_progress)
    prompts = [prompt.replace("{class}", name.replace("_", " ")) for name in scan.classes]
    encode_texts(texts, encoder, prompts)
    shas = tuple(info.sha256 for _, info in read)
    return Images(
        tuple(found.path for found, _ in read),
        shas,
        tuple(found.domain for found, _ in read),
        store.load(shas),
        torch.tensor([labels[found.path] for found, _ in read]),
        tuple(scan.classes),
        texts.load_texts(prompts),
        fit(encoder.heads, image, text, tau=LearningConfig().tau, fingerprint=encoder.fingerprint),
    )
