"""The Laplace posterior of both linear heads: fit, embed, observe, refit, save.

Axes: N images or texts · p input size of a head · D joint embedding size.
vec(P) ~ N(P_map, Ã⁻¹ ⊗ B̃⁻¹) with Ã = √τ·A + √λ·I and B̃ = √τ·B + √λ·I; every function returns a new value.
Labelled images join in one of two ways: `with_observations` adds them to A and B, `conditioned_on` conditions the
variance on them without touching either.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from core.errors import FactorMismatch
from core.posterior.kron import (
    EigenFactors,
    damped,
    eigen,
    inverse_root,
    pack_factors,
    unpack_factors,
)
from core.posterior.prior import optimal_prior_precision
from core.tensorfile import write_atomically
from core.values import Features, GaussianEmbeddings, Heads, KroneckerFactors

SHARPEST = 1e-3  # the largest signal-to-noise of one label, in units of 1/eps of the dtype


@dataclass(frozen=True, slots=True)
class Conditions:
    """Labelled rows that narrow a head's variance, whatever their labels are."""

    activations: Tensor  # φ [k, p]
    signal: Tensor  # a label's precision times the variance φᵀÃ⁻¹φ it met, [k]


@dataclass(frozen=True, slots=True)
class HeadPosterior:
    """One head's Gaussian posterior; make it with `fit_head`, which keeps the derived parts in step.

    The conditions are in `A_root`, and so in all that is computed from it.
    """

    weight: Tensor  # P_map [D, p]
    factors: KroneckerFactors
    tau: float  # pseudo-data count τ
    prior_precision: float  # λ
    eigen: EigenFactors
    A_root: Tensor  # L [p, p], Ã⁻¹ = LLᵀ, as conditioned
    B_inverse: Tensor  # B̃⁻¹ [D, D]
    conditions: Conditions | None = None

    def embed(self, features: Features) -> GaussianEmbeddings:
        """Embeddings of N rows: mean φPᵀ + residual, variance (φᵀÃ⁻¹φ)·diag(B̃⁻¹), both [N, D]."""
        features = features.to(self.weight)
        spread = (features.activations @ self.A_root).square().sum(dim=1, keepdim=True)  # φᵀÃ⁻¹φ [N, 1]
        return GaussianEmbeddings(features.embed(self.weight), spread * self.B_inverse.diagonal())

    def embed_at(self, features: Features, taus: Sequence[float]) -> Iterator[GaussianEmbeddings]:
        """What `with_tau(tau).embed` gives for each τ, without that posterior: O((N + k)pk) each, not O(p²k).

        In the eigenvectors' coordinates φ'Ã⁻¹φ of any two rows is a weighted product; the k conditions take off
        c(K + C⁻¹)⁻¹cᵀ with K [k, k] and c [N, k] the products of conditions with each other and with the rows.
        """
        features = features.to(self.weight)
        mean, rows = features.embed(self.weight), features.activations.double() @ self.eigen.A_vectors
        told = self.conditions or Conditions(features.activations[:0], features.activations.new_empty(0))
        seen = told.activations.double() @ self.eigen.A_vectors
        for tau in taus:
            precision = optimal_prior_precision(self.eigen, self.weight, tau)
            inverse = damped(self.eigen.A_values, tau, precision).reciprocal()
            among, across = (seen * inverse) @ seen.T, rows @ (seen * inverse).T
            root = _precisions(told, among.diagonal(), self.weight.dtype).sqrt()
            noisy = root[:, None] * among * root
            noisy.diagonal().add_(1)
            known = torch.linalg.solve_triangular(torch.linalg.cholesky(noisy), (across * root).T, upper=False)
            spread = rows.square() @ inverse - known.square().sum(dim=0)
            diagonal = self.eigen.B_vectors.square() @ damped(self.eigen.B_values, tau, precision).reciprocal()
            yield GaussianEmbeddings(mean, (spread.clamp_min(0)[:, None] * diagonal).to(mean))

    def conditioned_on(self, activations: Tensor, signal: Tensor) -> HeadPosterior:
        """The posterior whose variance is conditioned on k labelled rows, in place of any it was conditioned on.

        Row i is a Gaussian observation of precision c_i = signal_i/(φ_iᵀÃ⁻¹φ_i): Ã⁻¹ becomes (Ã + Σ c_i φ_iφ_iᵀ)⁻¹,
        B̃ stays, and another τ keeps the signals. `activations` [k, p], `signal` [k], not negative; O(p²k + k³).
        """
        return _narrowed(self.unconditioned(), Conditions(activations.to(self.weight), signal.to(self.weight)))

    def unconditioned(self) -> HeadPosterior:
        """The posterior of the curvature alone: for what conditions on the labelled rows itself, as rankings do."""
        if self.conditions is None:
            return self
        return _derive(self.weight, self.factors, self.eigen, self.tau, self.prior_precision)

    def with_observations(self, activations: Tensor, hessian_B: Tensor, *, repeats: int = 1) -> HeadPosterior:
        """The posterior after more pairs: φφᵀ of `activations` [k, p] and their ΣH `hessian_B` [D, D] join A and B.

        n grows by k·repeats, each pair counting as `repeats` pairs; λ is found again. ΣH comes from `kfac_b`.
        """
        old, n = self.factors, self.factors.n + repeats * len(activations)
        grown_A = old.n**0.5 * old.A + repeats * (activations.T @ activations).to(old.A)
        grown_B = old.n**0.5 * old.B + repeats * hessian_B.to(old.B)
        grown = fit_head(self.weight, KroneckerFactors(grown_A / n**0.5, grown_B / n**0.5, n), self.tau)
        return _narrowed(grown, self.conditions)

    def with_weight(self, weight: Tensor, prior_precision: float | None = None) -> HeadPosterior:
        """The same curvature around another head [D, p]; λ by the evidence unless given."""
        changed = _derive(weight, self.factors, self.eigen, self.tau, prior_precision)
        return _narrowed(changed, self.conditions)

    def with_tau(self, tau: float, prior_precision: float | None = None) -> HeadPosterior:
        """The same head with another pseudo-data count; reuses the eigendecompositions. λ as in `with_weight`."""
        changed = _derive(self.weight, self.factors, self.eigen, tau, prior_precision)
        return _narrowed(changed, self.conditions)


def fit_head(
    weight: Tensor, factors: KroneckerFactors, tau: float, prior_precision: float | None = None, *, name: str = "a"
) -> HeadPosterior:
    """The posterior of one head `weight` [D, p] under its factors; λ by the evidence unless given.

    Raises FactorMismatch when the sizes differ; `name` ("the image") is what that message calls the head.
    """
    D, p = weight.shape
    if factors.A.shape != (p, p) or factors.B.shape != (D, D):
        came = f"A {list(factors.A.shape)} and B {list(factors.B.shape)}"
        raise FactorMismatch(
            f"factors {came} came with {name} head [{D}, {p}], which needs A [{p}, {p}] and B [{D}, {D}]: "
            "use the factors that were estimated with this encoder"
        )
    return _derive(weight, factors, eigen(factors), tau, prior_precision)


def _derive(
    weight: Tensor, factors: KroneckerFactors, spectrum: EigenFactors, tau: float, prior_precision: float | None
) -> HeadPosterior:
    if not tau > 0:
        raise ValueError(f"the pseudo-data count must be positive, {tau} came")
    if prior_precision is None:
        prior_precision = optimal_prior_precision(spectrum, weight, tau)
    A_root = inverse_root(damped(spectrum.A_values, tau, prior_precision), spectrum.A_vectors)
    B_root = inverse_root(damped(spectrum.B_values, tau, prior_precision), spectrum.B_vectors)
    B_inverse = B_root @ B_root.T
    return HeadPosterior(
        weight, factors, float(tau), float(prior_precision), spectrum, A_root.to(weight), B_inverse.to(weight)
    )


def _narrowed(head: HeadPosterior, conditions: Conditions | None) -> HeadPosterior:
    """Woodbury in the coordinates of A_root: with Z = Lᵀ Φᵀ √c = U diag(σ) Vᵀ, (I + ZZᵀ)⁻¹ scales U by 1/(1 + σ²)."""
    if conditions is None or len(conditions.signal) == 0:
        return head
    root = head.A_root.double()
    seen = conditions.activations.double() @ root  # [k, p]
    precision = _precisions(conditions, seen.square().sum(dim=1), head.weight.dtype)
    U, sigma, _ = torch.linalg.svd((seen * precision.sqrt()[:, None]).T, full_matrices=False)
    narrower = (root @ U) * ((1 + sigma.square()).rsqrt() - 1) @ U.T
    return replace(head, A_root=(root + narrower).to(head.A_root), conditions=conditions)


def _precisions(conditions: Conditions, met: Tensor, dtype: torch.dtype) -> Tensor:
    """c_i = signal_i/(φ_iᵀÃ⁻¹φ_i) [k], for the variances `met` [k]; bounded by what `dtype` can tell apart."""
    signal = conditions.signal.double().clamp(0, SHARPEST / torch.finfo(dtype).eps)
    return signal / met.clamp_min(torch.finfo(dtype).tiny)


@dataclass(frozen=True, slots=True)
class Posterior:
    """Both heads' posteriors, the logit map, and which encoder they belong to."""

    image: HeadPosterior
    text: HeadPosterior
    scale: float
    bias: float
    fingerprint: str

    @property
    def heads(self) -> Heads:
        """The two heads at their most probable weights."""
        return Heads(self.image.weight, self.text.weight, self.scale, self.bias)

    def with_image(self, image: HeadPosterior) -> Posterior:
        """The same with another image head's posterior."""
        return replace(self, image=image)

    def with_text(self, text: HeadPosterior) -> Posterior:
        """The same with another text head's posterior."""
        return replace(self, text=text)

    def unconditioned(self) -> Posterior:
        """Both heads by their curvature alone (HeadPosterior.unconditioned)."""
        return replace(self, image=self.image.unconditioned(), text=self.text.unconditioned())

    def with_tau(self, tau: float) -> Posterior:
        """Both heads at another pseudo-data count, λ of each by the evidence."""
        return replace(self, image=self.image.with_tau(tau), text=self.text.with_tau(tau))

    def save(self, path: str | Path, made_of: Mapping[str, object] | None = None) -> None:
        """Everything that made this posterior, as one safetensors file, written whole or not at all.

        `made_of` is kept beside it as JSON (classes, settings, seed); `read_made_of` reads it alone.
        """
        tensors: dict[str, Tensor] = {}
        for name, head in (("image", self.image), ("text", self.text)):
            tensors |= pack_factors(name, head.factors)
            tensors[f"{name}.weight"] = head.weight.detach().cpu()
            tensors[f"{name}.tau"] = torch.tensor(head.tau, dtype=torch.float64)
            tensors[f"{name}.prior_precision"] = torch.tensor(head.prior_precision, dtype=torch.float64)
            if head.conditions is not None:
                tensors[f"{name}.conditions.activations"] = head.conditions.activations.cpu()
                tensors[f"{name}.conditions.signal"] = head.conditions.signal.cpu()
        logit_map = {"scale": self.scale, "bias": self.bias}
        about = {"fingerprint": self.fingerprint, "logit_map": json.dumps(logit_map)}
        write_atomically(path, tensors, about | {"made_of": json.dumps(dict(made_of or {}))})

    @staticmethod
    def load(path: str | Path, fingerprint: str | None = None) -> Posterior:
        """The posterior that `save` wrote, on the CPU.

        Raises FactorMismatch when the file holds none, or that of another encoder than a given `fingerprint`.
        """
        with safe_open(str(path), framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
            metadata = dict(file.metadata() or {})
        try:
            came = metadata["fingerprint"]
            if fingerprint not in (None, came):
                raise FactorMismatch(f"{path} was made with the encoder {came}, not with {fingerprint}: fit it again")
            image, text = (_load_head(name, tensors) for name in ("image", "text"))
            return Posterior(image, text, **json.loads(metadata["logit_map"]), fingerprint=came)
        except KeyError as error:
            raise FactorMismatch(f"{path} holds no posterior ({error} is missing): fit and save it again") from error


def read_made_of(path: str | Path) -> dict:
    """What `save` was told a posterior was made of; empty where it was told nothing."""
    with safe_open(str(path), framework="pt") as file:
        return json.loads((file.metadata() or {}).get("made_of", "{}"))


def _load_head(name: str, tensors: dict[str, Tensor]) -> HeadPosterior:
    tau, precision = (float(tensors[f"{name}.{key}"]) for key in ("tau", "prior_precision"))
    head = fit_head(tensors[f"{name}.weight"], unpack_factors(name, tensors), tau, precision, name=f"the {name}")
    if f"{name}.conditions.signal" not in tensors:
        return head
    return head.conditioned_on(*(tensors[f"{name}.conditions.{key}"] for key in ("activations", "signal")))


def fit(
    heads: Heads,
    image_factors: KroneckerFactors,
    text_factors: KroneckerFactors,
    *,
    tau: float,
    fingerprint: str,
) -> Posterior:
    """The posterior of both heads at pseudo-data count τ, each λ by the evidence.

    Raises FactorMismatch, naming the head, when factors and heads differ in size.
    """
    image = fit_head(heads.image, image_factors, tau, name="the image")
    text = fit_head(heads.text, text_factors, tau, name="the text")
    return Posterior(image, text, float(heads.scale), float(heads.bias), fingerprint)
