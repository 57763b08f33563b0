"""Joint draws of the heads: one draw serves any number of image sets, in chunks of any size.

Axes: N images · C classes · K draws · k draws of a block · D joint embedding size · p input size of the image head.
Scores see the heads through the class texts alone, so a draw is ĤP_k, C×p numbers instead of D×p:
f_k(x) = mean(x) + R E_k a(x) with RRᵀ = S, E_k standard normal [C, p] and a(x) = φᵀL/√e_g, which gives
Cov(f(x), f(x*)) = κ(x, x*)·S across all images.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from core.logits import DRAWS_AT_ONCE, class_covariance, expected_energy, prob_cosine, whitened
from core.posterior.laplace import Posterior
from core.values import Features

TEXT_SEEDS = 1 << 31  # where the text head's seeds begin; a generator reads 32 bits of its seed


@dataclass(frozen=True, slots=True)
class HeadDraws:
    """K draws of the heads for the class texts; make them with `draw_heads`.

    Draw number k is made from seed + k alone: asking for other images, fewer draws or smaller chunks never changes it.
    """

    posterior: Posterior
    texts: Features  # [C, p']
    K: int
    seed: int
    with_text: bool = False

    def probabilities(self, images: Features) -> Tensor:
        """Probabilities [N, K, C] of the images under every draw; holds one block of draws at a time besides."""
        return torch.cat([block.softmax(dim=-1) for block in self.logits(images)], dim=1)

    def logits(self, images: Features) -> Iterator[Tensor]:
        """Logits [N, k, C] of the images, block after block of the draws."""
        posterior = self.posterior
        embedded = posterior.image.embed(images)
        rows = whitened(posterior, images, embedded)
        logits = prob_cosine(embedded, posterior.text.embed(self.texts), posterior.scale, posterior.bias)
        mean = logits.mean[:, None]  # [N, 1, C]
        shrunk = embedded.mean / expected_energy(embedded).sqrt()[:, None]  # g/√e_g [N, D]
        for noise, directions in self._blocks(rows.shape[1]):
            k, C, _ = noise.shape
            if directions is not None:
                mean = posterior.scale * torch.einsum("nd,kcd->nkc", shrunk, directions) + posterior.bias
            yield mean + (rows @ noise.flatten(0, 1).T).view(len(rows), k, C)

    def _blocks(self, p: int) -> Iterator[tuple[Tensor, Tensor | None]]:
        """(R E_k [k, C, p], the drawn class directions [k, C, D] or None) for k draws at a time."""
        C = len(self.texts)
        size = max(1, DRAWS_AT_ONCE // (C * p))
        S_root = square_root(class_covariance(self.posterior, self.texts))
        texts = _TextDraws.of(self.posterior, self.texts) if self.with_text else None
        for start in range(0, self.K, size):
            seeds = range(self.seed + start, self.seed + min(self.K, start + size))
            noise = _normals(seeds, (C, p), S_root)
            if texts is None:
                yield S_root @ noise, None
                continue
            directions = texts.directions(seeds).to(S_root)
            S = self.posterior.scale**2 * directions @ self.posterior.image.B_inverse @ directions.mT  # [k, C, C]
            yield square_root(S) @ noise, directions


@dataclass(frozen=True, slots=True)
class _TextDraws:
    """h_k/√e_h with h_k = Q_k ψ: mean [C, D] and the roots of κ [C, r] and B̃⁻¹ [D, D]."""

    mean: Tensor
    row_root: Tensor
    root: Tensor

    @staticmethod
    def of(posterior: Posterior, texts: Features) -> _TextDraws:
        head, texts = posterior.text, texts.to(posterior.text.weight)
        embedded = head.embed(texts)
        norm = expected_energy(embedded).sqrt()[:, None]
        rows = torch.linalg.qr((texts.activations @ head.A_root / norm).T, mode="r").R.T
        return _TextDraws(embedded.mean / norm, rows, square_root(head.B_inverse))

    def directions(self, seeds: range) -> Tensor:
        """[k, C, D], one draw of the text head each."""
        shape = len(self.root), self.row_root.shape[1]
        noise = _normals(range(seeds.start + TEXT_SEEDS, seeds.stop + TEXT_SEEDS), shape, self.root)  # [k, D, r]
        return self.mean + self.row_root @ (self.root @ noise).mT


def draw_heads(
    posterior: Posterior, texts: Features, K: int, rng: torch.Generator, *, with_text: bool = False
) -> HeadDraws:
    """K joint draws; `rng` gives one number, the seed that all of them follow from.

    With `with_text` the text head is drawn too, so that the classes' own uncertainty shows; their directions are then
    divided by √E‖h‖² as in ProbCosine, and no longer by ‖h‖.
    """
    seed = int(torch.randint(TEXT_SEEDS - K, (), generator=rng, device=rng.device))
    return HeadDraws(posterior, texts, K, seed, with_text)


def square_root(matrix: Tensor) -> Tensor:
    """R with RRᵀ = matrix, for positive semidefinite [..., n, n]; rounding below 0 becomes 0."""
    values, vectors = torch.linalg.eigh(matrix)
    return vectors * values.clamp_min(0).sqrt().unsqueeze(-2)


def _normals(seeds: range, shape: tuple[int, ...], like: Tensor) -> Tensor:
    rng = torch.Generator()
    made = [torch.randn(shape, generator=rng.manual_seed(seed), dtype=like.dtype) for seed in seeds]
    return torch.stack(made).to(like.device)
