"""The network against the official outputs, and the masked forward against the slow obvious form.

Axes: n images or texts · G patches · K patches kept · D joint embedding size.
"""

import json

import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

from core.prolip.model.configs import ProlipConfig
from core.prolip.model.model import Prolip
from tests.conftest import REFERENCE
from tests.small import generator

G = 16


def tiny() -> Prolip:
    """The official tiny model: its weights load strictly or not at all."""
    model = Prolip(ProlipConfig.read(json.loads((REFERENCE / "prolip_tiny_config.json").read_text())))
    model.load_state_dict(load_file(REFERENCE / "prolip_tiny_weights.safetensors"), strict=True)
    return model.eval().requires_grad_(False)


@pytest.fixture(scope="module")
def model():
    return tiny()


@pytest.fixture(scope="module")
def official():
    return load_file(REFERENCE / "prolip_forward.safetensors")


def test_the_outputs_are_the_official_ones(model, official):
    images, texts = model(official["image"], official["text"])
    pairs = {"image_mean": images.mean, "image_logvar": images.log_variance}
    pairs |= {"text_mean": texts.mean, "text_logvar": texts.log_variance}
    for name, found in pairs.items():
        assert_close(found, official[name], atol=1e-5, rtol=0)
    errors = {name: float((found - official[name]).abs().max()) for name, found in pairs.items()}
    print("\nlargest difference:", ", ".join(f"{name} {error:.1e}" for name, error in errors.items()))
    assert_close(model.logit_scale.exp(), official["logit_scale"])
    assert_close(model.logit_bias, official["logit_bias"])


def test_the_reference_needs_each_quirk(model, official):
    """Without the second norm, or with log σ² of [UNC] itself, the official outputs are missed by far."""
    x = model.visual.ln_post(hidden_tokens(model, official["image"]))
    once = torch.nn.functional.normalize(x[:, 0] @ model.visual.proj, dim=1)
    assert (once - official["image_mean"]).abs().max() > 1e-3
    hidden = model.text(official["text"])
    assert (model.text.text_uncertainty_projection(hidden) - official["text_logvar"]).abs().max() > 1e-3


def hidden_tokens(model, pixels, kept=None):
    """All tokens of the image transformer, one image after the other and one patch after the other."""
    visual, found = model.visual, []
    for image, positions in zip(pixels, kept if kept is not None else [range(G)] * len(pixels), strict=True):
        tokens = [visual.class_embedding + visual.positional_embedding[0]]
        tokens.append(visual.unc_embedding + visual.positional_embedding[1])
        for at in positions:
            row, column = divmod(int(at), 4)
            patch = image[:, 8 * row : 8 * row + 8, 8 * column : 8 * column + 8]
            embedded = (visual.conv1.weight * patch).sum(dim=(1, 2, 3))
            tokens.append(embedded + visual.positional_embedding[2 + int(at)])
        found.append(visual.transformer(visual.ln_pre(torch.stack(tokens))[None])[0])
    return torch.stack(found)


@pytest.mark.parametrize("shared_by_all", [True, False])
def test_kept_patches_keep_their_positions(model, official, shared_by_all):
    pixels = official["image"]
    patches = torch.tensor([3, 7, 8, 14]) if shared_by_all else model.visual.draw_patches(5, 0.4, generator())
    visual, x = model.visual, hidden_tokens(model, pixels, patches.expand(5, -1))
    mean = visual.ln_post(visual.ln_post(x[:, 0])) @ visual.proj
    doubt = visual.ln_post(x[:, 1]) @ visual.uncertainty_proj.weight.T + visual.uncertainty_proj.bias
    found = model.encode_images(pixels, patches)
    assert_close(found.mean, torch.nn.functional.normalize(mean, dim=1), atol=1e-5, rtol=0)
    assert_close(found.log_variance, doubt, atol=1e-5, rtol=0)


def test_all_patches_in_any_order_are_the_whole_image(model, official):
    order = torch.randperm(G, generator=generator())
    whole, shuffled = model.encode_images(official["image"]), model.encode_images(official["image"], order)
    assert_close(shuffled.mean, whole.mean, atol=1e-5, rtol=0)
    assert_close(shuffled.log_variance, whole.log_variance, atol=1e-5, rtol=0)


def test_what_is_masked_is_not_seen(model, official):
    patches = torch.tensor([0, 1, 2, 3])
    changed = official["image"].clone()
    changed[:, :, 8:] = 0  # all but the first row of patches
    assert_close(model.encode_images(changed, patches).mean, model.encode_images(official["image"], patches).mean)


@pytest.mark.parametrize(("keep", "kept"), [(0.25, 4), (0.3, 4), (0.01, 1), (1.0, 16)])
def test_a_share_of_the_patches_is_drawn_for_each_image(model, keep, kept):
    drawn = model.visual.draw_patches(50, keep, generator())
    assert drawn.shape == (50, kept)
    assert all(len(set(row)) == kept for row in drawn.tolist())
    assert torch.equal(drawn, model.visual.draw_patches(50, keep, generator()))
    assert len({tuple(row) for row in drawn.tolist()}) > 1 or kept == 16


def test_a_smaller_share_is_a_part_of_a_larger_one(model):
    small, large = (model.visual.draw_patches(9, keep, generator(4)).tolist() for keep in (0.25, 0.6))
    assert all(set(few) < set(many) for few, many in zip(small, large, strict=True))


@pytest.mark.parametrize("keep", [0, -0.1, 1.1])
def test_no_other_share_can_be_kept(model, keep):
    with pytest.raises(ValueError, match="share of the patches"):
        model.visual.draw_patches(1, keep)


def test_a_text_tower_takes_shorter_texts_and_every_token_counts(model, official):
    tokens = official["text"][:, :5].clone()
    first = model.encode_texts(tokens)
    tokens[:, 0] += 1
    assert (model.encode_texts(tokens).mean - first.mean).abs().max() > 1e-4


def test_before_training_every_log_variance_is_near_its_bias():
    torch.manual_seed(0)
    model = Prolip(tiny().config)
    with torch.no_grad():
        images, texts = model(torch.rand(2, 3, 32, 32), torch.randint(97, (2, 12)))
    assert float(images.log_variance.mean()) == pytest.approx(-10, abs=1)
    assert float(texts.log_variance.mean()) == pytest.approx(-10, abs=1)
    assert float(model.logit_bias.detach()) == -10
