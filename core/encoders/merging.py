"""A model of open_clip with other heads, as a folder that plain open_clip loads: create_model("local-dir:FOLDER")."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

from torch import nn

from core.encoders.heads import put_heads
from core.encoders.loading import FOLDER, SCHEMES, is_prolip, openclip_config, openclip_parts
from core.encoders.mini import CONTEXT_LENGTH, HEADS_FILE, config, made_of, mini_parts
from core.encoders.openclip import activation, digest, fingerprint
from core.errors import ModelError, ModelUnavailable
from core.tensorfile import write_atomically
from core.values import Heads

WEIGHTS, CONFIG = "open_clip_model.safetensors", "open_clip_config.json"
TOKENIZERS = ("tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "spiece*", "sentencepiece*", "added_*")
MINI_RESIZES = "its own preprocessing scales the shorter side to 256 before the central 224 is cut; open_clip's to 224"


@dataclass(frozen=True, slots=True)
class Parts:
    """A network as its encoder was made of it, before that took its heads, and what describes it."""

    model: nn.Module
    fingerprint: str
    config: dict[str, Any]
    note: str = ""


def write_merged(name: str, heads: Heads, expected: str, folder: Path) -> str:
    """Write the model `name` with the weights of `heads` in place of its own; what differs from the encoder, or "".

    Raises ModelUnavailable, and ModelError where `name` is no model of open_clip or not the one of the fingerprint
    `expected` any more.
    """
    parts = _parts(name)
    if parts.fingerprint != expected:
        raise ModelError(f"{name} is not the model any more that the heads belong to: its weights have changed")
    put_heads(name, parts.model, heads.image, heads.text)
    write_atomically(folder / WEIGHTS, dict(parts.model.state_dict()))
    settings = {"model_cfg": parts.config, "preprocess_cfg": _plain(getattr(parts.model.visual, "preprocess_cfg", {}))}
    (folder / CONFIG).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    if name.startswith(FOLDER):
        source = Path(name.removeprefix(FOLDER))
        for file in sorted({file for pattern in TOKENIZERS for file in source.glob(pattern) if file.is_file()}):
            shutil.copyfile(file, folder / file.name)
    return parts.note


def _parts(name: str) -> Parts:
    if name == "mini":
        settings = config()
        settings["text_cfg"] |= {"context_length": CONTEXT_LENGTH}
        return Parts(mini_parts()[0].cpu(), digest(made_of(HEADS_FILE)), settings, MINI_RESIZES)
    architecture, _, checkpoint = (name, "", "") if name.startswith(SCHEMES) else name.partition("@")
    if name == "mini-prolip" or is_prolip(architecture):
        raise ModelError(f"{name} is a ProLIP, which open_clip does not know")
    model, preprocess, _ = openclip_parts(architecture, checkpoint or None)
    stamp = fingerprint(model, repr(preprocess) + activation(model))
    try:
        return Parts(model, stamp, openclip_config(architecture))
    except (TypeError, KeyError) as error:
        raise ModelUnavailable(f"{name}: its configuration cannot be read ({error})") from error


def _plain(settings: Any) -> dict[str, Any]:
    return asdict(settings) if is_dataclass(settings) and not isinstance(settings, type) else dict(settings)
