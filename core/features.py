"""The feature store: each image and text encoded once per encoder, kept in append-only memory-mapped shards.

A row is found by (sha256 of the image, fingerprint of the encoder), so features can never be paired with another image.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from core.encoders import Encoder
from core.errors import NotReady, UnreadableImage
from core.images import read_image
from core.tensorfile import write_atomically
from core.values import Features, Progress, silent

BATCH = 32
DECODED_SIDE = 1024  # pixels; a larger photo is decoded at a fraction of its size, which is faster and enough
SHARD = 1024  # images between two writes: what a cancelled run loses at most


class FeatureStore:
    """Features of one encoder under `folder/<fingerprint>/`; safe for one writer and many readers."""

    def __init__(self, folder: Path, fingerprint: str):
        self.folder = folder / fingerprint
        self._rows: dict[str, tuple[Path, int]] = {}
        self._known: set[Path] = set()

    def _refresh(self) -> None:
        for shard in sorted(self.folder.glob("*.safetensors")):
            if shard not in self._known:
                with safe_open(shard, framework="pt") as file:
                    digests = file.get_tensor("sha256").numpy()
                self._rows.update({row.tobytes().hex(): (shard, i) for i, row in enumerate(digests)})
                self._known.add(shard)

    def missing(self, sha256s: Sequence[str]) -> list[str]:
        """Those of `sha256s` that have no features yet, each once, in order."""
        self._refresh()
        return [sha for sha in dict.fromkeys(sha256s) if sha not in self._rows]

    def append(self, sha256s: Sequence[str], features: Features) -> None:
        """One new shard, complete or not there at all."""
        tensors = {"activations": features.activations, "sha256": _digests(sha256s)}
        if features.residuals is not None:
            tensors["residuals"] = features.residuals
        write_atomically(self.folder / f"{uuid.uuid4().hex}.safetensors", tensors)

    def load(self, sha256s: Sequence[str]) -> Features:
        """Features in the order of `sha256s`. Raises NotReady when some were never encoded."""
        if missing := self.missing(sha256s):
            raise NotReady(f"{len(missing)} of {len(sha256s)} images are not encoded yet: run the import again")
        if not sha256s:
            raise NotReady("there is no image to load: the split is empty")
        by_shard: dict[Path, list[tuple[int, int]]] = {}
        for position, sha in enumerate(sha256s):
            shard, row = self._rows[sha]
            by_shard.setdefault(shard, []).append((position, row))
        parts: list[Features] = []
        order: list[int] = []
        for shard, pairs in by_shard.items():
            positions, rows = zip(*pairs, strict=True)
            parts.append(_read_rows(shard, torch.tensor(rows)))
            order.extend(positions)
        return Features.cat(parts)[torch.tensor(order).argsort()]

    def load_texts(self, texts: Sequence[str]) -> Features:
        """Features of texts that `encode_texts` put here, in their order."""
        return self.load([text_key(text) for text in texts])


def text_key(text: str) -> str:
    """What a text is stored under."""
    return hashlib.sha256(text.encode()).hexdigest()


def encode_texts(store: FeatureStore, encoder: Encoder, texts: Sequence[str]) -> None:
    """Encode those texts the store lacks."""
    missing = set(store.missing([text_key(text) for text in texts]))
    todo = [text for text in dict.fromkeys(texts) if text_key(text) in missing]
    if todo:
        store.append([text_key(text) for text in todo], encoder.encode_texts(todo))


def encode_files(
    store: FeatureStore,
    encoder: Encoder,
    files: Sequence[tuple[str, Path]],
    *,
    on_progress: Progress = silent,
    workers: int = 2,
) -> list[tuple[Path, str]]:
    """Encode those (sha256, path) the store lacks; returns (path, reason) of files that cannot be read any more."""
    wanted = dict(files)
    todo = [(sha, wanted[sha]) for sha in store.missing([sha for sha, _ in files])]
    problems: list[tuple[Path, str]] = []
    done = 0
    on_progress(0, len(todo), "encoding")
    for chunk in chunks(iter(todo), SHARD):
        shas, parts = [], []
        for batch in _pixels(encoder, chunk, workers):
            good = [(sha, pixels) for (sha, _), pixels in batch if isinstance(pixels, Tensor)]
            problems += [(path, str(reason)) for (_, path), reason in batch if not isinstance(reason, Tensor)]
            if good:
                shas += [sha for sha, _ in good]
                parts.append(encoder.encode_images(torch.stack([pixels for _, pixels in good])))
            done += len(batch)
            on_progress(done, len(todo), "encoding")
        if shas:
            store.append(shas, Features.cat(parts))
    return problems


def _pixels(encoder: Encoder, files: list[tuple[str, Path]], workers: int) -> Iterator[list]:
    """Batches of ((sha256, path), pixels or the reason why not), decoded ahead in threads."""

    def read(file: tuple[str, Path]) -> Tensor | UnreadableImage:
        try:
            return encoder.preprocess(read_image(file[1], max_side=DECODED_SIDE))
        except UnreadableImage as error:
            return error

    with ThreadPoolExecutor(workers) as pool:
        batches = list(chunks(iter(files), BATCH))
        ahead = [[pool.submit(read, file) for file in batch] for batch in batches[:2]]
        for number, batch in enumerate(batches):
            if number + 2 < len(batches):
                ahead.append([pool.submit(read, file) for file in batches[number + 2]])
            yield [(file, future.result()) for file, future in zip(batch, ahead.pop(0), strict=True)]


def chunks(items: Iterator, size: int) -> Iterator[list]:
    """Lists of at most `size` of the items, in order."""
    while chunk := list(islice(items, size)):
        yield chunk


def _digests(sha256s: Sequence[str]) -> Tensor:
    return torch.tensor([list(bytes.fromhex(sha)) for sha in sha256s], dtype=torch.uint8)


def _read_rows(shard: Path, rows: Tensor) -> Features:
    with safe_open(shard, framework="pt") as file:
        names = file.keys()
        read = {name: file.get_tensor(name)[rows] for name in ("activations", "residuals") if name in names}
    return Features(read["activations"], read.get("residuals"))
