"""Search: images by words or by an image, through the project's own encoder.

Axes: N images · D joint embedding size.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from torch import Tensor
from torch.nn.functional import normalize

from core import rounds
from core.config import home
from core.encoders import Encoder
from core.encoding import DECODED_SIDE
from core.errors import InputError, NotReady
from core.images import read_image
from core.posterior.laplace import Posterior
from core.values import Features, Heads
from db.repository import ProjectRow, RoundRow

MOST_WORDS = 1000  # characters of a query


def by_words(project: ProjectRow, newest: RoundRow, words: str) -> Tensor:
    """The unit vector [D] that these words point to, exactly as typed. Raises InputError for none or too many."""
    if not words.strip() or len(words) > MOST_WORDS:
        raise InputError(f"a search has 1 to {MOST_WORDS} characters, {len(words)} came")
    features = _encoder(project, newest).encode_texts([words.strip()])
    return _direction(features, _heads(newest).text)


def by_image(project: ProjectRow, newest: RoundRow, path: Path) -> Tensor:
    """The unit vector [D] of an image in a file. Raises UnreadableImage."""
    image = read_image(path, max_side=DECODED_SIDE)
    encoder = _encoder(project, newest)
    features = encoder.encode_images(encoder.preprocess(image)[None])
    return _direction(features, _heads(newest).image)


def similarity(units: Tensor, direction: Tensor) -> Tensor:
    """Cosines [N] of normalised embeddings [N, D] with a unit vector [D]."""
    return units.float() @ direction.float()


def _direction(features: Features, weight: Tensor) -> Tensor:
    return normalize(features.to(weight).embed(weight), dim=1)[0]


def _encoder(project: ProjectRow, newest: RoundRow) -> Encoder:
    encoder = rounds.encoder_for(project.model)
    if encoder.fingerprint != newest.fingerprint:
        raise NotReady(
            "the encoder has changed since the images were read: a new project on the same folder reads them again"
        )
    return encoder


def _heads(newest: RoundRow) -> Heads:
    return _loaded(str(home() / newest.checkpoint))


@lru_cache(maxsize=4)
def _loaded(checkpoint: str) -> Heads:
    return Posterior.load(checkpoint).heads
