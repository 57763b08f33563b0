"""Batches of image–text pairs for training: their order, their pixels and tokens, and what is masked of them.

Everything random comes from the seed and the place in the stream, so a run that goes on sees what it would have seen,
and several processes agree without a word. Axes: n pairs of this process's part · k of them masked · L tokens.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Generator as GeneratorType
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import torch
from open_clip.tokenizer import HFTokenizer, SimpleTokenizer
from PIL import Image
from torch import Generator, Tensor

from core.data.pairs import Pair, PairStream
from core.encoding import DECODED_SIDE
from core.errors import InputError, UnreadableImage

WINDOW = 16  # batches whose pairs are shuffled among each other
MOST_SHUFFLED = 16_384  # pairs, undecoded, in memory
AHEAD = 2  # batches that are decoded while one is trained on
Tokenizer: TypeAlias = HFTokenizer | SimpleTokenizer


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the stream training is: `taken` batches of the window that starts at item `start` of `epoch`."""

    epoch: int = 0
    start: int = 0
    taken: int = 0


BEGINNING = Place()


@dataclass(frozen=True, slots=True)
class Planned:
    """The pairs of one batch, of all processes, and the place after it."""

    pairs: tuple[Pair, ...]
    after: Place


@dataclass(frozen=True, slots=True)
class Batch:
    """This process's part of a batch: `rows` [n] are its places in the whole, `masked` [k] places in this part."""

    pixels: Tensor  # [n, 3, h, w]
    tokens: Tensor  # [n, L]
    rows: Tensor
    masked: Tensor
    patches: Tensor  # [k, K] of the masked images that are seen
    masked_tokens: Tensor  # [k, L]
    after: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Masking:
    """How much of a batch is masked, and how much of each masked input is dropped."""

    share: float = 0.125
    dropped: float = 0.75


PUBLISHED_MASKING = Masking()


def seeded(*parts: object) -> Generator:
    """A generator of its own for what `parts` name."""
    digest = hashlib.sha256(" ".join(map(str, parts)).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)


def plan(stream: PairStream, batch: int, seed: int, place: Place = BEGINNING) -> Iterator[Planned]:
    """Batches without end, from `place` on, shuffled anew in every epoch: the files, and the pairs within a window.

    What is left of a window is a batch too where it is half of one or more, or the window's only one. Raises InputError
    where an epoch gives no two pairs.
    """
    window = max(batch, min(WINDOW * batch, MOST_SHUFFLED))
    while True:
        order = torch.randperm(len(stream.sources), generator=seeded(seed, "files", place.epoch)).tolist()
        items = PairStream(tuple(stream.sources[index] for index in order)).items(place.start)
        found = place.start > 0
        while drawn := list(islice(items, window)):
            for number, pairs in enumerate(_groups(drawn, batch, seeded(seed, "pairs", place.epoch, place.start)), 1):
                found = True
                if number > place.taken:
                    yield Planned(pairs, Place(place.epoch, place.start, number))
            place = Place(place.epoch, place.start + len(drawn))
        if not found:
            raise InputError("training needs two image–text pairs or more that can be read: check the sources")
        place = Place(place.epoch + 1)


def _groups(items: Sequence[object], size: int, rng: Generator) -> list[tuple[Pair, ...]]:
    pairs = [item for item in items if isinstance(item, Pair)]
    order = torch.randperm(len(pairs), generator=rng).split(size)
    groups = [tuple(pairs[index] for index in part.tolist()) for part in order if len(part) > 1]
    return [group for group in groups if 2 * len(group) >= size or len(groups) == 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Makes batches of planned ones: decodes this process's share in threads, ahead of their use.

    `draw_patches` is the image tower's. Of each image a random square, `smallest_crop` or more of it, is seen.
    """

    preprocess: Callable[[Image.Image], Tensor]
    tokenizer: Tokenizer
    draw_patches: Callable[[int, float, Generator], Tensor]
    masking: Masking = PUBLISHED_MASKING
    smallest_crop: float = 0.9
    seed: int = 0
    threads: int = 2

    def batches(self, planned: Iterator[Planned], share: Callable[[int], range]) -> GeneratorType[Batch, None, None]:
        """One batch for each planned one; a pair whose image cannot be read is left out of it."""
        pool = ThreadPoolExecutor(self.threads)
        waiting: deque[tuple[Planned, range, list[Future]]] = deque()
        try:
            for each in planned:
                rows = share(len(each.pairs))
                futures = [pool.submit(self._pixels, each.pairs[row], each.after, row) for row in rows]
                waiting.append((each, rows, futures))
                if len(waiting) > AHEAD:
                    yield self._batch(*waiting.popleft())
            while waiting:
                yield self._batch(*waiting.popleft())
        finally:
            pool.shutdown(cancel_futures=True)

    def _pixels(self, pair: Pair, place: Place, row: int) -> Tensor | None:
        try:
            image = pair.read(DECODED_SIDE)
        except UnreadableImage:
            return None
        return self.preprocess(_cropped(image, self.smallest_crop, seeded(self.seed, "crop", place, row)))

    def _batch(self, planned: Planned, rows: range, futures: list[Future]) -> Batch:
        """All processes draw for the whole batch, and each keeps what is its own."""
        n, read = len(planned.pairs), {row: future.result() for row, future in zip(rows, futures, strict=True)}
        pixels = {row: found for row, found in read.items() if found is not None}
        if not pixels:
            raise InputError(f"none of {len(rows)} images of a batch could be read: check the sources")
        place = {row: position for position, row in enumerate(pixels)}
        rng = seeded(self.seed, "mask", planned.after)
        chosen = torch.randperm(n, generator=rng)[: max(1, round(self.masking.share * n))].tolist()
        patches = self.draw_patches(len(chosen), 1 - self.masking.dropped, rng)
        own = [position for position, row in enumerate(chosen) if row in pixels]
        masked = [chosen[position] for position in own]
        tokens = self.tokenizer([planned.pairs[row].text for row in pixels])
        left = [self._drop(tokens[place[row]], planned.after, row) for row in masked]
        return Batch(
            pixels=torch.stack(list(pixels.values())),
            tokens=tokens,
            rows=torch.tensor(list(pixels)),
            masked=torch.tensor([place[row] for row in masked], dtype=torch.int64),
            patches=patches[own],
            masked_tokens=torch.stack(left) if left else tokens[:0],
            after=planned.after,
        )

    def _drop(self, tokens: Tensor, place: Place, row: int) -> Tensor:
        return drop_tokens(tokens, self.tokenizer, self.masking.dropped, seeded(self.seed, "words", place, row))


def drop_tokens(tokens: Tensor, tokenizer: Tokenizer, dropped: float, rng: Generator) -> Tensor:
    """Tokens [L] with a share `dropped` of the text's taken out and padding behind; one stays, as do special ones."""
    special, padding = special_tokens(tokenizer)
    is_special = torch.isin(tokens, torch.tensor(sorted(special)))
    words = (~is_special).nonzero()[:, 0]
    stay = torch.randperm(len(words), generator=rng)[: max(1, int((1 - dropped) * len(words)))]
    seen = is_special & (tokens != padding)
    seen[words[stay]] = True
    left = torch.full_like(tokens, padding)
    left[: int(seen.sum())] = tokens[seen]
    return left


def special_tokens(tokenizer: Tokenizer) -> tuple[set[int], int]:
    """Ids that stand for no part of a text, and the one that fills up a row."""
    if isinstance(tokenizer, SimpleTokenizer):
        return {0, *tokenizer.all_special_ids}, 0
    inner: Any = tokenizer.tokenizer
    return set(inner.all_special_ids) - {inner.unk_token_id}, int(inner.pad_token_id or 0)


def _cropped(image: Image.Image, smallest: float, rng: Generator) -> Image.Image:
    """A random part of the image of its own shape, a share of `smallest` to 1 of its area."""
    share, x, y = torch.rand(3, generator=rng).tolist()
    side = (smallest + (1 - smallest) * share) ** 0.5
    width, height = max(1, round(image.width * side)), max(1, round(image.height * side))
    left, top = round(x * (image.width - width)), round(y * (image.height - height))
    return image.crop((left, top, left + width, top + height))
