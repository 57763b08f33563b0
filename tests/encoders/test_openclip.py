"""Axes: n images or texts · p input of a head."""

import warnings

import pytest
import torch
from open_clip.model import CLIP, CustomTextCLIP
from torch.testing import assert_close

from core.encoders.openclip import OpenClipEncoder, activation, fingerprint
from core.values import Features

TEXT = {"context_length": 16, "vocab_size": 50, "width": 24, "heads": 2, "layers": 1}
VISION = {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16}
RESNET = {"layers": [1, 1, 1, 1], "width": 8, "image_size": 64}


def tokenize(texts):
    """Any token, then the end-of-text token, which has the greatest number."""
    return torch.tensor([[len(text) % 40, 49] + [0] * 14 for text in texts])


def to_pixels(image):
    raise AssertionError("not used here")


def model_of(vision=VISION, **extra):
    torch.manual_seed(0)
    return CustomTextCLIP(20, vision, TEXT | {"proj_bias": True}, **extra).eval()


def encoder_of(model, device="cpu"):
    return OpenClipEncoder("tiny", model, to_pixels, tokenize, device)


def random_pixels(n=3, size=32):
    return torch.rand(n, 3, size, size, generator=torch.Generator().manual_seed(1))


def test_scale_and_bias_of_the_logits_are_the_models_own():
    model = model_of(init_logit_bias=-10, nonscalar_logit_scale=True)
    encoder = encoder_of(model)
    assert_close(encoder.heads.scale, float(model.logit_scale.exp()))
    assert encoder.heads.bias == -10
    assert encoder_of(model_of()).heads.bias == 0


def test_on_the_cpu_weights_and_pixels_are_channels_last(monkeypatch):
    model = model_of(RESNET)
    seen = []
    model.visual.layer1.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    encoder_of(model).encode_images(random_pixels(2, 64))
    assert seen[0].is_contiguous(memory_format=torch.channels_last)
    assert model.visual.conv2.weight.is_contiguous(memory_format=torch.channels_last)


def test_a_batch_gives_what_each_image_and_text_gives_alone():
    encoder, pixels, texts = encoder_of(model_of()), random_pixels(5), ["a", "bb", "ccc"]
    alone = Features.cat([encoder.encode_images(one[None]) for one in pixels])
    assert_close(encoder.encode_images(pixels).activations, alone.activations, atol=1e-5, rtol=1e-4)
    words = Features.cat([encoder.encode_texts([text]) for text in texts])
    assert_close(encoder.encode_texts(texts).activations, words.activations, atol=1e-5, rtol=1e-4)


def test_texts_that_do_not_fit_the_memory_together_are_encoded_in_parts():
    model = model_of()
    texts = ["x" * i for i in range(40)]
    expected = encoder_of(model_of()).encode_texts(texts)
    encode = model.encode_text

    def short_of_memory(tokens, normalize=False):
        if len(tokens) > 7:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return encode(tokens, normalize)

    model.encode_text = short_of_memory
    assert_close(encoder_of(model).encode_texts(texts).activations, expected.activations, atol=1e-5, rtol=1e-4)


def test_what_overflows_in_half_precision_is_run_again_without():
    encoder = encoder_of(model_of())
    encoder.device = torch.device("cuda")
    answers = [torch.tensor([[1.0, torch.inf]]), torch.tensor([[1.0, 65505.0]])]
    with warnings.catch_warnings():  # autocast says that this machine has no GPU
        warnings.simplefilter("ignore")
        found = encoder._run(lambda inputs: Features(answers.pop(0)), torch.zeros(1, 2))
    assert found.activations.tolist() == [[1.0, 65505.0]]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("vision", [VISION, RESNET], ids=["ViT", "ResNet"])
def test_a_gpu_gives_the_cpus_features_to_half_precision(vision):
    pixels = random_pixels(4, vision["image_size"])
    here, there = encoder_of(model_of(vision)), encoder_of(model_of(vision), "cuda")
    expected, found = here.encode_images(pixels), there.encode_images(pixels)
    assert found.activations.device.type == "cpu"
    assert found.activations.dtype == torch.float32
    assert_close(found.activations, expected.activations, atol=2e-2, rtol=2e-2)
    assert there.fingerprint == here.fingerprint


def test_the_fingerprint_tells_weights_and_preprocessing_apart():
    torch.manual_seed(0)
    model = CLIP(20, VISION, TEXT)
    first = fingerprint(model, "resize 32")
    assert fingerprint(model, "resize 32") == first
    assert fingerprint(model, "resize 64") != first
    model.visual.proj.data[0, 0] += 1
    assert fingerprint(model, "resize 32") != first


def test_the_fingerprint_tells_activations_apart_that_weights_do_not_show():
    assert activation(CLIP(20, VISION, TEXT)) == ""
    assert activation(CLIP(20, VISION, TEXT, quick_gelu=True)) == "QuickGELU"
    assert encoder_of(model_of()).fingerprint != encoder_of(model_of(quick_gelu=True)).fingerprint
