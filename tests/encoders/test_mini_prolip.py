"""The offline ProLIP as shipped, and the parts it is trained from."""

import random
from itertools import pairwise

import pytest
import torch
from PIL import Image
from torch.testing import assert_close

from core.curvatures import factors_for
from core.data.pairs import read_captions
from core.encoders import GaussianEncoder, load_encoder
from core.encoders.mini import load_mini
from core.encoders.mini_prolip import SHIPPED, cropped
from core.encoders.mini_prolip_data import Material, draw, vaguer
from core.encoders.train_mini_prolip import MiniProlipConfig, held_out_figures, objective, train
from core.posterior.laplace import fit
from core.prolip.inclusion import log_inclusion
from tests.small import generator, normal

LIMIT = 5_000_000  # bytes of everything that ships
CHAIN = ("animal", "dog", "dog with a ball", "A small brown dog runs over wet grass with a red ball in its mouth.")


@pytest.fixture(scope="module")
def encoder():
    return load_encoder("mini-prolip", "cpu")


def pixels(count=3, size=224):
    return normal(count, 3, size, size, rng=generator(0)).float()


def test_what_ships_is_small_and_described():
    files = [path for path in SHIPPED.iterdir() if path.is_file()]
    assert {path.name for path in files} == {"heads.safetensors", "curvature.safetensors", "CARD.md"}
    assert sum(path.stat().st_size for path in files) < LIMIT


def test_it_is_a_gaussian_encoder(encoder):
    assert isinstance(encoder, GaussianEncoder)
    assert encoder.name == "mini-prolip"
    assert encoder.fingerprint not in ("", load_mini().fingerprint)
    assert (encoder.logit_scale, encoder.logit_bias) == (encoder.heads.scale, encoder.heads.bias)
    assert encoder.preprocess(Image.new("RGB", (300, 250))).shape == (3, 224, 224)


def test_uncertainty_falls_from_general_to_specific(encoder):
    levels = encoder.text_gaussians(CHAIN)
    general, *_, specific = levels.uncertainty.tolist()
    assert general > specific
    assert log_inclusion(levels[1], levels[0]) > 0, "a dog is an animal"


def test_features_carry_what_the_gaussians_are_made_of(encoder):
    features = encoder.encode_images(pixels())
    gaussians = encoder.image_gaussians(features)
    assert_close(gaussians.mean, torch.nn.functional.normalize(features.activations @ encoder.heads.image.T, dim=1))
    assert_close(gaussians.log_variance, features.log_variance)
    assert_close(encoder.encode_gaussians(pixels()).mean, gaussians.mean)


def test_its_curvature_ships_and_makes_a_posterior(encoder):
    image, text = factors_for("mini-prolip", encoder)
    assert image.n == text.n == 1800
    posterior = fit(encoder.heads, image, text, tau=5.0, fingerprint=encoder.fingerprint)
    assert posterior.fingerprint == encoder.fingerprint


def test_over_long_and_odd_texts_are_read(encoder):
    long, empty = encoder.read_texts([" ".join(["word"] * 300), ""])
    assert long.cut
    assert len(long.kept.split()) == long.limit < long.tokens == 300
    assert not empty.cut
    assert empty.kept == ""
    assert encoder.text_gaussians(["", "🐈", "word " * 300]).mean.isfinite().all()


def test_a_crop_keeps_its_share_and_smaller_ones_lie_within_larger_ones():
    ramp = torch.arange(64.0).expand(1, 3, 64, 64)  # each pixel says its column
    spans = []
    for keep in (0.04, 0.25, 0.6, 1.0):
        part = cropped(ramp, keep, torch.Generator().manual_seed(3))
        assert part.shape == ramp.shape
        spans.append((float(part.min()), float(part.max())))
        assert abs((spans[-1][1] - spans[-1][0] + 1) / 64 - keep**0.5) < 0.03
    assert all(outer[0] <= inner[0] and inner[1] <= outer[1] for inner, outer in pairwise(spans))


@pytest.mark.parametrize("keep", [0.0, -1.0, 1.5])
def test_no_other_share_can_be_kept(keep):
    with pytest.raises(ValueError, match="share"):
        cropped(pixels(1, 8), keep)


def test_a_vaguer_text_is_more_general_or_a_quarter_of_the_words():
    rng = random.Random(0)
    assert {vaguer(CHAIN, 1, rng) for _ in range(9)} == {"animal"}
    found = {vaguer(CHAIN, 3, rng) for _ in range(200)}
    assert set(CHAIN[:3]) < found
    words = CHAIN[3].split()
    for text in found - set(CHAIN[:3]):
        assert len(text.split()) == round(len(words) / 4)
        positions = [words.index(word) for word in text.split() if words.count(word) == 1]
        assert positions == sorted(positions)


def material(n=24, m=6):
    rng = generator(0)

    def some(*shape):
        return normal(*shape, rng=rng).float()

    return Material(
        images=some(2, n, 1280),
        crops=some(4, n, 1280),
        captions=some(4, n, 384),
        masked=some(3, 5, n, 384),
        named=some(2, m, 1280),
        names=some(5, m, 384),
    )


def test_a_batch_pairs_each_caption_with_its_image_and_twins():
    given, rng = material(), torch.Generator().manual_seed(0)
    batch = draw(given, 10, 4, (0.1, 0.2, 0.3, 0.4), rng)
    assert batch.images.shape == (14, 1280)
    assert batch.captioned == 10
    for pair in range(10):
        row = int((given.images == batch.images[pair]).all(dim=2).any(dim=0).nonzero())
        level = int((given.captions[:, row] == batch.texts[pair]).all(dim=1).nonzero())
        assert (pair in batch.where) == (level > 0)
        if level:
            twin = int((batch.where == pair).nonzero())
            assert (given.crops[:, row] == batch.crops[twin]).all(dim=1).any()
            assert (given.masked[level - 1, :, row] == batch.vaguer[twin]).all(dim=1).any()


def test_training_lowers_the_objective_and_the_seed_decides_it():
    given = material()
    config = MiniProlipConfig(steps=30, captioned=16, named=4, dropout=0.0)
    heads, again = train(given, config), train(given, config)
    for name, tensor in heads.tensors().items():
        assert torch.equal(tensor, again.tensors()[name])
    batch = draw(given, 16, 4, config.level_shares, torch.Generator().manual_seed(9))
    untrained = train(given, MiniProlipConfig(steps=1, learning_rate=1e-12, dropout=0.0))
    before, after = (
        objective(each, batch, config, torch.Generator().manual_seed(1)).item() for each in (untrained, heads)
    )
    assert after < before / 2


def test_figures_on_the_rows_held_out(shared, encoder):
    """Two hundred images with four captions each, none of which it was trained on."""
    rows = read_captions(shared / "data" / "coco_hierarcaps")[-200:]
    figures = held_out_figures(encoder, rows)
    assert figures["general_more_uncertain"] >= 0.8
    assert all(figures[f"level_{k + 1}_in_level_{k}"] > 0 for k in (1, 2, 3))
    assert figures["in_own_caption"] > figures["in_another_caption"] + 0.5
    assert figures["own_above_another"] > 0.9
    assert figures["recall_inclusive_root"] > figures["recall_empty_root"]
    assert figures["in_own_crop"] > 0.95


def test_zero_shot_on_pacs_photos_is_as_good_as_minis(shared, encoder):
    """Every fourth photo of PACS, which no head was trained on; mini gets nine in ten right."""
    from core.images import read_image

    files = sorted((shared / "data" / "pacs" / "photo").glob("*/*"))[::4]
    names = sorted({path.parent.name for path in files})
    images = [encoder.preprocess(read_image(path)) for path in files]
    means = [encoder.encode_gaussians(part).mean for part in torch.stack(images).split(8)]
    texts = encoder.text_gaussians([f"a photo of a {name}" for name in names]).mean
    found = torch.cat(means) @ texts.T
    truth = torch.tensor([names.index(path.parent.name) for path in files])
    assert (found.argmax(dim=1) == truth).double().mean() > 0.85
