"""Random Gaussians in float64 and the published values, shared by the tests of ProLIP's quantities."""

import torch
from safetensors.torch import load_file
from torch.nn.functional import normalize

from core.values import ProlipEmbeddings
from tests.conftest import REFERENCE
from tests.small import generator, normal

EXACT = {"atol": 1e-8, "rtol": 0}


def random_gaussians(count: int, dimension: int = 7, *, seed: int = 0, level: float = -2.0) -> ProlipEmbeddings:
    """Unit means and log-variances around `level`, one apart."""
    rng = generator(seed)
    mean = normalize(normal(count, dimension, rng=rng), dim=1)
    return ProlipEmbeddings(mean, level + normal(count, dimension, rng=rng))


def published(name: str) -> dict[str, torch.Tensor]:
    """Inputs and outputs of ProLIP's published code, by the file's short name."""
    return load_file(REFERENCE / f"prolip_{name}.safetensors")


def published_pair(values: dict[str, torch.Tensor], prefix: str = "") -> tuple[ProlipEmbeddings, ProlipEmbeddings]:
    """The images and texts of the published loss; `prefix` "masked_" gives the masked ones."""
    return tuple(
        ProlipEmbeddings(values[f"{prefix}{side}_mean"], values[f"{prefix}{side}_logvar"]) for side in ("image", "text")
    )
