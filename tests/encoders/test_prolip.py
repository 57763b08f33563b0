"""ProLIP as an encoder: its heads give the model's own means, and log σ² comes with the features.

Axes: n images or texts · p input of a head.
"""

import pytest
import torch
from PIL import Image
from torch.testing import assert_close

from core.encoders import GaussianEncoder
from core.encoders.base import gaussians
from core.errors import ModelError
from core.prolip.model.model import Prolip
from core.values import Features
from tests.encoders.words import tiny_encoder
from tests.prolip.model.test_model import tiny
from tests.small import generator
from tests.toy import ToyEncoder

TEXTS = ["a photo of a mug", "two", "", "the red cat on a very small table in a large room with a dog and a mug"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return tiny_encoder(tmp_path_factory.mktemp("words"))


@pytest.fixture(scope="module")
def model():
    return tiny()


def pixels(n=5):
    return torch.randn(n, 3, 32, 32, generator=generator(1))


def test_it_is_an_encoder_of_gaussians_and_others_are_not(encoder):
    assert isinstance(encoder, GaussianEncoder)
    assert not isinstance(ToyEncoder(), GaussianEncoder)


def test_activations_and_heads_give_the_models_own_gaussians(encoder, model):
    images, texts = encoder.encode_images(pixels()), encoder.encode_texts(TEXTS)
    tokens = encoder._tokenizer(TEXTS)
    own_images, own_texts = model.encode_images(pixels()), model.encode_texts(tokens)
    mean, _ = model.visual.heads(model.visual(pixels()))
    assert_close(images.embed(encoder.heads.image), mean, atol=1e-5, rtol=0)  # before it is normalised
    mean, _ = model.text.heads(model.text(tokens))
    assert_close(texts.embed(encoder.heads.text), mean, atol=1e-5, rtol=0)
    for found, own in ((encoder.image_gaussians(images), own_images), (encoder.text_gaussians(TEXTS), own_texts)):
        assert_close(found.mean, own.mean, atol=1e-5, rtol=0)
        assert_close(found.log_variance, own.log_variance, atol=1e-5, rtol=0)
        assert_close(found.mean.norm(dim=1), torch.ones(len(found)))
    assert images.activations.shape[1] == encoder.heads.image.shape[1] == 48  # no bias
    assert texts.activations.shape[1] == encoder.heads.text.shape[1] == 49
    assert (texts.activations[:, -1] == 1).all()


def test_scale_and_bias_of_the_logits_are_the_models_own(encoder, model):
    assert_close(encoder.logit_scale, float(model.logit_scale.exp()))
    assert encoder.logit_bias == encoder.heads.bias == -10


def test_a_batch_gives_what_each_image_and_text_gives_alone(encoder):
    alone = Features.cat([encoder.encode_images(one[None]) for one in pixels()])
    together = encoder.encode_images(pixels())
    words = Features.cat([encoder.encode_texts([text]) for text in TEXTS])
    for found, expected in ((together, alone), (encoder.encode_texts(TEXTS), words)):
        assert_close(found.activations, expected.activations, atol=1e-5, rtol=1e-4)
        assert_close(found.log_variance, expected.log_variance, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("keep", [0.25, 0.6])
def test_a_masked_image_is_the_models_own_with_the_drawn_patches(encoder, model, keep):
    patches = model.visual.draw_patches(5, keep, generator(3))
    found, own = encoder.encode_gaussians(pixels(), keep, generator(3)), model.encode_images(pixels(), patches)
    assert_close(found.mean, own.mean, atol=1e-5, rtol=0)
    assert_close(found.log_variance, own.log_variance, atol=1e-5, rtol=0)


@pytest.mark.parametrize("keep", [None, 1.0])
def test_all_of_an_image_is_no_mask(encoder, keep):
    whole = encoder.image_gaussians(encoder.encode_images(pixels()))
    assert_close(encoder.encode_gaussians(pixels(), keep).mean, whole.mean)


def test_preprocessing_is_clips_at_the_models_size(encoder):
    found = encoder.preprocess(Image.new("RGB", (90, 40), (255, 0, 0)))
    mean, deviation = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
    expected = [(colour - m) / s for colour, m, s in zip((1, 0, 0), mean, deviation, strict=True)]
    assert found.shape == (3, 32, 32)
    assert_close(found[:, 5, 5], torch.tensor(expected))


def test_texts_are_said_to_be_cut(encoder):
    readings = encoder.read_texts(TEXTS)
    assert [reading.cut for reading in readings] == [False, False, False, True]
    assert [reading.text for reading in readings] == TEXTS
    assert readings[3].kept == "the red cat on a very small table in a large"


def test_features_without_an_uncertainty_are_no_gaussians(encoder):
    with pytest.raises(ModelError, match="ProLIP"):
        gaussians(Features(torch.ones(2, 48)), encoder.heads.image)


def test_the_fingerprint_tells_weights_and_activation_apart(encoder, tmp_path):
    from dataclasses import replace

    again, changed = tiny_encoder(tmp_path), tiny()
    assert again.fingerprint == encoder.fingerprint
    changed.text.unc_emb[0] += 1
    assert tiny_encoder(tmp_path, changed).fingerprint != encoder.fingerprint
    quick = Prolip(replace(tiny().config, quick_gelu=True))
    quick.load_state_dict(tiny().state_dict())
    assert tiny_encoder(tmp_path, quick).fingerprint != encoder.fingerprint


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_cpus_features_to_half_precision(encoder, tmp_path):
    there = tiny_encoder(tmp_path, device="cuda")
    found, expected = there.encode_images(pixels()), encoder.encode_images(pixels())
    assert found.activations.device.type == "cpu"
    assert_close(found.activations, expected.activations, atol=2e-2, rtol=2e-2)
    assert_close(found.log_variance, expected.log_variance, atol=2e-2, rtol=2e-2)
    masked = there.encode_gaussians(pixels(), 0.5, generator()), encoder.encode_gaussians(pixels(), 0.5, generator())
    assert_close(masked[0].mean, masked[1].mean, atol=2e-2, rtol=2e-2)
