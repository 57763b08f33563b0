"""Other heads in a model: it embeds as they say, whatever kind its own heads are."""

import json

import open_clip
import pytest
import torch
from torch.testing import assert_close

from core.encoders import load_encoder, loading, merging
from core.encoders.heads import put_heads
from core.encoders.merging import write_merged
from core.encoders.mini import build_mini, load_mini
from core.errors import ModelError
from core.values import Heads
from tests.encoders.test_loading import RED, TINY, tiny, write_model
from tests.encoders.test_openclip import RESNET, VISION, encoder_of, model_of, random_pixels, tokenize


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """The hub is not waited for."""
    monkeypatch.setattr(loading, "_reachable", lambda endpoint: False)


def others(heads):
    """Heads like these with other numbers."""
    rng = torch.Generator().manual_seed(3)
    image, text = (torch.randn(head.shape, generator=rng) for head in (heads.image, heads.text))
    return Heads(image, text, heads.scale, heads.bias)


@pytest.mark.parametrize("kind", ["matrix and bias", "attention pool"])
def test_the_model_embeds_as_its_new_heads_say(kind):
    vision = {"matrix and bias": VISION, "attention pool": RESNET}[kind]
    encoder, model = encoder_of(model_of(vision)), model_of(vision)
    heads = others(encoder.heads)
    put_heads("tiny", model, heads.image, heads.text)
    pixels, texts = random_pixels(3, vision["image_size"]), ["a", "bb"]
    with torch.no_grad():
        images, words = model.encode_image(pixels), model.encode_text(tokenize(texts))
    assert_close(images, encoder.encode_images(pixels).embed(heads.image), atol=1e-4, rtol=1e-4)
    assert_close(words, encoder.encode_texts(texts).embed(heads.text), atol=1e-4, rtol=1e-4)


def test_a_folder_is_loaded_by_plain_open_clip_with_its_preprocessing(tmp_path):
    write_model(tmp_path / "base", tiny(quick_gelu=True), TINY | {"quick_gelu": True})
    (tmp_path / "base" / "tokenizer.json").write_text("{}")
    name = f"local-dir:{tmp_path / 'base'}"
    encoder = load_encoder(name, device="cpu")
    heads = others(encoder.heads)
    (tmp_path / "out").mkdir()
    assert write_merged(name, heads, encoder.fingerprint, tmp_path / "out") == ""
    plain, _, preprocess = open_clip.create_model_and_transforms(
        f"local-dir:{tmp_path / 'out'}", require_pretrained=True
    )
    pixels = preprocess(RED)[None]
    assert torch.equal(pixels, encoder.preprocess(RED)[None])
    with torch.no_grad():
        found = plain.eval().encode_image(pixels)
    assert_close(found, encoder.encode_images(pixels).embed(heads.image), atol=1e-5, rtol=1e-4)
    assert (tmp_path / "out" / "tokenizer.json").exists()


def test_a_published_name_takes_its_own_configuration(tmp_path, monkeypatch):
    file = tmp_path / "weights.pt"
    torch.save(tiny().state_dict(), file)
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "tiny", TINY)
    encoder = load_encoder(f"tiny@{file}", device="cpu")
    (tmp_path / "out").mkdir()
    write_merged(f"tiny@{file}", encoder.heads, encoder.fingerprint, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "open_clip_config.json").read_text())["model_cfg"] == TINY
    plain = open_clip.create_model(f"local-dir:{tmp_path / 'out'}", require_pretrained=True)
    for key, tensor in tiny().state_dict().items():
        assert torch.equal(plain.state_dict()[key], tensor)


def test_mini_takes_heads_too(tmp_path):
    encoder = load_mini()
    heads = others(encoder.heads)
    note = write_merged("mini", heads, encoder.fingerprint, tmp_path)
    assert "256" in note
    model, preprocess, _ = build_mini()
    model.load_state_dict(merging_state(tmp_path), strict=True)
    pixels = preprocess(RED)[None]
    with torch.no_grad():
        found = model.encode_image(pixels)
    assert_close(found, encoder.encode_images(pixels).embed(heads.image), atol=1e-4, rtol=1e-4)


def merging_state(folder):
    from safetensors.torch import load_file

    return load_file(folder / merging.WEIGHTS)


def test_heads_of_another_model_and_models_that_open_clip_lacks_are_refused(tmp_path):
    write_model(tmp_path / "base", tiny())
    encoder = load_encoder(f"local-dir:{tmp_path / 'base'}", device="cpu")
    with pytest.raises(ModelError, match="its weights have changed"):
        write_merged(encoder.name, encoder.heads, "0" * 16, tmp_path)
    with pytest.raises(ModelError, match="ProLIP"):
        write_merged("mini-prolip", encoder.heads, "0" * 16, tmp_path)
