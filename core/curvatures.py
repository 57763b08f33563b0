"""Which curvature belongs to which encoder: mini's ships with it, others' are estimated once into the data folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor

from core.config import home
from core.data.pairs import read_pairs
from core.encoders import Encoder
from core.encoders.mini import CURVATURE_FILE
from core.errors import FactorMismatch, InputError, NotReady
from core.images import read_image
from core.posterior.curvature import Likelihood, estimate_factors, load_factors, save_factors
from core.values import Features, KroneckerFactors, Progress, silent

ENCODED_AT_ONCE = 32
BLOCK = 4096  # pairs whose texts a softmax runs over


def curvature_file(model: str, fingerprint: str) -> Path:
    """Where the factors of an encoder are kept."""
    return CURVATURE_FILE if model == "mini" else home() / "curvature" / f"{fingerprint}.safetensors"


def factors_for(model: str, encoder: Encoder) -> tuple[KroneckerFactors, KroneckerFactors]:
    """(image, text) factors of an encoder. Raises NotReady where none were estimated, FactorMismatch for another's."""
    path = curvature_file(model, encoder.fingerprint)
    if not path.exists():
        raise NotReady(
            f"{model} has no curvature yet, which its posterior needs: run "
            f"python -m core curvature DIR --model {model}, where DIR holds image–text pairs (captions.csv)"
        )
    image, text, metadata = load_factors(path)
    if metadata.get("fingerprint") != encoder.fingerprint:
        raise FactorMismatch(
            f"{path} was estimated for encoder {metadata.get('fingerprint')}, not for {model} ({encoder.fingerprint}): "
            f"estimate it again"
        )
    return image, text


def estimate_curvature(
    model: str, encoder: Encoder, folders: Sequence[Path], *, hold_out: int = 0, on_progress: Progress = silent
) -> Path:
    """Estimate both heads' factors from folders of image–text pairs and keep them for `model`; returns the file.

    Each image counts once, with its most specific caption or its name. A model with a logit bias was trained with
    SigLIP's loss, any other with InfoNCE. Raises InputError where the folders hold no pair.
    """
    captioned, named = read_pairs(folders, hold_out)
    pairs = [(each.path, each.texts[-1]) for each in captioned if each.texts]
    pairs += [(each.path, f"a photo of a {each.class_name}") for each in named]
    if not pairs:
        raise InputError(f"no image–text pair in {', '.join(map(str, folders))}: captions.csv names a file and a text")
    images = Features.cat(list(_encode(encoder, [path for path, _ in pairs], on_progress)))
    texts = encoder.encode_texts([text for _, text in pairs])
    g, h = images.embed(encoder.heads.image), texts.embed(encoder.heads.text)
    image, text = _side(encoder, images, g, h), _side(encoder, texts, h, g)
    path = curvature_file(model, encoder.fingerprint)
    save_factors(path, image, text, {"fingerprint": encoder.fingerprint, "model": model, "pairs": str(len(pairs))})
    return path


def _side(encoder: Encoder, own: Features, embeddings: Tensor, others: Tensor) -> KroneckerFactors:
    likelihood = Likelihood.SIGLIP if encoder.heads.bias else Likelihood.INFONCE
    rows = (slice(start, start + BLOCK) for start in range(0, len(own), BLOCK))
    blocks = ((own.activations[some], embeddings[some], others[some]) for some in rows)
    found = estimate_factors(blocks, encoder.heads.scale, encoder.heads.bias, likelihood)
    return KroneckerFactors(found.A.float(), found.B.float(), found.n)


def _encode(encoder: Encoder, paths: Sequence[Path], on_progress: Progress) -> Iterator[Features]:
    for start in range(0, len(paths), ENCODED_AT_ONCE):
        batch = [encoder.preprocess(read_image(path)) for path in paths[start : start + ENCODED_AT_ONCE]]
        yield encoder.encode_images(torch.stack(batch))
        on_progress(min(start + ENCODED_AT_ONCE, len(paths)), len(paths), "encoding image–text pairs")
