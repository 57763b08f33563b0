"""How many images go through a tower at once: a start from the free memory, halved whenever that was too much.

Axes: n batch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from core.errors import ModelError
from core.values import Features

logger = logging.getLogger(__name__)

T = TypeVar("T", Tensor, Sequence[str])

MOST = {"cpu": 8, "cuda": 256}  # 8 keep a convolution in the processor's cache (32: 1.5 times slower); a ViT loses 4 %
SHARE = 0.5  # of the free memory that a batch may take
EXPANSION = (
    64  # a tower's peak memory in bytes of its pixels, measured: ViT 4 to 19, ResNet 31, ConvNeXt 34, ViTamin 57
)
WAITING = 4  # copies of a batch's pixels in main memory: two decoded ahead, one in lists, one stacked
UNKNOWN = 4 << 30  # bytes taken to be free where the system does not tell

SAYS_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "CUBLAS_STATUS_ALLOC_FAILED", "out of memory")


class BatchSize:
    """How many rows to encode at once; smaller after each time that they did not fit."""

    def __init__(self, size: int):
        self.size = size

    def encode(self, encode: Callable[[T], Features], inputs: T) -> Features:
        """`encode` of all `inputs`, in their order, in as many parts as the memory asks for. Raises ModelError."""
        parts: list[Features] = []
        start = 0
        while start < len(inputs):
            some = inputs[start : start + self.size]
            part = _unless_out_of_memory(encode, some)
            if part is None:
                self._halve(len(some))
            else:
                parts.append(part)
                start += len(some)
        return Features.cat(parts)

    def _halve(self, tried: int) -> None:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if tried == 1:
            raise ModelError("the memory does not hold the model and one image: use a smaller model or another device")
        self.size = tried // 2
        logger.warning("out of memory with %d at once: going on with %d", tried, self.size)


def starting_batch(device: torch.device, pixel_bytes: int) -> int:
    """A power of two of images of `pixel_bytes` each that the free memory of `device` should hold, 1 or more."""
    fitting = SHARE * free_memory(device) / (pixel_bytes * EXPANSION)
    waiting = SHARE * free_memory(torch.device("cpu")) / (pixel_bytes * WAITING)
    most = min(fitting, waiting, MOST.get(device.type, MOST["cpu"]))
    return 1 << (max(1, int(most)).bit_length() - 1)


def free_memory(device: torch.device) -> int:
    """Bytes that can be taken now, on a GPU or in main memory within the limit of the container."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return free + cached
    return min(_available(), _left_in_container())


def _available(source: Path = Path("/proc/meminfo")) -> int:
    try:
        lines = source.read_text().splitlines()
    except OSError:
        return UNKNOWN
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), UNKNOWN)


def _left_in_container(folder: Path = Path("/sys/fs/cgroup")) -> float:
    """Bytes under the limit of the control group (version 2), page cache not counted; infinite without a limit."""
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = int((folder / "memory.current").read_text())
        statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return float("inf")
    return float("inf") if limit == "max" else int(limit) - used + int(statistics.get("inactive_file", 0))


def _unless_out_of_memory(encode: Callable[[T], Features], inputs: T) -> Features | None:
    """None where the memory was too small; by then the error is gone, and with it the tensors that filled it."""
    try:
        return encode(inputs)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    return None


def is_out_of_memory(error: RuntimeError) -> bool:
    """CUDA raises OutOfMemoryError, its libraries and the CPU's allocator only say so."""
    return isinstance(error, torch.OutOfMemoryError) or any(said in str(error) for said in SAYS_OUT_OF_MEMORY)
