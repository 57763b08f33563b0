"""Models on disk: what is written loads again, what is not whole or not tensors is refused."""

import os
import pickle

import pytest
import torch
from safetensors.torch import save_file
from torch.testing import assert_close

from core.errors import ModelUnavailable
from core.prolip.model.configs import CONFIG, WEIGHTS
from core.prolip.model.files import read_config, read_model, write_model
from tests.prolip.model.test_model import tiny


def test_what_is_written_is_read(tmp_path):
    write_model(tmp_path / "run", tiny())
    config = read_config(tmp_path / "run" / CONFIG)
    model = read_model(config, tmp_path / "run" / WEIGHTS)
    assert config == tiny().config
    for name, tensor in tiny().state_dict().items():
        assert_close(model.state_dict()[name], tensor)
    assert not model.training


def test_a_trainings_checkpoint_of_tensors_is_read(tmp_path):
    state = {f"module.{name}": tensor.half() for name, tensor in tiny().state_dict().items()}
    torch.save({"epoch": 3, "state_dict": state}, tmp_path / "epoch_3.pt")
    model = read_model(tiny().config, tmp_path / "epoch_3.pt")
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("change", ["missing", "another", "shape"])
def test_weights_of_another_network_are_refused(tmp_path, change):
    state = dict(tiny().state_dict())
    if change == "missing":
        del state["text.unc_emb"]
    elif change == "another":
        state["visual.extra"] = torch.zeros(1)
    else:
        state["visual.proj"] = state["visual.proj"][:, 1:].contiguous()
    save_file(state, tmp_path / WEIGHTS)
    with pytest.raises(RuntimeError, match=r"text\.unc_emb|visual\.extra|visual\.proj"):
        read_model(tiny().config, tmp_path / WEIGHTS)


class Trap:
    def __reduce__(self):
        return os.mkdir, (str(Trap.sprung),)


def test_no_pickled_code_is_run(tmp_path):
    Trap.sprung = tmp_path / "sprung"
    (tmp_path / "epoch.pt").write_bytes(pickle.dumps({"state_dict": Trap()}, protocol=2))
    torch.save({"state_dict": Trap()}, tmp_path / "zipped.pt")
    for name in ("epoch.pt", "zipped.pt"):
        with pytest.raises(pickle.UnpicklingError):
            read_model(tiny().config, tmp_path / name)
    assert not Trap.sprung.exists()


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"model_cfg": {}}'])
def test_a_broken_configuration_says_so(tmp_path, text):
    (tmp_path / CONFIG).write_text(text)
    with pytest.raises(ModelUnavailable, match="configuration"):
        read_config(tmp_path / CONFIG)
