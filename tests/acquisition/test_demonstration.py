"""Joint draws estimate EPIG; independent draws show nothing but a bias that falls as 1/K."""

import pytest

from core.acquisition.demonstration import joint_and_independent


@pytest.mark.parametrize("seed", range(3))
def test_joint_epig_stays_put_while_independent_draws_fall_as_one_over_k(seed):
    points = joint_and_independent(seed)
    joint, independent = ({each.K: getattr(each, name) for each in points} for name in ("joint", "independent"))
    print("\n" + "\n".join(f"K = {p.K:6}: joint {p.joint:.5f}, independent {p.independent:.7f} nats" for p in points))
    for K in joint:
        assert joint[K] == pytest.approx(joint[10_000], rel=0.25)
    assert 30 < independent[100] / independent[10_000] < 300, "100 times the draws, about a hundredth of the bias"
    assert independent[10_000] < joint[10_000] / 100
