"""Models by name without a network: from a folder, a file and the hub's cache; and what is said when there is none."""

import json
import time

import open_clip
import pytest
import torch
from huggingface_hub import constants
from PIL import Image
from safetensors.torch import save_file
from torch.testing import assert_close

from core.encoders import load_encoder, loading
from core.errors import ModelUnavailable

TINY = {
    "embed_dim": 20,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 24, "heads": 2, "layers": 1},
}
RED = Image.new("RGB", (40, 32), "red")
WORDS = open_clip.SimpleTokenizer(context_length=16)


def tiny(**extra):
    torch.manual_seed(0)
    return open_clip.CLIP(**TINY, **extra).eval()


def write_model(folder, model, config=TINY):
    folder.mkdir(parents=True)
    preprocess = {"mean": [0.5] * 3, "std": [0.5] * 3, "resize_mode": "squash"}
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": config, "preprocess_cfg": preprocess}))
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache of the hub, and no network."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(loading, "_reachable", lambda endpoint: False)
    return tmp_path / "hub"


def downloaded(cache, model, config=TINY):
    """As the hub's client leaves `owner/name` in its cache; the folder of its files."""
    repository, revision = cache / "models--owner--name", "0" * 40
    write_model(repository / "snapshots" / revision, model, config)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(revision)
    return repository / "snapshots" / revision


def assert_same(encoder, model):
    pixels = encoder.preprocess(RED)[None]
    features, texts = encoder.encode_images(pixels), encoder.encode_texts(["a mug", "two mugs"])
    with torch.no_grad():
        images, words = model.encode_image(pixels), model.encode_text(WORDS(["a mug", "two mugs"]))
    assert_close(features.embed(encoder.heads.image), images, atol=1e-5, rtol=1e-4)
    assert_close(texts.embed(encoder.heads.text), words, atol=1e-5, rtol=1e-4)


def test_a_model_that_was_downloaded_once_loads_offline(cache):
    downloaded(cache, tiny())
    encoder = load_encoder("hf-hub:owner/name", device="cpu")
    assert_same(encoder, tiny())
    assert encoder.preprocess(RED)[0].unique().tolist() == [1.0]  # its own mean and deviation, squashed


def test_a_published_tag_loads_from_the_cache_with_the_activation_it_was_trained_with(cache, monkeypatch):
    downloaded(cache, tiny())
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "tiny", TINY)
    tags = {"plain": {"hf_hub": "owner/name/"}, "quick": {"hf_hub": "owner/name/", "quick_gelu": True}}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "tiny", tags)
    plain, quick = load_encoder("tiny/plain", device="cpu"), load_encoder("tiny/quick", device="cpu")
    assert_same(plain, tiny())
    assert_same(quick, tiny(quick_gelu=True))
    assert plain.fingerprint != quick.fingerprint  # the same weights


def test_a_model_whose_weights_are_not_there_is_never_taken_with_random_ones(cache):
    (downloaded(cache, tiny()) / "open_clip_model.safetensors").unlink()
    with pytest.raises(ModelUnavailable, match="weights"):
        load_encoder("hf-hub:owner/name", device="cpu")


def test_a_folder_with_a_model_loads_by_its_path(tmp_path, cache):
    write_model(tmp_path / "at@home", tiny())
    assert_same(load_encoder(f"local-dir:{tmp_path / 'at@home'}", device="cpu"), tiny())


@pytest.mark.parametrize("wrap", [lambda state: state, lambda state: {"epoch": 3, "state_dict": state}])
def test_a_checkpoint_of_a_training_loads_by_its_path(wrap, tmp_path, monkeypatch, cache):
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "tiny", TINY)
    file = tmp_path / "epoch@3.pt"
    torch.save(wrap({f"module.{key}": value for key, value in tiny().state_dict().items()}), file)
    assert_same(load_encoder(f"tiny@{file}", device="cpu"), tiny())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no-such-model/x", "no model known"),
        ("ViT-B-32", "names no weights"),
        ("ViT-B-32@/no/file", "no such file"),
        ("ViT-B-32/laion3b", "laion2b_s34b_b79k"),
        ("local-dir:/no/folder", "could not be loaded"),
    ],
)
def test_an_unknown_model_says_what_to_write_instead(name, said, cache):
    with pytest.raises(ModelUnavailable, match=said):
        load_encoder(name, device="cpu")


@pytest.mark.parametrize("name", ["hf-hub:owner/name", "ViT-B-32/laion2b_s34b_b79k", "ViT-B-16-SigLIP/webli"])
def test_offline_a_model_is_refused_within_seconds(name, cache):
    started = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"Go online once.*'mini'"):
        load_encoder(name, device="cpu")
    assert time.monotonic() - started < 5  # huggingface_hub alone: 26 s a file without DNS, minutes behind a firewall


def test_a_hub_that_never_answers_is_given_up_after_a_moment(monkeypatch, tmp_path):
    import socket

    monkeypatch.setattr(loading, "PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and says nothing
        started = time.monotonic()
        assert not loading._reachable(f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert time.monotonic() - started < 3


def test_the_hubs_own_settings_are_as_before_after_a_load(cache, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with pytest.raises(ModelUnavailable):
        load_encoder("hf-hub:owner/name", device="cpu")
    assert constants.HF_HUB_OFFLINE is False


def test_a_tokenizer_that_is_missing_is_told_from_weights(cache):
    config = TINY | {"text_cfg": TINY["text_cfg"] | {"hf_tokenizer_name": "owner/words"}}
    downloaded(cache, tiny(), config)
    with pytest.raises(ModelUnavailable, match="its tokenizer could not be loaded"):
        load_encoder("hf-hub:owner/name", device="cpu")
