"""Small random heads, features and posteriors in float64, shared by the tests of the maths."""

import torch
from safetensors.torch import load_file

from core.posterior.laplace import Posterior, fit
from core.values import Features, Heads, KroneckerFactors
from tests.conftest import REFERENCE

D, P_IMAGE, P_TEXT = 6, 5, 4  # no two alike on purpose


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, rng: torch.Generator) -> torch.Tensor:
    return torch.randn(*shape, generator=rng, dtype=torch.float64)


def positive_definite(size: int, rng: torch.Generator) -> torch.Tensor:
    root = normal(size, size + 2, rng=rng)
    product = root @ root.T / size
    return (product + product.T) / 2  # symmetric to the last bit


def random_factors(p: int, rng: torch.Generator, n: int = 9) -> KroneckerFactors:
    return KroneckerFactors(positive_definite(p, rng), positive_definite(D, rng), n)


def random_posterior(seed: int = 0, *, tau: float = 5.0, scale: float = 8.0) -> Posterior:
    rng = generator(seed)
    heads = Heads(normal(D, P_IMAGE, rng=rng), normal(D, P_TEXT, rng=rng), scale, -2.0)
    return fit(heads, random_factors(P_IMAGE, rng), random_factors(P_TEXT, rng), tau=tau, fingerprint="small")


def random_features(n: int, p: int = P_IMAGE, *, seed: int = 1, residuals: bool = False) -> Features:
    rng = generator(seed)
    return Features(normal(n, p, rng=rng), normal(n, D, rng=rng) if residuals else None)


def reference(name: str) -> dict[str, torch.Tensor]:
    """Inputs and outputs of the paper's published code, by the file's short name."""
    return load_file(REFERENCE / f"bayesvlm_{name}.safetensors")


def reference_scale(tensors: dict[str, torch.Tensor]) -> float:
    """exp(logit_scale); the published code held that parameter in float32, whatever the rest was in."""
    return float(tensors["logit_scale_log"].float().double().exp())


def with_one(activations: torch.Tensor) -> torch.Tensor:
    return torch.cat([activations, torch.ones_like(activations[:, :1])], dim=1)
