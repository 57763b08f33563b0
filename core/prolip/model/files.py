"""A model on disk as the hub has it: config.json and model.safetensors in one folder."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from open_clip.factory import load_state_dict

from core.errors import ModelUnavailable
from core.prolip.model.configs import CONFIG, WEIGHTS, ProlipConfig
from core.prolip.model.model import Prolip
from core.tensorfile import write_atomically


def read_config(path: Path) -> ProlipConfig:
    """Raises ModelUnavailable for a file that cannot be read or is of another network."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelUnavailable(f"{path} cannot be read as a configuration ({error}): fetch it again") from error
    if not isinstance(config, dict):
        raise ModelUnavailable(f"{path} is no ProLIP configuration: it holds a {type(config).__name__}, not settings")
    return ProlipConfig.read(config)


def read_model(config: ProlipConfig, weights: Path) -> Prolip:
    """The network with these weights, every tensor in its place, float32; no pickled code is run.

    Takes safetensors, or a training's checkpoint of tensors. Raises what safetensors and torch raise.
    """
    with torch.device("meta"):  # random weights of a billion would take longer than reading them
        model = Prolip(config)
    model.load_state_dict(load_state_dict(str(weights), weights_only=True), assign=True)
    return model.float().eval()


def write_model(folder: Path, model: Prolip) -> None:
    """A folder that `local-dir:` loads; the weights last, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).write_text(json.dumps(model.config.written(), indent=1) + "\n", encoding="utf-8")
    write_atomically(folder / WEIGHTS, {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()})
