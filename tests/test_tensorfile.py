"""Files of tensors are whole or not there."""

import os
import stat
from pathlib import Path

import pytest
import torch

from core import tensorfile


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "factors.safetensors"
    tensorfile.write_atomically(path, {"x": torch.ones(2)}, {})
    before = path.read_bytes()

    def full_disk(tensors, filename, metadata):
        Path(filename).write_bytes(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(tensorfile, "save_file", full_disk)
    with pytest.raises(OSError, match="no space"):
        tensorfile.write_atomically(path, {"x": torch.zeros(2)}, {})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_who_may_read_a_written_file_is_what_the_umask_says(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        tensorfile.write_atomically(tmp_path / "x.safetensors", {"x": torch.ones(2)}, {})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x.safetensors").stat().st_mode) == mode
