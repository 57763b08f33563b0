"""Heads that no configuration of open_clip has but its towers can, and what is refused.

Axes: n images · p input of a head · D joint embedding size.
"""

import pytest
import timm
import torch
from open_clip.model import CLIP, CustomTextCLIP
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.testing import assert_close

from core.encoders.heads import IMAGE_HEADS, HeadSpec, Tower
from core.errors import NoLinearHead

TEXT = {"context_length": 16, "vocab_size": 50, "width": 24, "heads": 2, "layers": 1}
VISION = {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16}


def timm_model(name, pool, proj, **sizes):
    vision = {"timm_model_name": name, "timm_pool": pool, "timm_proj": proj, "image_size": 160} | sizes
    torch.manual_seed(0)
    return CustomTextCLIP(20, vision, TEXT).eval().requires_grad_(False)


def random_pixels(n=3, size=160):
    return torch.rand(n, 3, size, size, generator=torch.Generator().manual_seed(1))


def image_tower(model):
    return Tower("tiny", model, model.encode_image, IMAGE_HEADS)


OTHERS = {
    "an attention pool that ends in a projection": ("test_convnext2", "rot_attn", "", "visual.head.pool.proj"),
    "the same with learned positions": ("test_convnext2", "abs_attn", "", "visual.head.pool.proj"),
    "an attention pool and a projection": ("test_convnext2", "rot_attn", "linear", "visual.head.proj"),
    "ConvNeXt's own classifier": ("test_convnext", "avg", "", "visual.trunk.head.fc"),
    "EfficientNet's own classifier": ("test_efficientnet", "avg", "", "visual.trunk.classifier"),
    "ResNet's own classifier": ("test_resnet", "avg", "", "visual.trunk.fc"),
    "a bias in the projection": ("test_vit", "token", "linear", "visual.head.proj"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_towers_of_timm_give_their_own_embeddings(what):
    name, pool, proj, path = OTHERS[what]
    model = timm_model(name, pool, proj, timm_proj_bias="bias" in what)
    pixels = random_pixels()
    expected = model.encode_image(pixels)
    tower = image_tower(model)
    assert tower.spec.path == path
    assert tower.has_bias == (proj == "" or "bias" in what)
    assert_close(tower(pixels).embed(tower.weight), expected, atol=1e-5, rtol=1e-4)


def test_attention_of_the_resnet_tower_reads_weights_of_a_head_it_never_calls():
    """Why that head is taken out, not hooked: the hook would never fire."""
    vision = {"layers": [1, 1, 1, 1], "width": 8, "image_size": 64, "head_width": 64}
    model = CLIP(20, vision, TEXT).eval().requires_grad_(False)
    called = []
    model.visual.attnpool.c_proj.register_forward_hook(lambda *_: called.append(True))
    pixels = random_pixels(size=64)
    expected = model.encode_image(pixels)
    assert not called
    tower = image_tower(model)
    assert_close(tower(pixels).embed(tower.weight), expected, atol=1e-5, rtol=1e-4)


def test_what_enters_a_head_is_kept_for_no_longer_than_its_batch():
    tower = image_tower(timm_model("test_vit", "token", "linear"))
    tower(random_pixels())
    assert not tower._seen


class Normalised(nn.Module):
    """A tower that normalises after its projection, as no tower of open_clip does."""

    def __init__(self):
        super().__init__()
        self.visual = nn.Module()
        self.visual.head = nn.Module()
        self.visual.head.proj = nn.Linear(5, 4)

    def encode_image(self, x):
        return F.normalize(self.visual.head.proj(x), dim=-1)


class Unused(Normalised):
    def encode_image(self, x):
        return x


class AddsMore(nn.Module):
    """A layer norm after the pool that would silently pass into SigLIP's residual."""

    def __init__(self):
        super().__init__()
        self.visual = timm_model("test_vit3", "map", "none").visual
        self.norm = nn.LayerNorm(96)

    def encode_image(self, x):
        return self.norm(self.visual(x)) + 1


def test_a_head_that_something_follows_is_refused_by_name():
    with pytest.raises(NoLinearHead, match=r"tiny: something is applied after visual\.head\.proj"):
        image_tower(Normalised())(torch.ones(2, 5))


def test_a_head_that_the_tower_does_not_use_is_refused():
    with pytest.raises(NoLinearHead, match="never called"):
        image_tower(Unused())(torch.ones(2, 5))


def test_a_residual_takes_nothing_in_that_follows_the_pool():
    with pytest.raises(NoLinearHead, match=r"after visual\.trunk\.attn_pool"):
        image_tower(AddsMore().requires_grad_(False))(random_pixels())


def test_a_distilled_tower_with_two_heads_is_refused(monkeypatch):
    """DeiT gives the mean of two classifiers."""
    create = timm.create_model
    small = {"depth": 1, "embed_dim": 48, "num_heads": 4}
    monkeypatch.setattr(timm, "create_model", lambda *args, **kwargs: create(*args, **(small | kwargs)))
    model = timm_model("deit_tiny_distilled_patch16_224", "token", "")
    with pytest.raises(NoLinearHead):
        image_tower(model)(random_pixels(size=224))


def test_without_any_head_the_places_that_were_looked_at_are_named():
    model = CLIP(20, VISION, TEXT)
    model.visual.proj = None
    with pytest.raises(NoLinearHead, match=r"tiny \(CLIP\).*visual\.proj, visual\.attnpool\.c_proj"):
        Tower("tiny", model, model.encode_image, IMAGE_HEADS)


def test_a_batch_that_overflows_proves_nothing():
    """Half precision may overflow on the first batch: that is for the encoder to see, not a head that is not linear."""
    model = Normalised()
    tower = Tower("tiny", model, model.visual.head.proj, [HeadSpec("visual.head.proj")])
    tower(torch.full((2, 5), torch.inf))
    assert not tower.proven
    tower(torch.ones(2, 5))
    assert tower.proven
