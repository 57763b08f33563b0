"""One image with more and more of it hidden: how unsure the model gets, and whether the masked one includes it.

Axes: K shares masked, the first 0 · h, w pixels of the model's input · D joint embedding size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from PIL import Image
from torch import Generator, Tensor

from core.encoders import GaussianEncoder
from core.encoders.mini_prolip import MiniProlip, cropped
from core.prolip.inclusion import log_inclusion
from core.prolip.similarity import cosine
from core.values import ProlipEmbeddings

SHARES = tuple(step / 10 for step in range(10))  # of the image that is hidden
GRID = 14  # patches to a side, where the encoder has none of its own
LEFT_OUT = "The model reads only the patches that are shown, as in its training: its own masked forward."
CROPPED = (
    "The model has no patches to leave out: as in its training, a masked image is a crop, shown as the model sees it."
)
PAINTED = "The hidden patches are painted grey before the model reads the image: it has no masked forward to show."
HIDDEN = 0.72  # a light grey in every theme


@runtime_checkable
class ShowsMask(Protocol):
    """An encoder whose masked forward drops patches and can say which."""

    def seen_pixels(self, pixels: Tensor, keep: float, generator: Generator | None = None) -> Tensor:
        """Pixels [n, 3, h, w] as `encode_gaussians` sees them from one state of the generator, nan where hidden."""


@dataclass(frozen=True, slots=True)
class Masked:
    """Of each share: Σσ², H(original ⊂ masked) in nats, the cosine of both means, and the image as the model sees it.

    `how` says in a sentence how it was masked.
    """

    shares: tuple[float, ...]
    uncertainty: list[float]
    inclusion: list[float]
    similarity: list[float]
    images: list[Image.Image]
    seed: int
    how: str


def masked_versions(
    encoder: GaussianEncoder, image: Image.Image, seed: int = 0, shares: tuple[float, ...] = SHARES
) -> Masked:
    """The image masked by each share, from one seed: what a smaller share hides, a larger one hides too."""
    pixels = encoder.preprocess(image)[None]
    black, white = _range(encoder, image.size)
    views, gaussians, how = _read(encoder, pixels, (black + white) / 2, shares, seed)
    gaussians = gaussians.to("cpu", torch.float32)
    original = gaussians[[0] * len(gaussians)]
    return Masked(
        tuple(shares),
        gaussians.uncertainty.tolist(),
        log_inclusion(original, gaussians).tolist(),
        cosine(gaussians[0], gaussians)[0].clamp(-1, 1).tolist(),
        [_shown((view - black) / (white - black)) for view in views],
        seed,
        how,
    )


def _read(
    encoder: GaussianEncoder, pixels: Tensor, grey: Tensor, shares: tuple[float, ...], seed: int
) -> tuple[Tensor, ProlipEmbeddings, str]:
    """What the model sees of each share [K, 3, h, w], nan where hidden, what it makes of it, and how it was hidden."""
    see: Callable[..., Tensor]
    if isinstance(encoder, ShowsMask):
        see, how = encoder.seen_pixels, LEFT_OUT
    elif isinstance(encoder, MiniProlip):
        see, how = cropped, CROPPED
    else:
        seen = hidden_last(*pixels.shape[2:], shares, seed)[:, None]
        painted = torch.where(seen, pixels, grey)
        return pixels.where(seen, torch.nan), encoder.encode_gaussians(painted), PAINTED
    views = torch.cat([see(pixels, 1 - share, _drawn_by(seed)) for share in shares])
    found = [encoder.encode_gaussians(pixels, 1 - share, _drawn_by(seed)) for share in shares]
    return views, ProlipEmbeddings.joined(found), how


def hidden_last(height: int, width: int, shares: tuple[float, ...], seed: int, grid: int = GRID) -> Tensor:
    """What is seen of h×w pixels in patches of a grid, bool [K, h, w]; at least one patch of each."""
    rows, columns = min(grid, height), min(grid, width)
    order = torch.rand(rows * columns, generator=_drawn_by(seed)).argsort().argsort().reshape(rows, columns)
    kept = [max(1, round((1 - share) * rows * columns)) for share in shares]
    y, x = torch.arange(height) * rows // height, torch.arange(width) * columns // width
    return torch.stack([(order < number)[y][:, x] for number in kept])


def _drawn_by(seed: int) -> Generator:
    return torch.Generator().manual_seed(seed)


def _range(encoder: GaussianEncoder, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """What the preprocessing makes of black and of white, [3, 1, 1] each: it can be undone without knowing it."""
    black, white = (encoder.preprocess(Image.new("RGB", size, colour)) for colour in ("black", "white"))
    return black.mean(dim=(1, 2), keepdim=True), white.mean(dim=(1, 2), keepdim=True)


def _shown(pixels: Tensor) -> Image.Image:
    """Pixels [3, h, w] in [0, 1] as an image, grey where they are nan."""
    values = pixels.clamp(0, 1).nan_to_num(HIDDEN) * 255
    return Image.fromarray(values.round().to(torch.uint8).permute(1, 2, 0).contiguous().numpy())
