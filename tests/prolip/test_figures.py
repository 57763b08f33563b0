"""Figures of images with captions, on Gaussians whose answers are known."""

import pytest
import torch

from core.prolip.figures import caption_figures
from core.prolip.inclusion import log_inclusion
from core.values import ProlipEmbeddings
from tests.prolip.gaussians import random_gaussians

N, LEVELS = 5, 3
CHAINS = [[f"level {level} of {number}" for level in range(LEVELS)] for number in range(N)]


def nested():
    """Captions with their image's own mean, the wider the more general."""
    means = torch.eye(6, dtype=torch.float64)[:N]

    def wide(level):
        return ProlipEmbeddings(means, torch.full_like(means, level))

    return wide(-6.0), [wide(-1.0), wide(-2.0), wide(-3.0)], random_gaussians(1, 6)


def test_nested_captions_have_every_figure_at_its_best():
    images, levels, empty = nested()
    found = caption_figures(images, levels, CHAINS, empty)
    assert found["general_more_uncertain"] == found["in_own_caption"] == found["recall_at_1"] == 1.0
    assert found["level_2_in_level_1"] == pytest.approx(float(log_inclusion(levels[1], levels[0]).mean()))
    assert found["level_3_in_level_2"] > 0
    assert [found[f"uncertainty_of_level_{k}"] for k in (1, 2, 3)] == pytest.approx(
        [6 * 2.718281828**-k for k in (1, 2, 3)]
    )
    assert found["recall_inclusive_root"] == pytest.approx(1 / LEVELS)  # nearest caption and root are one


def test_an_image_in_others_captions_is_counted_apart():
    images, levels, empty = nested()
    narrow = ProlipEmbeddings(levels[-1].mean, torch.full_like(levels[-1].mean, -9.0))
    narrow.log_variance[0] = 0.0  # the first image's caption alone takes anything in
    found = caption_figures(images, [*levels[:-1], narrow], CHAINS, empty)
    assert found["in_own_caption"] == pytest.approx(1 / N)
    assert found["in_another_caption"] == pytest.approx((N - 1) / (N * (N - 1)))
    own = log_inclusion(images, narrow)
    above = [float(own[i] > log_inclusion(images[i], narrow[j])) for i in range(N) for j in range(N) if i != j]
    assert found["own_above_another"] == pytest.approx(sum(above) / len(above))
