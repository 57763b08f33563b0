"""Inclusion against numerical integration, the published values, and pairs one at a time."""

import math

import pytest
import torch
from scipy.integrate import quad
from torch.testing import assert_close

from core.prolip.inclusion import (
    EPSILON,
    form_of,
    inclusion_by_dimension,
    inclusion_matrix,
    log_inclusion,
    log_overlap,
    overlap_by_dimension,
    overlap_matrix,
    tiles,
)
from core.values import ProlipEmbeddings
from tests.prolip.gaussians import EXACT, published, published_pair, random_gaussians


def integrated(mean_a, variance_a, mean_b, variance_b) -> float:
    """log∫pa²pb of two Gaussians on a line, by quadrature."""

    def density(z, mean, variance):
        return math.exp(-((z - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)

    middle, reach = (mean_a + mean_b) / 2, abs(mean_a - mean_b) + 12 * math.sqrt(max(variance_a, variance_b))
    value, _ = quad(
        lambda z: density(z, mean_a, variance_a) ** 2 * density(z, mean_b, variance_b),
        middle - reach,
        middle + reach,
        points=[mean_a, mean_b],
        epsabs=0,
        epsrel=1e-12,
        limit=400,
    )
    return math.log(value)


def multiplied_out(a, b, epsilon):
    """The published test as it is written there: precisions times e^ε, and the square completed."""
    first, second = (-a.log_variance + epsilon).exp(), (-b.log_variance + epsilon).exp()
    square = first + second / 2
    linear = 2 * a.mean * first + b.mean * second
    rest = a.mean**2 * first + b.mean**2 * second / 2
    return -2 * a.log_variance - b.log_variance - square.log() / 2 + linear**2 / (4 * square) - rest


def test_exact_overlap_and_inclusion_are_the_integrals():
    a, b = random_gaussians(4, 3), random_gaussians(4, 3, seed=1)
    values = [each.flatten().tolist() for each in (a.mean, a.variance, b.mean, b.variance)]
    there = torch.tensor([integrated(*each) for each in zip(*values, strict=True)], dtype=torch.float64)
    back = torch.tensor([integrated(*each[2:], *each[:2]) for each in zip(*values, strict=True)], dtype=torch.float64)
    assert_close(overlap_by_dimension(a, b), there.view(4, 3), **EXACT)
    assert_close(inclusion_by_dimension(a, b), (there - back).view(4, 3), **EXACT)


def test_exact_inclusion_is_the_reference():
    values = published("inclusion_exact")
    a, b = (ProlipEmbeddings(values[f"mean{k}"], values[f"logvar{k}"]) for k in (1, 2))
    assert_close(log_inclusion(a, b), values["H_1_in_2"], **EXACT)


def test_the_official_value_is_the_published_one():
    values = published("loss")
    images, texts = published_pair(values)
    there, back = (overlap_by_dimension(*pair, form_of(official=True)) for pair in ((images, texts), (texts, images)))
    assert_close(there, values["inclusion_image_in_text"], **EXACT)
    assert_close(back, values["inclusion_text_in_image"], **EXACT)
    difference = (values["inclusion_image_in_text"] - values["inclusion_text_in_image"]).sum(dim=1)
    assert_close(log_inclusion(images, texts, official=True), difference, **EXACT)
    assert not torch.allclose(log_inclusion(images, texts), difference, rtol=0.1)


@pytest.mark.parametrize("epsilon", [0.0, EPSILON])
def test_the_official_form_is_the_published_one_multiplied_out(epsilon):
    a, b = random_gaussians(5), random_gaussians(5, seed=1)
    assert_close(overlap_by_dimension(a, b, form_of(True, epsilon)), multiplied_out(a, b, epsilon))


def test_inclusion_changes_sign_when_the_two_change_places():
    a, b = random_gaussians(6), random_gaussians(6, seed=1)
    for official in (False, True):
        assert_close(log_inclusion(a, b, official=official), -log_inclusion(b, a, official=official))


def test_the_wider_includes_the_narrower_and_distance_only_adds():
    narrow = random_gaussians(1, level=-4.0)
    wide = ProlipEmbeddings(narrow.mean, narrow.log_variance + 1)
    farther = ProlipEmbeddings(-narrow.mean, wide.log_variance)
    assert float(log_inclusion(narrow, farther)) > float(log_inclusion(narrow, wide)) > 0
    assert float(log_overlap(narrow, farther)) < float(log_overlap(narrow, wide))


@pytest.mark.parametrize("official", [False, True])
@pytest.mark.parametrize("budget", [1, 100, 10**6])
def test_the_matrix_is_the_pairs_one_at_a_time(official, budget):
    a, b = random_gaussians(5), random_gaussians(8, seed=1)
    inclusion = torch.stack([log_inclusion(a[i], b, official=official) for i in range(5)])
    overlap = torch.stack([log_overlap(a[i], b, official=official) for i in range(5)])
    assert_close(inclusion_matrix(a, b, official=official, budget=budget), inclusion)
    assert_close(overlap_matrix(a, b, official=official, budget=budget), overlap)


def test_an_empty_side_gives_an_empty_matrix():
    nothing, some = random_gaussians(3)[:0], random_gaussians(4)
    assert inclusion_matrix(nothing, some).shape == (0, 4)
    assert inclusion_matrix(some, nothing).shape == (4, 0)


def test_tiles_cover_every_entry_once_within_the_budget():
    covered = torch.zeros(13, 29)
    for rows, columns in tiles(13, 29, 5, budget=130):
        covered[rows, columns] += 1
        assert (rows.stop - rows.start) * (columns.stop - columns.start) * 5 <= 130
    assert bool((covered == 1).all())


def test_gaussians_of_different_sizes_are_refused():
    with pytest.raises(ValueError, match="of 7 and of 6 dimensions"):
        inclusion_matrix(random_gaussians(2, 7), random_gaussians(2, 6))
