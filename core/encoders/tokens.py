"""Tokenizers by a text tower's settings, and what each keeps of a text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from open_clip.tokenizer import HFTokenizer, SimpleTokenizer

from core.encoders.base import TextReading
from core.prolip.model.configs import TextConfig

OF_A_TOKENIZER = ("tokenizer.json", "spiece.model", "vocab.txt")  # a folder with one of them has its own


def tokenizer_for(config: TextConfig, folder: Path | None = None) -> HFTokenizer | SimpleTokenizer:
    """The tokenizer of `folder` where it has one, else the one that `config` names on the hub, else CLIP's."""
    own = folder is not None and any((folder / file).is_file() for file in OF_A_TOKENIZER)
    name = str(folder) if own else config.hf_tokenizer_name
    if name is None:
        return SimpleTokenizer(context_length=config.context_length)
    return HFTokenizer(name, context_length=config.context_length, clean=config.clean)


def read_texts(tokenizer: HFTokenizer | SimpleTokenizer, texts: Sequence[str]) -> list[TextReading]:
    """What one of open_clip's tokenizers makes of each text: cleaned, and cut after the last token that is seen."""
    return [_read(tokenizer, text) for text in texts]


def _read(tokenizer: Any, text: str) -> TextReading:
    if isinstance(tokenizer, SimpleTokenizer):
        ids, decode, special = tokenizer.encode(text), tokenizer.decode, 2
    else:
        inner = tokenizer.tokenizer
        ids = inner(tokenizer.clean_fn(text), add_special_tokens=False, verbose=False).input_ids
        special = inner.num_special_tokens_to_add()

        def decode(some: list[int]) -> str:
            return inner.decode(some, skip_special_tokens=True)

    limit = tokenizer.context_length - special
    return TextReading(text, decode(ids[:limit]).strip(), len(ids), limit, len(ids) > limit)
