"""The factors that the paper's authors publish, read from their folder layout: `A_img_analytic.pt` and so on.

Nothing in the files is run: `weights_only`, on the CPU, and a bound on what they unpack to.

What n means there. The files do not say from how many pairs they come. `n_img` and `n_txt` in
prior_precision_analytic.json (1.0) are no such count: they are the pseudo-data count τ at which `lambda_img` and
`lambda_txt` were found. The authors estimate from 327,680 pairs of LAION-400M in ten blocks of 32,768. The files agree:
with A = Σφφᵀ/√n, tr(A)/√n is the mean of ‖φ‖², 987 for ViT-B/32's 768 inputs after a layer norm; with n = 1 it would be
564,882. So n is 327,680 unless the caller knows better. It weighs pairs that are observed later against these; a
posterior without observations does not depend on it.
"""

from __future__ import annotations

import json
import math
import zipfile
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from core.errors import FactorMismatch
from core.values import KroneckerFactors

PUBLISHED_PAIRS = 327_680
FACTORS = ("A_img", "B_img", "A_txt", "B_txt")
PRIOR_FILE = "prior_precision_analytic.json"
FILES = (*(f"{name}_analytic.pt" for name in FACTORS), PRIOR_FILE)
LARGEST_FILE = 256 * 2**20  # bytes; a factor of 8,192 inputs in float32
ROUNDING = 1e-4  # of the largest entry or eigenvalue: the authors accumulated in float32


@dataclass(frozen=True, slots=True)
class PublishedPrior:
    """The authors' prior precisions λ, and the pseudo-data counts τ at which they found them.

    Kept for the record: their evidence weighs the two log-determinants the wrong way round, so the posterior here
    finds its own λ.
    """

    lambda_img: float
    n_img: float
    lambda_txt: float
    n_txt: float


def load_official(folder: str | Path, n: int = PUBLISHED_PAIRS) -> tuple[KroneckerFactors, KroneckerFactors]:
    """(image, text) factors of `folder`, estimated from `n` pairs (see above), symmetric to the last bit.

    Raises FactorMismatch where a file is missing, is no file of one tensor, or holds no curvature.
    """
    folder = Path(folder)
    A_img, B_img, A_txt, B_txt = (_factor(folder / f"{name}_analytic.pt") for name in FACTORS)
    return KroneckerFactors(A_img, B_img, n), KroneckerFactors(A_txt, B_txt, n)


def load_prior(folder: str | Path) -> PublishedPrior:
    """What prior_precision_analytic.json says; raises FactorMismatch where it says something else."""
    path = Path(folder) / PRIOR_FILE
    try:
        _bounded(path)
        said = json.loads(path.read_bytes())
        prior = PublishedPrior(**{name: float(said[name]) for name in PublishedPrior.__slots__})
        if not all(math.isfinite(value) and value > 0 for value in map(float, said.values())):
            raise ValueError("a number that is not positive")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FactorMismatch(
            f"{path} gives no prior precisions ({type(error).__name__}: {error}): take the published file"
        ) from error
    return prior


def _factor(path: Path) -> Tensor:
    try:
        _bounded(path)
        with zipfile.ZipFile(path) as archive:  # what torch.load would otherwise unpack without a bound
            if sum(entry.file_size for entry in archive.infolist()) > 2 * LARGEST_FILE:
                raise ValueError("it unpacks to too much")
        matrix = torch.load(path, map_location="cpu", weights_only=True)
        return _curvature(matrix)
    except FactorMismatch:
        raise
    except Exception as error:  # unpickling raises almost anything
        raise FactorMismatch(
            f"{path} holds no published factor ({type(error).__name__}: {str(error)[:200]}): a folder of them has "
            f"{', '.join(FILES)}"
        ) from error


def _bounded(path: Path) -> None:
    if (size := path.stat().st_size) > LARGEST_FILE:
        raise FactorMismatch(f"{path} has {size:,} bytes, over the limit of {LARGEST_FILE:,}: it is no factor")


def _curvature(matrix: Tensor) -> Tensor:
    """The symmetric part of a matrix that is symmetric and positive semi-definite but for rounding."""
    if not isinstance(matrix, Tensor) or matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ValueError("no square matrix")
    if not matrix.is_floating_point() or not matrix.isfinite().all():
        raise ValueError("numbers that are not finite reals")
    if (matrix - matrix.T).abs().max() > ROUNDING * matrix.abs().max():
        raise ValueError("a matrix that is not symmetric")
    symmetric = (matrix + matrix.T) / 2
    values = torch.linalg.eigvalsh(symmetric.double())
    if values[0] < -ROUNDING * values[-1].clamp_min(0):
        raise ValueError(f"a matrix with the eigenvalue {float(values[0]):.3g}, which no curvature has")
    return symmetric
