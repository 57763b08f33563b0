"""Which curvature belongs to which encoder: the minis' ship with them, others' are kept once in the data folder."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from core.config import home
from core.data.pairs import Broken, open_pairs
from core.encoders import Encoder
from core.encoders.mini import CURVATURE_FILE
from core.encoders.mini_prolip import CURVATURE_FILE as PROLIP_CURVATURE_FILE
from core.errors import FactorMismatch, InputError, NotReady
from core.estimation import LARGEST_BLOCK, estimate
from core.fetch import fetch
from core.official import PUBLISHED_PAIRS, load_official, load_prior
from core.posterior.curvature import Likelihood, check_fit, halved, likelihood_of, load_factors, save_factors
from core.values import KroneckerFactors, Progress, silent

SHIPPED = {"mini": CURVATURE_FILE, "mini-prolip": PROLIP_CURVATURE_FILE}


@dataclass(frozen=True, slots=True)
class Estimated:
    """Where factors were kept, from how many pairs in how many softmax blocks, and what could not be used."""

    file: Path
    pairs: int
    blocks: int
    skipped: int
    problems: tuple[Broken, ...]  # the first of those skipped


def curvature_file(model: str, fingerprint: str) -> Path:
    """Where the factors of an encoder are: those estimated here, before those that ship with a mini."""
    kept = _kept(fingerprint)
    return kept if kept.exists() else SHIPPED.get(model, kept)


def factors_for(model: str, encoder: Encoder) -> tuple[KroneckerFactors, KroneckerFactors]:
    """(image, text) factors of an encoder. Raises NotReady where none were estimated, FactorMismatch for another's."""
    path = curvature_file(model, encoder.fingerprint)
    if not path.exists():
        raise NotReady(
            f"{model} has no curvature yet, which its posterior needs: run "
            f"python -m core curvature --pairs DIR --model {model}, where DIR holds image–text pairs (captions.csv), "
            "or with --official FOLDER for factors that the paper's authors published"
        )
    image, text, metadata = load_factors(path)
    if metadata.get("fingerprint") != encoder.fingerprint:
        raise FactorMismatch(
            f"{path} was estimated for encoder {metadata.get('model')} ({metadata.get('fingerprint')}), not for "
            f"{model} ({encoder.fingerprint}): estimate it again"
        )
    check_fit(image, text, encoder.heads, str(path), model)
    return image, text


def estimate_curvature(
    model: str,
    encoder: Encoder,
    sources: Sequence[str | Path],
    *,
    hold_out: int = 0,
    block: int = LARGEST_BLOCK,
    likelihood: Likelihood | None = None,
    on_progress: Progress = silent,
) -> Estimated:
    """Estimate both heads' factors from image–text pairs and keep them for `model`.

    `sources` are folders, CSV files, tars or patterns (`open_pairs`); each pair counts once. `likelihood` None is the
    model's own. A run that was stopped goes on after its last finished block when it is started again with the same
    model, files and settings. Raises InputError where no pair could be used.
    """
    stream = open_pairs(sources, hold_out)
    likelihood = likelihood or likelihood_of(encoder.heads)
    settings = (encoder.fingerprint, stream.identity, str(block), str(likelihood))
    run = hashlib.sha256(" ".join(settings).encode()).hexdigest()[:16]
    state = home() / "curvature" / "unfinished" / f"{run}.safetensors"
    found = estimate(encoder, stream, state, block=block, likelihood=likelihood, on_progress=on_progress)
    about = {"pairs": found.pairs, "blocks": found.blocks, "block": block, "likelihood": likelihood}
    path = _keep(model, encoder, found.image.factors(), found.text.factors(), about)
    state.unlink(missing_ok=True)
    return Estimated(path, found.pairs, found.blocks, found.skipped, found.problems)


def import_official(
    model: str,
    encoder: Encoder,
    source: str,
    *,
    n: int = PUBLISHED_PAIRS,
    allow_local: bool = False,
    on_progress: Progress = silent,
) -> Path:
    """Keep published factors (core/official.py says what `n` means) for `model`; returns the file.

    `source` is a folder, an https address of one, or `hf-hub:owner/name[/folder]`; `allow_local` lets an address
    name this machine (http on 127.0.0.1), for tests. The files do not say whose factors they are: sizes are checked,
    the rest is the caller's word. Raises FactorMismatch where they fit no such model, InputError for the source.
    """
    if n < 1:
        raise InputError(f"factors come from 1 pair or more, {n} came")
    with tempfile.TemporaryDirectory() as spare:
        folder = fetch(source, Path(spare), allow_local=allow_local, on_progress=on_progress)
        (image, text), prior = load_official(folder, n), load_prior(folder)
    check_fit(image, text, encoder.heads, source, model)
    return _keep(model, encoder, image, text, {"source": source, "published_prior": json.dumps(asdict(prior))})


def _kept(fingerprint: str) -> Path:
    return home() / "curvature" / f"{fingerprint}.safetensors"


def _keep(model: str, encoder: Encoder, image: KroneckerFactors, text: KroneckerFactors, about: dict) -> Path:
    path = _kept(encoder.fingerprint)
    metadata = {"fingerprint": encoder.fingerprint, "model": model} | {key: str(value) for key, value in about.items()}
    save_factors(path, halved(image), halved(text), metadata)
    return path
