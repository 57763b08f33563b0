"""Which curvature belongs to which encoder: mini's ships with it, others' lie in the data folder."""

from __future__ import annotations

from pathlib import Path

from core.config import home
from core.encoders import Encoder
from core.encoders.mini import CURVATURE_FILE
from core.errors import FactorMismatch, NotReady
from core.posterior.curvature import load_factors
from core.values import KroneckerFactors


def curvature_file(model: str, fingerprint: str) -> Path:
    """Where the factors of an encoder are kept."""
    return CURVATURE_FILE if model == "mini" else home() / "curvature" / f"{fingerprint}.safetensors"


def factors_for(model: str, encoder: Encoder) -> tuple[KroneckerFactors, KroneckerFactors]:
    """(image, text) factors of an encoder. Raises NotReady where none were estimated, FactorMismatch for another's."""
    path = curvature_file(model, encoder.fingerprint)
    if not path.exists():
        raise NotReady(
            f"{model} has no curvature yet, which its posterior needs: run "
            f"python -m core curvature --model {model} DIR, with a folder of image–text pairs"
        )
    image, text, metadata = load_factors(path)
    if metadata.get("fingerprint") != encoder.fingerprint:
        raise FactorMismatch(
            f"{path} was estimated for encoder {metadata.get('fingerprint')}, not for {model} ({encoder.fingerprint}): "
            f"estimate it again"
        )
    return image, text
