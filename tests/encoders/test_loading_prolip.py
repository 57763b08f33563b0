"""ProLIP by name without a network: from the hub's cache, a folder and a file; and what is said when there is none."""

import json
import time

import pytest
import torch
from huggingface_hub import constants
from torch.testing import assert_close

from core.encoders import load_encoder, loading
from core.encoders.loading import is_prolip
from core.encoders.prolip import ProlipEncoder
from core.errors import ModelUnavailable
from core.prolip.model import configs
from core.prolip.model.files import write_model
from tests.encoders.words import write_tokenizer
from tests.prolip.model.test_model import tiny

HUB_NAME = "hf-hub:SanghyukChun/ProLIP-ViT-B-16-DC-1B-12_8B"
PIXELS = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache of the hub, and no network."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(loading, "_reachable", lambda endpoint: False)
    return tmp_path / "hub"


def downloaded(cache, name=HUB_NAME):
    """As the hub's client leaves a model and its tokenizer in its cache; the folder of its files."""
    repository = cache / f"models--{name.removeprefix('hf-hub:').replace('/', '--')}"
    folder = repository / "snapshots" / ("0" * 40)
    write_model(folder, tiny())
    write_tokenizer(folder)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0" * 40)
    return folder


def assert_same(encoder):
    assert isinstance(encoder, ProlipEncoder)
    found, own = encoder.encode_gaussians(PIXELS), tiny().encode_images(PIXELS)
    assert_close(found.mean, own.mean, atol=1e-5, rtol=0)
    assert_close(found.log_variance, own.log_variance, atol=1e-5, rtol=0)
    assert len(encoder.text_gaussians(["a mug", "two"])) == 2


def test_official_names_are_prolips_and_others_are_open_clips(tmp_path):
    assert all(is_prolip(f"hf-hub:{name}") for name in configs.ON_HUB)
    assert all(map(is_prolip, configs.PUBLISHED))
    assert not any(map(is_prolip, ["hf-hub:timm/ViT-B-16-SigLIP", "ViT-B-16", f"local-dir:{tmp_path}"]))


def test_a_model_that_was_downloaded_once_loads_offline(cache):
    downloaded(cache)
    assert_same(load_encoder(HUB_NAME, device="cpu"))


def test_a_folder_loads_by_its_path(tmp_path, cache):
    write_model(tmp_path / "at@home", tiny())
    write_tokenizer(tmp_path / "at@home")
    assert_same(load_encoder(f"local-dir:{tmp_path / 'at@home'}", device="cpu"))


@pytest.mark.parametrize("file", ["model.safetensors", "epoch@3.pt"])
def test_a_file_loads_by_its_architecture(file, tmp_path, cache, monkeypatch):
    monkeypatch.setitem(configs.PUBLISHED, "tiny-ProLIP", tiny().config)
    write_model(tmp_path, tiny())
    write_tokenizer(tmp_path)
    torch.save({"state_dict": tiny().state_dict()}, tmp_path / "epoch@3.pt")
    assert_same(load_encoder(f"tiny-ProLIP@{tmp_path / file}", device="cpu"))


def test_the_official_files_configuration_decides(cache):
    """The hub's own files are read, not the table: a sibling that is not in it loads too."""
    downloaded(cache, "hf-hub:someone/my-prolip")
    assert_same(load_encoder("hf-hub:someone/my-prolip", device="cpu"))


@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
def test_a_model_that_is_not_whole_is_never_taken_with_random_weights(file, cache):
    (downloaded(cache) / file).unlink()
    with pytest.raises(ModelUnavailable, match="weights could not be loaded"):
        load_encoder(HUB_NAME, device="cpu")


def test_a_tokenizer_that_is_missing_is_told_from_weights(cache):
    folder = downloaded(cache)
    (folder / "tokenizer.json").unlink()
    config = json.loads((folder / "config.json").read_text())
    config["text_cfg"]["hf_tokenizer_name"] = "timm/ViT-B-16-SigLIP"
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelUnavailable, match="its tokenizer could not be loaded"):
        load_encoder(HUB_NAME, device="cpu")


@pytest.mark.parametrize("broken", [b"PK not a checkpoint", b""])
def test_a_broken_file_is_refused(broken, tmp_path, cache):
    write_model(tmp_path, tiny())
    (tmp_path / "model.safetensors").write_bytes(broken)
    with pytest.raises(ModelUnavailable, match="weights could not be loaded"):
        load_encoder(f"local-dir:{tmp_path}", device="cpu")


def test_another_architecture_in_a_folder_is_named(tmp_path, cache):
    write_model(tmp_path, tiny())
    config = json.loads((tmp_path / "config.json").read_text())
    config["text_cfg"]["no_causal_mask"] = False
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelUnavailable, match="no_causal_mask"):
        load_encoder(f"local-dir:{tmp_path}", device="cpu")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ViT-B-16-ProLIP", HUB_NAME),
        ("ViT-B-16-ProLIP@/no/file", "weights could not be loaded"),
        (HUB_NAME, r"Go online once.*'mini'"),
    ],
)
def test_offline_it_is_said_within_seconds_what_to_do(name, said, cache):
    started = time.monotonic()
    with pytest.raises(ModelUnavailable, match=said):
        load_encoder(name, device="cpu")
    assert time.monotonic() - started < 5
