"""Images and texts of a project as Gaussians, each encoded once (the ProLIP page's service).

Axes: N images or texts · D joint embedding size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from threading import Lock

import torch
from torch import Tensor

from core.config import home
from core.encoders import GaussianEncoder, load_encoder
from core.encoders.loading import SCHEMES, is_prolip
from core.errors import ModelError
from core.features import FeatureStore, encode_files, text_key
from core.projects import get_project
from core.rounds import TEXTS_AT_ONCE
from core.storage import path_in, place
from core.values import Features, Progress, ProlipEmbeddings, silent
from core.workspace import feature_store
from db import repository
from db.repository import ItemRow
from db.session import Database

OFFLINE = "mini-prolip"  # comes with the program

_loading = Lock()


def gaussian_encoder(name: str = OFFLINE) -> GaussianEncoder:
    """The encoder of this name, kept: towers take seconds to load. Raises ModelUnavailable, ModelError."""
    with _loading:  # two sessions that ask at once load it once
        return _loaded(name)


def makes_gaussians(name: str) -> bool:
    """Whether this is the name of a ProLIP, told without loading it."""
    return name == OFFLINE or is_prolip(name if name.startswith(SCHEMES) else name.partition("@")[0])


@lru_cache(maxsize=2)
def _loaded(name: str) -> GaussianEncoder:
    encoder = load_encoder(name)
    if not isinstance(encoder, GaussianEncoder):
        raise ModelError(
            f"{name!r} makes points of images and texts, not Gaussians: use {OFFLINE!r} or a ProLIP model such as "
            "hf-hub:SanghyukChun/ProLIP-ViT-B-16-DC-1B-12_8B"
        )
    return encoder


def encode_project(database: Database, project_id: int, name: str, on_progress: Progress = silent) -> None:
    """Encode all images of a project that this encoder has not seen yet; called again it goes on where it stopped.

    Files that cannot be read any more become problems of the project. Raises UnknownName, ModelUnavailable.
    """
    project, encoder = get_project(database, project_id), gaussian_encoder(name)
    with database.read() as s:
        items = [item for item in repository.items(s, project_id) if item.gone_at is None]
    files = [(item.sha256, place(project.root, item.path)) for item in items]
    lost = encode_files(feature_store(encoder.fingerprint), encoder, files, on_progress=on_progress)
    if lost:
        with database.write() as s:
            repository.add_problems(s, project_id, [(path_in(project.root, where), why) for where, why in lost])


def encoded(encoder: GaussianEncoder, items: Sequence[ItemRow]) -> tuple[list[ItemRow], int]:
    """Those of the images that have a Gaussian, and how many have none yet."""
    missing = set(feature_store(encoder.fingerprint).missing([item.sha256 for item in items]))
    there = [item for item in items if item.sha256 not in missing]
    return there, len(items) - len(there)


def image_gaussians(encoder: GaussianEncoder, items: Sequence[ItemRow]) -> ProlipEmbeddings:
    """Gaussians of encoded images, in their order. Raises NotReady where one is not encoded."""
    parts = [encoder.image_gaussians(features) for features in _chunks(encoder, items)]
    return ProlipEmbeddings.joined(parts) if parts else nothing(encoder)


def image_uncertainties(encoder: GaussianEncoder, items: Sequence[ItemRow]) -> Tensor:
    """Σσ² of encoded images [N], in their order, in little memory. Raises NotReady where one is not encoded."""
    parts = [encoder.image_gaussians(features).uncertainty for features in _chunks(encoder, items)]
    return torch.cat(parts) if parts else torch.empty(0)


def _chunks(encoder: GaussianEncoder, items: Sequence[ItemRow]) -> Iterator[Features]:
    return feature_store(encoder.fingerprint).iter_chunks([item.sha256 for item in items], dtype=torch.float32)


def text_gaussians(encoder: GaussianEncoder, texts: Sequence[str], on_progress: Progress = silent) -> ProlipEmbeddings:
    """Gaussians of texts, in their order; each is encoded once ever, and what is encoded stays when this is stopped."""
    if not texts:
        return nothing(encoder)
    store = FeatureStore(home() / "features", f"{encoder.fingerprint}-text-gaussians")
    missing = set(store.missing([text_key(text) for text in texts]))
    todo = [text for text in dict.fromkeys(texts) if text_key(text) in missing]
    for start in range(0, len(todo), TEXTS_AT_ONCE):
        on_progress(start, len(todo), "reading texts")
        some = todo[start : start + TEXTS_AT_ONCE]
        made = encoder.text_gaussians(some).to("cpu", torch.float32)
        store.append([text_key(text) for text in some], Features(made.mean, log_variance=made.log_variance))
    found = store.load_texts(texts)
    assert found.log_variance is not None, "stored so, above"
    return ProlipEmbeddings(found.activations, found.log_variance)


def nothing(encoder: GaussianEncoder) -> ProlipEmbeddings:
    """No Gaussian at all, [0, D]."""
    empty = torch.empty(0, encoder.heads.image.shape[0])
    return ProlipEmbeddings(empty, empty)
