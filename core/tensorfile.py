"""Tensors on disk: safetensors, written whole or not at all. No pickle anywhere."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor


def write_atomically(
    path: str | Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Write a safetensors file whole or not at all: to a neighbour first, then renamed over `path`.

    Who may read it is what the umask says, as for any new file.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        temporary.touch(exist_ok=False)
        mode = stat.S_IMODE(temporary.stat().st_mode)
        save_file(
            {name: tensor.contiguous() for name, tensor in tensors.items()}, temporary, metadata=dict(metadata or {})
        )
        temporary.chmod(mode)  # safetensors puts a file there that only its owner may read
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
