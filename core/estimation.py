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
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from core.data.pairs import Broken, Item, Pair, PairStream
from core.encoders import Encoder
from core.encoding import DECODED_SIDE
from core.errors import InputError, UnreadableImage
from core.posterior.curvature import FactorSums, Likelihood, add_pairs, no_pairs
from core.ray_pool import Cluster, ray_address
from core.tensorfile import write_atomically
from core.values import Features, Progress, silent

logger = logging.getLogger(__name__)

LARGEST_BLOCK = 32_768  # pairs; the texts that a softmax runs over
ENCODED_AT_ONCE = 32
DECODERS = 2  # threads
BLOCKS_AHEAD = 2  # that a cluster works on while others are encoded
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


@dataclass(frozen=True, slots=True)
class _Batch:
    """Pairs to encode together, and what was taken of the stream for them; `ends` a block or does not."""

    pairs: list[tuple[Pair, Tensor]]
    items: int
    problems: list[Broken]
    ends: bool


@dataclass(slots=True)
class _Block:
    """The encoded batches of a block, or the promises of them."""

    names: list[str] = field(default_factory=list)
    encoded: list[Any] = field(default_factory=list)
    items: int = 0
    problems: list[Broken] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Part:
    """What a block adds: both heads' sums, and the names of pairs that spoil them and are not in them."""

    image: FactorSums
    text: FactorSums
    lost: list[str]


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

    batches = _batches(_decoded(encoder, stream.items(start)), block)
    compute = _by_cluster if ray_address() else _here
    for part in compute(encoder, likelihood, batches, report):
        found = _with(found, *part)
        _write(state, found)
    if not found.pairs:
        first = "".join(f"; the first of {found.skipped}: {each.name}, {each.reason}" for each in found.problems[:1])
        raise InputError(f"no image–text pair could be used{first}")
    on_progress(found.items, found.items, MESSAGE)
    return found


def _here(
    encoder: Encoder, likelihood: Likelihood | None, batches: Iterator[_Batch], report: Callable[[int], None]
) -> Iterator[tuple[_Block, _Part]]:
    shared = encoder, likelihood
    for block in _blocks(batches, lambda batch: _encode(shared, *_inputs(batch)), report):
        yield block, _sums(shared, block.names, *block.encoded)


def _by_cluster(
    encoder: Encoder, likelihood: Likelihood | None, batches: Iterator[_Batch], report: Callable[[int], None]
) -> Iterator[tuple[_Block, _Part]]:
    """The same by a Ray cluster, to the same bits: the same batches and blocks, whose sums are added in their order."""
    gpu = getattr(encoder, "device", torch.device("cpu")).type == "cuda"
    with Cluster((encoder, likelihood), gpu=gpu) as cluster:
        begun, waiting = deque[Any](), deque[tuple[_Block, Any]]()

        def encode(batch: _Batch) -> Any:
            if len(begun) >= cluster.room:
                cluster.wait(begun.popleft())
            begun.append(cluster.begin(_encode, *_inputs(batch)))
            return begun[-1]

        for block in _blocks(batches, encode, report):
            waiting.append((block, cluster.begin(_sums, block.names, *block.encoded)))
            block.encoded = []  # the work holds its inputs until it is done
            if len(waiting) > BLOCKS_AHEAD:
                first, promise = waiting.popleft()
                yield first, cluster.result(promise)
        for block, promise in waiting:
            yield block, cluster.result(promise)


def _blocks(
    batches: Iterator[_Batch], encode: Callable[[_Batch], Any], report: Callable[[int], None]
) -> Iterator[_Block]:
    """Batches put together to blocks. `report` hears how many items were taken."""
    block, taken = _Block(), 0
    for batch in batches:
        block.items += batch.items
        block.problems += batch.problems
        taken += batch.items
        if batch.pairs:
            block.names += [pair.name for pair, _ in batch.pairs]
            block.encoded.append(encode(batch))
            report(taken)
        if batch.ends and block.items:
            yield block
            block = _Block()


def _batches(decoded: Iterator[tuple[Pair, Tensor] | Broken], size: int) -> Iterator[_Batch]:
    """Batches of pairs for blocks of `size` pairs; the last block has what is left."""
    pairs: list[tuple[Pair, Tensor]] = []
    problems: list[Broken] = []
    items = inside = 0  # taken since the last batch; pairs of the block in batches before
    for each in decoded:
        items += 1
        if isinstance(each, Broken):
            problems.append(each)
            continue
        pairs.append(each)
        full = inside + len(pairs) == size
        if full or len(pairs) == ENCODED_AT_ONCE:
            yield _Batch(pairs, items, problems, full)
            inside = 0 if full else inside + len(pairs)
            pairs, problems, items = [], [], 0
    yield _Batch(pairs, items, problems, True)


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


def _inputs(batch: _Batch) -> tuple[Tensor, list[str]]:
    return torch.stack([pixels for _, pixels in batch.pairs]), [pair.text for pair, _ in batch.pairs]


def _encode(shared: tuple[Encoder, Likelihood | None], pixels: Tensor, texts: list[str]) -> tuple[Features, Features]:
    return shared[0].encode_images(pixels), shared[0].encode_texts(texts)


def _sums(shared: tuple[Encoder, Likelihood | None], names: list[str], *encoded: tuple[Features, Features]) -> _Part:
    """A block's sums; pairs without a direction (not finite, or zero) are passed over, they would spoil all."""
    encoder, likelihood = shared
    nothing = no_pairs(encoder.heads)
    if not encoded:
        return _Part(*nothing, [])
    images, texts = (Features.cat(list(side)) for side in zip(*encoded, strict=True))
    sound = _sound(images, encoder.heads.image) & _sound(texts, encoder.heads.text)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sums = add_pairs(nothing, images[sound].to(device), texts[sound].to(device), encoder.heads, likelihood)
    return _Part(*sums, [names[i] for i in (~sound).nonzero().flatten().tolist()])


def _with(found: Estimate, block: _Block, part: _Part) -> Estimate:
    """With one block more."""
    problems = [*block.problems, *(Broken(name, "the encoder gives it no finite embedding") for name in part.lost)]
    return Estimate(
        found.image.plus(part.image),
        found.text.plus(part.text),
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
