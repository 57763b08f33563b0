"""Every configuration of open_clip: activations and head give the model's own embedding, or the model is refused.

Axes: n images or texts · p input of a head · D joint embedding size.
"""

import open_clip
import pytest
import torch
from torch.testing import assert_close

from core.encoders.openclip import OpenClipEncoder
from core.errors import NoLinearHead
from tests.encoders.families import image_kind, model_class, pixels, small_member, text_kind, tokens

IMAGE_KINDS = {
    "ViT, pool tok": "visual.proj",
    "ViT, pool avg, norm after it": "visual.proj",  # CLIPA
    "ViT, pool attention": "visual.proj",  # CoCa
    "ResNet, attention pool": "visual.attnpool.c_proj",
    "eva, pool token, projection classifier": "visual.trunk.head",  # EVA
    "eva, pool map, projection classifier": "visual.trunk.head",  # PE
    "vision_transformer, pool token, projection classifier": "visual.trunk.head",  # MobileCLIP2-L
    "vision_transformer_hybrid, pool token, projection classifier": "visual.trunk.head",  # MobileCLIP-B
    "fastvit, pool avg, projection classifier": "visual.trunk.head.fc",  # MobileCLIP-S
    "vision_transformer, pool map, projection none": "visual.trunk.attn_pool.mlp.fc2",  # SigLIP
    "vitamin, pool own, projection linear": "visual.head.proj",
    "convnext, pool own, projection linear": "visual.head.proj",
    "convnext, pool own, projection mlp": "visual.head.mlp.fc2",
    "swin_transformer, pool own, projection linear": "visual.head.proj",
    "vision_transformer, pool own, projection linear": "visual.head.proj",
    "vision_transformer_relpos, pool own, projection linear": "visual.head.proj",
}
TEXT_KINDS = {
    "text, pool argmax, projection linear": "text_projection",
    "text, pool last, projection linear": "text_projection",
    "text, pool eos, projection linear": "text_projection",
    "text, pool class token, projection linear": "text_projection",  # CoCa
    "text, pool last, projection linear with bias": "text_projection",  # SigLIP
    "roberta, mean_pooler, projection linear": "text.proj",
    "m2m_100, cls_pooler, projection linear": "text.proj",  # NLLB
    "roberta, mean_pooler, projection mlp": "text.proj.2",
    "xlm-roberta, mean_pooler, projection mlp": "text.proj.2",
    "mt5, mean_pooler, projection mlp": "text.proj.2",
}
NO_LINEAR_HEAD = {"text, pool last, projection none": "its text tower ends in a layer norm"}

CONFIGS = {name: open_clip.get_model_config(name) for name in open_clip.list_models()}


def one_of_each() -> dict[str, str]:
    """Model class and kinds → the first configuration that has them."""
    found: dict[str, str] = {}
    for name, config in CONFIGS.items():
        found.setdefault(f"{model_class(config).__name__}: {image_kind(config)}; {text_kind(config)}", name)
    return found


KINDS = one_of_each()
REFUSED = [name for kinds, name in KINDS.items() if any(kind in kinds for kind in NO_LINEAR_HEAD)]
SUPPORTED = [name for name in KINDS.values() if name not in REFUSED]


@pytest.mark.parametrize("name", CONFIGS)
def test_the_census_knows_the_heads_of_every_configuration(name):
    """A configuration that a new open_clip brings fails here, until its kind is tested or listed as without a head."""
    config = CONFIGS[name]
    assert image_kind(config) in IMAGE_KINDS
    assert text_kind(config) in TEXT_KINDS.keys() | NO_LINEAR_HEAD.keys()


def test_the_census_lists_no_kind_that_nothing_has():
    assert {image_kind(config) for config in CONFIGS.values()} == IMAGE_KINDS.keys()
    assert {text_kind(config) for config in CONFIGS.values()} == TEXT_KINDS.keys() | NO_LINEAR_HEAD.keys()


def embeddings(model, inputs):
    with torch.no_grad():
        return model.encode_image(inputs, normalize=False), model.encode_text(tokens(), normalize=False)


@pytest.mark.parametrize("name", SUPPORTED)
def test_activations_and_heads_give_the_models_own_embeddings(name, tmp_path, monkeypatch):
    config = CONFIGS[name]
    model = small_member(config, tmp_path, monkeypatch)
    inputs = pixels(model)
    images, words = embeddings(model, inputs)
    parameters = dict(model.named_parameters())
    encoder = OpenClipEncoder(name, model, None, lambda texts: tokens(len(texts)))
    found_images, found_words = encoder.encode_images(inputs), encoder.encode_texts(["a", "b", "c"])

    assert encoder._image.spec.path == IMAGE_KINDS[image_kind(config)]
    assert encoder._text.spec.path.removeprefix("text.") == TEXT_KINDS[text_kind(config)].removeprefix("text.")
    assert_close(found_images.embed(encoder.heads.image), images, atol=1e-5, rtol=1e-4)
    assert_close(found_words.embed(encoder.heads.text), words, atol=1e-5, rtol=1e-4)
    assert_close(encoder.heads.scale, float(model.logit_scale.exp()))
    for tower, features, head in (
        (encoder._image, found_images, encoder.heads.image),
        (encoder._text, found_words, encoder.heads.text),
    ):
        assert features.activations.shape[1] == head.shape[1]
        bias = parameters.get(f"{tower.spec.path}.bias")
        if bias is not None:
            assert (features.activations[:, -1] == 1).all()
            assert_close(head[:, -1], bias)
        assert (features.residuals is not None) == (tower.spec.inside is not None)


@pytest.mark.parametrize("name", SUPPORTED)
def test_the_embedding_is_linear_in_the_head(name, tmp_path, monkeypatch):
    """Another head in the model, the same activations: the slow way and the product agree, so nothing is left out."""
    config = CONFIGS[name]
    encoder = OpenClipEncoder(name, small_member(config, tmp_path, monkeypatch), None, lambda texts: tokens(len(texts)))
    changed = small_member(config, tmp_path, monkeypatch)
    for tower in (encoder._image, encoder._text):
        head = dict(changed.named_parameters())
        matrix = head.get(tower.spec.path, head.get(f"{tower.spec.path}.weight"))
        matrix.mul_(1.5).add_(0.01)
    inputs = pixels(changed)
    images, words = embeddings(changed, inputs)
    found = encoder.encode_images(inputs).embed(_changed(encoder.heads.image, encoder._image.has_bias))
    assert_close(found, images, atol=1e-5, rtol=1e-4)
    found = encoder.encode_texts(["a", "b", "c"]).embed(_changed(encoder.heads.text, encoder._text.has_bias))
    assert_close(found, words, atol=1e-5, rtol=1e-4)


def _changed(head, has_bias):
    new = 1.5 * head + 0.01
    if has_bias:
        new[:, -1] = head[:, -1]
    return new


@pytest.mark.parametrize("name", REFUSED)
def test_a_tower_without_a_linear_head_is_refused_by_name(name, tmp_path, monkeypatch):
    with pytest.raises(NoLinearHead, match=name):
        OpenClipEncoder(name, small_member(CONFIGS[name], tmp_path, monkeypatch), None, None)
