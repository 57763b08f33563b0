"""Estimate both heads' curvature from a stream of image–text pairs, block by block, in memory that does not grow.

A block's pairs are each other's softmax. After each block the sums are written down; a run that was stopped goes on
after the last finished block and ends at the same bits as one that was not. Axes: n pairs of a block.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from core.data.pairs import Broken, Item, Pair, PairStream
from core.encoders import Encoder
from core.errors import InputError, UnreadableImage
from core.features import DECODED_SIDE
from core.posterior.curvature import FactorSums, Likelihood, add_pairs, no_pairs
from core.tensorfile import write_atomically
from core.values import Features, Progress, silent

logger = logging.getLogger(__name__)

LARGEST_BLOCK = 32_768  # pairs; the texts that a softmax runs over
ENCODED_AT_ONCE = 32
DECODERS = 2  # threads
MESSAGE = "encoding image–text pairs"
LISTED = 1_000  # problems that are kept by name; all are counted


@dataclass(frozen=True, slots=True)
class Estimate:
    """The sums over all finished blocks, and where in the stream they end."""

    image: FactorSums
    text: FactorSums
    items: int = 0  # of the stream that were taken, sound or not
    blocks: int = 0
    skipped: int = 0  # items that could not be used
    problems: tuple[Broken, ...] = ()  # the first LISTED of them

    @property
    def pairs(self) -> int:
        """How many pairs the sums hold."""
        return self.image.n


@dataclass(slots=True)
class _Block:
    """Pairs as they are encoded, and what was passed over among them."""

    names: list[str] = field(default_factory=list)
    images: list[Features] = field(default_factory=list)
    texts: list[Features] = field(default_factory=list)
    items: int = 0
    problems: list[Broken] = field(default_factory=list)


def estimate(
    encoder: Encoder,
    stream: PairStream,
    state: Path,
    *,
    block: int = LARGEST_BLOCK,
    likelihood: Likelihood | None = None,
    on_progress: Progress = silent,
) -> Estimate:
    """The sums over `stream` in blocks of `block` pairs, kept in the file `state` from block to block.

    `state` must belong to this encoder, stream, block and likelihood; where it exists, the run goes on from it. What
    cannot be read is counted and passed over. Raises InputError where no pair could be read or a block is not of
    1 to LARGEST_BLOCK pairs, and whatever `on_progress` raises.
    """
    if not 1 <= block <= LARGEST_BLOCK:
        raise InputError(f"a block has 1 to {LARGEST_BLOCK:,} pairs, {block} came")
    found = _read(state) or Estimate(*no_pairs(encoder.heads))
    expected, start = stream.expected(), found.items
    on_progress(start, max(start, expected), MESSAGE)

    def report(items: int) -> None:
        on_progress(start + items, max(start + items, expected), MESSAGE)

    for part in _blocks(encoder, stream.items(start), block, report):
        found = _with(found, part, encoder, likelihood)
        _write(state, found)
    if not found.pairs:
        first = "".join(f"; the first of {found.skipped}: {each.name}, {each.reason}" for each in found.problems[:1])
        raise InputError(f"no image–text pair could be used{first}")
    on_progress(found.items, found.items, MESSAGE)
    return found


def _blocks(encoder: Encoder, items: Iterator[Item], size: int, report: Callable[[int], None]) -> Iterator[_Block]:
    """Blocks of `size` encoded pairs; the last has what is left. `report` hears how many items were taken."""
    block, batch, before = _Block(), [], 0
    for decoded in _decoded(encoder, items):
        block.items += 1
        if isinstance(decoded, Broken):
            block.problems.append(decoded)
            continue
        batch.append(decoded)
        full = len(block.names) + len(batch) == size
        if full or len(batch) == ENCODED_AT_ONCE:
            _encode(encoder, block, batch)
            batch = []
            report(before + block.items)
        if full:
            yield block
            block, before = _Block(), before + block.items
    if batch:
        _encode(encoder, block, batch)
    if block.items:
        yield block


def _decoded(encoder: Encoder, items: Iterator[Item]) -> Iterator[tuple[Pair, Tensor] | Broken]:
    """Every pair with its pixels, or why it has none; decoded ahead in threads."""

    def decode(item: Item) -> tuple[Pair, Tensor] | Broken:
        if isinstance(item, Broken):
            return item
        try:
            return item, encoder.preprocess(item.read(DECODED_SIDE))
        except UnreadableImage as error:
            return Broken(item.name, str(error))

    with ThreadPoolExecutor(DECODERS) as pool:
        ahead: deque[Future] = deque()
        for item in items:
            ahead.append(pool.submit(decode, item))
            if len(ahead) > ENCODED_AT_ONCE:
                yield ahead.popleft().result()
        for waiting in ahead:
            yield waiting.result()


def _encode(encoder: Encoder, block: _Block, batch: list[tuple[Pair, Tensor]]) -> None:
    block.names += [pair.name for pair, _ in batch]
    block.images.append(encoder.encode_images(torch.stack([pixels for _, pixels in batch])))
    block.texts.append(encoder.encode_texts([pair.text for pair, _ in batch]))


def _with(found: Estimate, block: _Block, encoder: Encoder, likelihood: Likelihood | None) -> Estimate:
    """With one block more; pairs without a direction (not finite, or zero) are passed over, they would spoil all."""
    problems, sums = list(block.problems), (found.image, found.text)
    if block.names:
        images, texts = Features.cat(block.images), Features.cat(block.texts)
        sound = _sound(images, encoder.heads.image) & _sound(texts, encoder.heads.text)
        lost = (~sound).nonzero().flatten().tolist()
        problems += [Broken(block.names[i], "the encoder gives it no finite embedding") for i in lost]
        device = "cuda" if torch.cuda.is_available() else "cpu"
        sums = add_pairs(sums, images[sound].to(device), texts[sound].to(device), encoder.heads, likelihood)
    return Estimate(
        *sums,
        items=found.items + block.items,
        blocks=found.blocks + 1,
        skipped=found.skipped + len(problems),
        problems=(*found.problems, *problems)[:LISTED],
    )


def _sound(side: Features, weight: Tensor) -> Tensor:
    norms = side.embed(weight).norm(dim=1)  # [n]
    return norms.isfinite() & (norms > 0) & side.activations.isfinite().all(dim=1)


def _write(path: Path, found: Estimate) -> None:
    tensors = {"image.A": found.image.A, "image.B": found.image.B, "text.A": found.text.A, "text.B": found.text.B}
    counts = {"pairs": found.pairs, "items": found.items, "blocks": found.blocks, "skipped": found.skipped}
    problems = [(problem.name, problem.reason) for problem in found.problems]
    write_atomically(path, tensors, {"counts": json.dumps(counts), "problems": json.dumps(problems)})


def _read(path: Path) -> Estimate | None:
    """What `_write` wrote; None where there is nothing, or nothing whole."""
    try:
        with safe_open(str(path), framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
            metadata = file.metadata()
        counts = json.loads(metadata["counts"])
        n = counts.pop("pairs")
        image, text = (FactorSums(tensors[f"{side}.A"], tensors[f"{side}.B"], n) for side in ("image", "text"))
        problems = tuple(Broken(*each) for each in json.loads(metadata["problems"]))
        return Estimate(image, text, **counts, problems=problems)
    except FileNotFoundError:
        return None
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        logger.warning("%s cannot be gone on from (%s): starting over", path, error)
        return None
