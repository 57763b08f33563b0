"""Images through an encoder, batch by batch: on this machine, or on those of a Ray cluster with the same batches.

The numbers of a batch depend in their last bits on what else is in it. A piece of work for the cluster is therefore a
whole number of batches as they would be here.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

import torch
from PIL import Image
from torch import Tensor

from core.ahead import in_order
from core.encoders import Encoder
from core.encoders.memory import BatchSize, starting_batch
from core.errors import UnreadableImage
from core.images import read_image, sha256_file
from core.ray_pool import on_ray, ray_address
from core.storage import CHANGED, Place, fetched
from core.values import Features

DECODED_SIDE = 1024  # pixels; a larger photo is decoded at a fraction of its size, which is faster and enough
MOST_WORKERS = 16
PIECE = 256  # images of a piece of work for a cluster, or one batch where that is more

File = tuple[str, Place]
"""(sha256, where it is)."""


@dataclass(frozen=True, slots=True)
class Batch:
    """`taken` files in their order: the hashes of those that were encoded with their features, and the others."""

    taken: int
    shas: list[str]
    features: Features | None
    problems: list[tuple[Place, str]]


def encoded(
    encoder: Encoder, files: Sequence[File], workers: int | None = None, size: int | None = None
) -> Generator[Batch, None, None]:
    """All files in batches, in their order; by a cluster where PENUMBRA_RAY_ADDRESS names one.

    The first batch is sized by the free memory unless `size` says; one that does not fit is halved. `workers` threads
    decode. Raises ModelError where not one image fits.
    """
    size = size or _first_batch(encoder)
    if ray_address():
        return _by_cluster(encoder, files, workers, size)
    return _here(encoder, files, workers or cores(), size)


def cores() -> int:
    """Threads that decode images: one a core, up to where the disk is slower."""
    return min(MOST_WORKERS, os.cpu_count() or 1)


def _by_cluster(
    encoder: Encoder, files: Sequence[File], workers: int | None, size: int
) -> Generator[Batch, None, None]:
    length = size * max(1, PIECE // size)
    pieces = (files[start : start + length] for start in range(0, len(files), length))
    gpu = getattr(encoder, "device", torch.device("cpu")).type == "cuda"
    with closing(on_ray(_piece, (encoder, workers, size), pieces, gpu=gpu)) as results:
        for batches in results:
            yield from batches


def _piece(shared: tuple[Encoder, int | None, int], files: Sequence[File]) -> list[Batch]:
    """What a process of the cluster does."""
    encoder, workers, size = shared
    return list(_here(encoder, files, workers or max(2, torch.get_num_threads()), size))


def _here(encoder: Encoder, files: Sequence[File], workers: int, size: int) -> Generator[Batch, None, None]:
    batch = BatchSize(size)
    with closing(_decoded(encoder, files, 2 * size, workers)) as decoded:
        while some := list(islice(decoded, batch.size)):
            good = [(sha, pixels) for (sha, _), pixels in some if isinstance(pixels, Tensor)]
            problems = [(path, str(reason)) for (_, path), reason in some if not isinstance(reason, Tensor)]
            pixels = [each for _, each in good]
            features = batch.encode(encoder.encode_images, torch.stack(pixels)) if pixels else None
            yield Batch(len(some), [sha for sha, _ in good], features, problems)


def _first_batch(encoder: Encoder) -> int:
    pixels = encoder.preprocess(Image.new("RGB", (64, 64)))
    device = getattr(encoder, "device", torch.device("cpu"))
    return starting_batch(device, pixels.numel() * pixels.element_size())


def _decoded(
    encoder: Encoder, files: Sequence[File], ahead: int, workers: int
) -> Generator[tuple[File, Tensor | UnreadableImage], None, None]:
    """((sha256, path), pixels or the reason why not) in order, at most `ahead` of them decoded before their turn."""

    def read(file: File) -> Tensor | UnreadableImage:
        sha256, where = file
        try:
            path = fetched(where, sha256)
            image = read_image(path, max_side=DECODED_SIDE)
            return UnreadableImage(CHANGED) if sha256_file(path) != sha256 else encoder.preprocess(image)
        except UnreadableImage as error:
            return error

    return in_order(read, files, workers=workers, ahead=ahead)
