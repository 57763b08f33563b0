"""Values that pass between the stages: what is made of them keeps its rows together.

Axes: N rows · D joint embedding size.
"""

import pytest
import torch
from torch.testing import assert_close

from core.values import Features, ProlipEmbeddings
from tests.small import generator, normal, random_features

N, D = 7, 3
INDICES = [slice(2, 6), [4, 4, 0], torch.tensor([6, 1]), torch.tensor([True, False, True, False, True, False, False])]


def features() -> Features:
    rng = generator()
    return Features(normal(N, 5, rng=rng), normal(N, D, rng=rng), normal(N, D, rng=rng))


def gaussians() -> ProlipEmbeddings:
    rng = generator()
    mean = normal(N, D, rng=rng)
    return ProlipEmbeddings(mean / mean.norm(dim=1, keepdim=True), normal(N, D, rng=rng))


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_rows_of_features_stay_together(index):
    whole, some = features(), features()[index]
    for name, part in whole.parts().items():
        assert_close(getattr(some, name), part[index])


def test_features_are_joined_and_converted_with_all_they_have():
    whole = features()
    joined = Features.cat([whole[:2], whole[2:]]).to(torch.float32)
    for name, part in whole.parts().items():
        assert_close(joined.parts()[name], part.float())
    assert random_features(N).parts().keys() == {"activations"}


def test_parts_of_different_encoders_are_not_joined():
    with pytest.raises(AssertionError, match="same tensors"):
        Features.cat([features(), random_features(N)])


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_some_gaussians_are_gaussians(index):
    some = gaussians()[index]
    assert_close(some.mean, gaussians().mean[index])
    assert_close(some.log_variance, gaussians().log_variance[index])


@pytest.mark.parametrize("at", [0, 3, -1])
def test_one_gaussian_is_a_set_of_one(at):
    one = gaussians()[at]
    assert len(one) == 1
    assert_close(one.mean[0], gaussians().mean[at])


def test_uncertainty_is_the_sum_of_the_variances():
    found = gaussians()
    assert (len(found), found.dimension) == (N, D)
    expected = [sum(float(value.exp()) for value in row) for row in found.log_variance]
    assert_close(found.uncertainty, torch.tensor(expected, dtype=torch.float64))
    assert_close(found.variance.sum(dim=1), found.uncertainty)


def test_gaussians_are_joined_in_order():
    whole = gaussians()
    joined = ProlipEmbeddings.joined([whole[:3], whole[3], whole[4:]]).to(torch.float32)
    assert_close(joined.mean, whole.mean.float())
    assert_close(joined.log_variance, whole.log_variance.float())


@pytest.mark.parametrize("shapes", [((2, 3), (2, 4)), ((3,), (3,)), ((2, 3), (1, 3))])
def test_moments_of_different_shapes_are_refused(shapes):
    with pytest.raises(ValueError, match=r"\[N, D\]"):
        ProlipEmbeddings(*map(torch.zeros, shapes))
