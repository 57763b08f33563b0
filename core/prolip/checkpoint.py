"""Where a training stands, in one safetensors file: weights, AdamW's moments, and the rest as JSON in its header."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from core.errors import InputError
from core.prolip.training_data import BEGINNING, Place
from core.tensorfile import write_atomically

FILE = "checkpoint.safetensors"
MOMENTS = ("step", "exp_avg", "exp_avg_sq")


@dataclass(frozen=True, slots=True)
class Standing:
    """What besides the tensors a run needs to go on: steps done, place in the stream, settings, loss scale of AMP."""

    step: int = 0
    place: Place = BEGINNING
    settings: str = ""  # of run and data; a run goes on with the same alone
    scaler: dict[str, Any] | None = None


def save(path: Path, model: nn.Module, optimizer: torch.optim.AdamW, standing: Standing) -> None:
    """Write whole or not at all."""
    tensors = {f"model.{name}": tensor.detach().cpu() for name, tensor in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        for moment in MOMENTS:
            if parameter in optimizer.state:
                tensors[f"{moment}.{name}"] = optimizer.state[parameter][moment].cpu()
    write_atomically(path, tensors, {"standing": json.dumps(asdict(standing))})


def restore(path: Path, model: nn.Module, optimizer: torch.optim.AdamW, settings: str) -> Standing:
    """Put everything back; raises InputError where there is nothing, or what is there is of other `settings`."""
    try:
        with safe_open(str(path), framework="pt") as file:
            standing = _read(json.loads((file.metadata() or {})["standing"]))
            if standing.settings != settings:
                raise InputError(
                    f"{path} was written with other settings or data, so a run cannot go on from it: give the same, or "
                    f"start another one in a new folder\nthere: {standing.settings}\nhere:  {settings}"
                )
            model.load_state_dict({name: file.get_tensor(f"model.{name}") for name in model.state_dict()})
            kept = set(file.keys())
            for name, parameter in model.named_parameters():
                if f"{MOMENTS[0]}.{name}" in kept:
                    step, *moments = (file.get_tensor(f"{each}.{name}") for each in MOMENTS)
                    placed = [moment.to(parameter.device) for moment in moments]
                    optimizer.state[parameter] = dict(zip(MOMENTS, (step, *placed), strict=True))
    except FileNotFoundError as error:
        raise InputError(f"there is no {path} to go on from: start without --resume") from error
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{path} is no checkpoint of this model ({error}): start without --resume") from error
    return standing


def _read(values: dict[str, Any]) -> Standing:
    return Standing(**values | {"place": Place(**values["place"])})
