"""Masked versions of an image: nested by the seed, read as they are shown, for every kind of encoder."""

from itertools import pairwise

import torch
from PIL import Image
from torch.testing import assert_close

from core.encoders.mini_prolip import MiniProlip, cropped
from core.prolip.inclusion import log_inclusion
from pages.parts.masking import CROPPED, LEFT_OUT, PAINTED, SHARES, ShowsMask, hidden_last, masked_versions
from tests.encoders.words import tiny_encoder
from tests.gaussian import ToyGaussians
from tests.pictures import noise


class Upright(ToyGaussians):
    """The toy with colours where they belong, and pixels in [−1, 1]."""

    def preprocess(self, image):
        pixels = torch.tensor(list(image.resize((6, 6)).tobytes()), dtype=torch.float32)
        return pixels.reshape(6, 6, 3).permute(2, 0, 1) / 127.5 - 1


def test_a_larger_mask_hides_what_a_smaller_one_hides_and_leaves_at_least_one_patch():
    seen = hidden_last(28, 42, (*SHARES, 0.999), seed=3)
    assert seen.shape == (11, 28, 42)
    assert seen[0].all()
    assert seen[-1].sum() == 2 * 3  # one patch of 14×14
    for larger, smaller in pairwise(seen):
        assert not (smaller & ~larger).any()
    assert_close(seen.float().mean(dim=(1, 2))[:10], 1 - torch.tensor(SHARES), atol=0.01, rtol=0)
    assert not torch.equal(seen, hidden_last(28, 42, (*SHARES, 0.999), seed=4))


def test_an_image_smaller_than_the_grid_has_a_patch_a_pixel():
    assert hidden_last(6, 4, (0.5,), seed=0).sum() == 12


def test_an_encoder_without_a_masked_forward_reads_the_painted_image():
    encoder = Upright()
    found = masked_versions(encoder, noise(), seed=1)
    assert found.how == PAINTED
    whole = encoder.encode_gaussians(encoder.preprocess(noise())[None])
    assert found.uncertainty[0] == whole.uncertainty.item()
    assert found.inclusion[0] == 0
    assert abs(found.similarity[0] - 1) < 1e-5
    assert found.images[0].size == (6, 6)
    assert found.images[0].tobytes() == noise().resize((6, 6)).tobytes()
    assert found.images[-1].getextrema() != found.images[0].getextrema()


def test_prolip_reads_only_the_patches_that_are_shown(tmp_path):
    encoder, image = tiny_encoder(tmp_path / "words"), noise((64, 64))
    found = masked_versions(encoder, image, seed=2, shares=(0.0, 0.5))
    assert found.how == LEFT_OUT
    pixels = encoder.preprocess(image)[None]
    whole = encoder.encode_gaussians(pixels)
    half = encoder.encode_gaussians(pixels, 0.5, torch.Generator().manual_seed(2))
    assert_close(torch.tensor(found.uncertainty), torch.cat([whole.uncertainty, half.uncertainty]))
    assert_close(torch.tensor(found.inclusion[1]), log_inclusion(whole, half)[0])


def test_what_prolip_shows_as_hidden_it_does_not_see(tmp_path):
    encoder = tiny_encoder(tmp_path / "words")
    assert isinstance(encoder, ShowsMask)
    pixels = torch.randn(2, 3, *encoder.preprocess(noise()).shape[1:])
    seen = encoder.seen_pixels(pixels, 0.4, torch.Generator().manual_seed(5))
    other = torch.where(seen.isnan(), torch.randn_like(pixels), pixels)
    assert not torch.equal(other, pixels)
    read = [encoder.encode_gaussians(each, 0.4, torch.Generator().manual_seed(5)) for each in (pixels, other)]
    assert_close(read[0].mean, read[1].mean)
    assert_close(read[0].log_variance, read[1].log_variance)
    changed = torch.where(seen.isnan(), pixels, torch.randn_like(pixels))
    differs = encoder.encode_gaussians(changed, 0.4, torch.Generator().manual_seed(5))
    assert not torch.allclose(differs.mean, read[0].mean)


def test_the_same_seed_gives_the_same_masks():
    first, second, third = (masked_versions(ToyGaussians(), noise(), seed).uncertainty for seed in (1, 1, 2))
    assert first == second
    assert first != third


def test_a_plain_image_keeps_its_colour():
    (image,) = masked_versions(Upright(), Image.new("RGB", (9, 9), (10, 200, 90)), shares=(0.0,)).images
    assert image.tobytes() == bytes((10, 200, 90)) * 36


class Crops(ToyGaussians, MiniProlip):
    """The toy, which sees a crop of a masked image as mini-prolip does."""

    preprocess = Upright.preprocess

    def encode_gaussians(self, pixels, keep=None, generator=None):
        seen = pixels if keep is None else cropped(pixels, keep, generator)
        return self.image_gaussians(self.encode_images(seen))


def test_mini_prolip_is_shown_with_the_crop_that_it_reads():
    encoder, image = Crops(), noise()
    found = masked_versions(encoder, image, seed=4, shares=(0.0, 0.75))
    assert found.how == CROPPED
    pixels = encoder.preprocess(image)[None]
    crop = cropped(pixels, 0.25, torch.Generator().manual_seed(4))
    assert_close(found.uncertainty[1], float(encoder.encode_gaussians(crop).uncertainty))
    shown = torch.tensor(list(found.images[1].tobytes())).reshape(6, 6, 3).permute(2, 0, 1)
    assert_close(shown.float(), (crop[0] + 1) * 127.5, atol=0.6, rtol=0)
