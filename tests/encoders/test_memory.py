"""Axes: n rows."""

import pytest
import torch
from torch.testing import assert_close

from core.encoders import memory
from core.encoders.memory import BatchSize, is_out_of_memory, starting_batch
from core.errors import ModelError
from core.values import Features

CPU = torch.device("cpu")
PIXELS = 3 * 224 * 224 * 4  # bytes of one image


def holds(most, seen, error=torch.OutOfMemoryError):
    """An encoder on a device where `most` rows fit."""

    def encode(rows):
        if len(rows) > most:
            raise error("CUDA out of memory. Tried to allocate 20.00 MiB")
        seen.append(len(rows))
        return Features(rows * 2, rows + 1)

    return encode


@pytest.mark.parametrize("n", [1, 7, 64, 65])
@pytest.mark.parametrize("most", [1, 3, 50, 1000])
def test_rows_are_halved_until_they_fit_and_none_is_lost(n, most):
    rows, seen, batch = torch.arange(n * 2.0).reshape(n, 2), [], BatchSize(64)
    found = batch.encode(holds(most, seen), rows)
    assert_close(found.activations, rows * 2)
    assert_close(found.residuals, rows + 1)
    assert sum(seen) == n
    assert max(seen) <= most


def test_a_batch_that_did_not_fit_is_not_tried_again():
    seen, tried, batch = [], [], BatchSize(64)
    encode = holds(20, seen)
    for _ in range(3):
        batch.encode(lambda rows: tried.append(len(rows)) or encode(rows), torch.zeros(64, 1))
    assert batch.size == 16
    assert tried[:3] == [64, 32, 16]
    assert set(tried[3:]) == {16}


def test_where_one_row_does_not_fit_a_person_is_told_what_to_do():
    with pytest.raises(ModelError, match="smaller model"):
        BatchSize(4).encode(holds(0, []), torch.zeros(4, 1))


def test_texts_are_halved_as_images_are():
    encode = holds(3, [])
    found = BatchSize(8).encode(
        lambda texts: encode(torch.tensor([[len(text)] for text in texts])), ["a", "bb", ""] * 3
    )
    assert found.activations.flatten().tolist() == [2, 4, 0] * 3


def test_another_error_is_not_mistaken_for_a_full_memory():
    def broken(rows):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        BatchSize(4).encode(broken, torch.zeros(4, 1))


@pytest.mark.parametrize(
    "message",
    [
        "[enforce fail at alloc_cpu.cpp:121] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "CUDA error: out of memory",
    ],
)
def test_the_libraries_that_only_say_so_are_understood(message):
    assert is_out_of_memory(RuntimeError(message))


def test_this_machines_own_allocator_is_understood():
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)


@pytest.mark.parametrize(
    ("free", "expected"),
    [(1 << 20, 1), (256 << 20, 2), (400 << 20, 4), (64 << 30, 8)],
)
def test_the_first_batch_follows_the_free_memory(free, expected, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda device: free)
    assert starting_batch(CPU, PIXELS) == expected


def test_a_large_gpu_beside_a_small_main_memory_waits_for_pixels(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda device: 80 << 30 if device.type == "cuda" else 64 << 20)
    assert starting_batch(torch.device("cuda"), PIXELS) == 8
    monkeypatch.setattr(memory, "free_memory", lambda device: 80 << 30)
    assert starting_batch(torch.device("cuda"), PIXELS) == 256


def test_a_containers_limit_is_seen(tmp_path):
    assert memory._left_in_container(tmp_path) == float("inf")  # no control group here
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 150\n")
    assert memory._left_in_container(tmp_path) == 450
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._left_in_container(tmp_path) == float("inf")


def test_what_the_system_says_is_free_is_read(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    2048 kB\n")
    assert memory._available(tmp_path / "meminfo") == 2 << 20
    assert memory._available(tmp_path / "none") == memory.UNKNOWN
