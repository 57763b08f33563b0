"""Several processes that train one model: a batch's Gaussians joined over all of them, gradients summed.

Started by torch's own launcher (`torchrun`), one process a device. Axes: n rows of this process · N of all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, distributed


@dataclass(frozen=True, slots=True)
class Team:
    """This process's place among those that train; alone by default."""

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def leads(self) -> bool:
        """Whether this process writes files and reports."""
        return self.rank == 0

    def share(self, count: int) -> range:
        """Which of `count` items of a batch are this process's: a run of them, as even as can be."""
        return range(self.rank * count // self.size, (self.rank + 1) * count // self.size)

    def joined(self, rows: Tensor) -> Tensor:
        """Rows [n, …] of all processes in their order, [N, …]; gradients reach this process's own rows alone."""
        if self.size == 1:
            return rows
        counts = [torch.zeros(1, dtype=torch.int64, device=rows.device) for _ in range(self.size)]
        distributed.all_gather(counts, counts[0].new_tensor([len(rows)]))
        most = int(max(counts))
        padded = rows.new_zeros(most, *rows.shape[1:])
        padded[: len(rows)] = rows.detach()
        parts = [torch.empty_like(padded) for _ in range(self.size)]
        distributed.all_gather(parts, padded)
        kept = [part[: int(count)] for part, count in zip(parts, counts, strict=True)]
        kept[self.rank] = rows
        return torch.cat(kept)

    def add_up(self, parameters: Iterable[Tensor]) -> None:
        """Replace each gradient by its sum over the processes, in one exchange."""
        gradients = [each.grad for each in parameters if each.grad is not None]
        if self.size == 1 or not gradients:
            return
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(flat)
        for gradient, summed in zip(gradients, flat.split([each.numel() for each in gradients]), strict=True):
            gradient.copy_(summed.view_as(gradient))


ALONE = Team()


@contextmanager
def joined_team(device: str | None = None) -> Iterator[Team]:
    """The team that torchrun started, or one of this process alone; `device` None takes a GPU where there is one."""
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    kind = device or ("cuda" if torch.cuda.is_available() else "cpu")
    place = torch.device(kind, int(os.environ.get("LOCAL_RANK", 0))) if kind == "cuda" else torch.device(kind)
    if size == 1:
        yield Team(device=place)
        return
    if place.type == "cuda":
        torch.cuda.set_device(place)
    distributed.init_process_group("nccl" if place.type == "cuda" else "gloo")
    try:
        yield Team(rank, size, place)
    finally:
        distributed.destroy_process_group()
