"""Axes: n images or texts · p input of a head · D joint embedding size."""

import open_clip
import pytest
import torch
from open_clip.model import CLIP, CustomTextCLIP
from torch.testing import assert_close

from core.encoders import load_encoder
from core.encoders.openclip import OpenClipEncoder, fingerprint
from core.errors import ModelUnavailable, NoLinearHead

TEXT = {"context_length": 16, "vocab_size": 50, "width": 24, "heads": 2, "layers": 1}
VISION = {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16}


def tokenize(texts):
    """Any token, then the end-of-text token, which has the greatest number."""
    return torch.tensor([[len(text) % 40, 49] + [0] * 14 for text in texts])


def to_pixels(image):
    raise AssertionError("not used here")


def encoder_of(model):
    return OpenClipEncoder("tiny", model, to_pixels, tokenize)


def random_pixels(n=3, size=32):
    return torch.rand(n, 3, size, size, generator=torch.Generator().manual_seed(1))


FAMILIES = {
    "CLIP": lambda: CLIP(20, VISION, TEXT),
    "CustomTextCLIP": lambda: CustomTextCLIP(20, VISION, TEXT),
    "text head with bias": lambda: CustomTextCLIP(20, VISION, TEXT | {"proj_bias": True}, init_logit_bias=-10),
    "timm, linear head": lambda: CustomTextCLIP(
        20, {"image_size": 32, "timm_model_name": "test_vit", "timm_pool": "token", "timm_proj": "linear"}, TEXT
    ),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_activations_and_heads_give_the_models_own_embeddings(family):
    torch.manual_seed(0)
    model = FAMILIES[family]().eval()
    size = 160 if "timm" in family else 32
    texts, pixels = ["a", "bb", "ccc"], random_pixels(size=size)
    with torch.no_grad():
        images, words = model.encode_image(pixels), model.encode_text(tokenize(texts))
    encoder = encoder_of(model)
    assert_close(encoder.encode_images(pixels).embed(encoder.heads.image), images, atol=1e-5, rtol=1e-4)
    assert_close(encoder.encode_texts(texts).embed(encoder.heads.text), words, atol=1e-5, rtol=1e-4)
    assert_close(encoder.heads.scale, float(model.logit_scale.exp()))


def test_siglips_attention_pool_keeps_its_residual():
    torch.manual_seed(0)
    vision = {
        "image_size": 224,
        "timm_model_name": "vit_base_patch16_siglip_224",
        "timm_pool": "map",
        "timm_proj": "none",
    }
    model = CustomTextCLIP(768, vision, TEXT, init_logit_bias=-10).eval()
    pixels = random_pixels(2, 224)
    with torch.no_grad():
        images = model.encode_image(pixels)
    encoder = encoder_of(model)
    features = encoder.encode_images(pixels)
    assert features.residuals is not None
    assert features.residuals.norm() > 0
    assert features.activations.shape[1] == encoder.heads.image.shape[1] == 3072 + 1  # the bias column
    assert_close(features.embed(encoder.heads.image), images, atol=1e-4, rtol=1e-4)
    assert encoder.heads.bias == -10


def test_a_tower_without_a_linear_head_is_refused():
    model = CustomTextCLIP(32, VISION, TEXT | {"width": 32, "proj_type": "none"})
    model.visual.proj = None
    with pytest.raises(NoLinearHead, match=r"visual\.proj"):
        encoder_of(model)


def test_the_fingerprint_tells_weights_and_preprocessing_apart():
    torch.manual_seed(0)
    model = FAMILIES["CLIP"]()
    first = fingerprint(model, "resize 32")
    assert fingerprint(model, "resize 32") == first
    assert fingerprint(model, "resize 64") != first
    model.visual.proj.data[0, 0] += 1
    assert fingerprint(model, "resize 32") != first


def test_a_local_checkpoint_loads_by_name(tmp_path):
    """`architecture@file`: the real path of open_clip's factory, without a hub."""
    torch.manual_seed(3)
    model = open_clip.create_model("ViT-S-32-alt")
    file = tmp_path / "weights.pt"
    torch.save(model.state_dict(), file)
    encoder = load_encoder(f"ViT-S-32-alt@{file}", device="cpu")
    expected = model.visual.proj.detach().T
    assert_close(encoder.heads.image, expected)


@pytest.mark.parametrize(
    ("name", "said"),
    [("no-such-model/x", "no model known"), ("ViT-B-32", "names no weights"), ("ViT-B-32@/no/file", "could not be")],
)
def test_an_unknown_model_says_what_to_write_instead(name, said):
    with pytest.raises(ModelUnavailable, match=said):
        load_encoder(name, device="cpu")
