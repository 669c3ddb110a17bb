import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import DataError
from hybriddp.shares.blend import blend, project_to_simplex
from hybriddp.shares.law import GroupShares

TRUSTED = GroupShares.of_counts(np.array([300.0, 690, 4, -3]), 1000, 8.0)
LOCAL = GroupShares.of_reports(np.array([0.29, 0.7, 0.03, -0.02]), 20_000, hit=0.5, miss=0.27)


def test_weights_are_those_of_the_variances_at_the_blend() -> None:
    """Three rounds by hand, one category at a time."""
    found = blend(TRUSTED, LOCAL)
    for i in range(4):
        f_t, f_l = TRUSTED.shares[i], LOCAL.shares[i]
        f = min(max(f_l, 0.0), 1.0)
        for _ in range(3):
            r = 0.27 + 0.23 * f
            v_t = f * (1 - f) / 1000 + 8 / 1000**2
            v_l = r * (1 - r) / (20_000 * 0.23**2)
            w = v_l / (v_t + v_l)
            x = w * f_t + (1 - w) * f_l
            f = min(max(x, 0.0), 1.0)
        assert found.weight[i] == pytest.approx(w)
        assert found.shares[i] == pytest.approx(x)


def test_its_standard_error_is_that_of_the_best_weight() -> None:
    found = blend(TRUSTED, LOCAL)
    f = np.clip(found.shares, 0, 1)
    v_t, v_l = TRUSTED.variance(f), LOCAL.variance(f)
    best = np.sqrt(v_t * v_l / (v_t + v_l))
    np.testing.assert_allclose(found.law(population=True).standard_errors, best, rtol=1e-3)
    users = np.sqrt(best**2 - f * (1 - f) / 21_000)
    np.testing.assert_allclose(found.law().standard_errors, users, rtol=2e-3)


def test_both_groups_are_less_sure_alone() -> None:
    both = blend(TRUSTED, LOCAL)
    f = np.clip(both.shares, 0, 1)
    for alone in (blend(TRUSTED, None), blend(None, LOCAL)):
        assert np.all(alone.law(population=True).variance(f) > both.law(population=True).variance(f))


def test_one_group_keeps_its_shares() -> None:
    for trusted, local, weight in ((TRUSTED, None, 1.0), (None, LOCAL, 0.0)):
        found = blend(trusted, local)
        group = trusted or local
        assert group is not None
        assert np.array_equal(found.shares, group.shares)
        assert set(found.weight) == {weight}
        assert found.divergence is None
        np.testing.assert_allclose(found.law().standard_errors ** 2, group.noise + group.slope * group.shares.clip(0))
        same = found.law_if_groups_differ()
        assert np.array_equal(same.estimate, group.shares)
    with pytest.raises(DataError, match="Both groups are empty"):
        blend(None, None)


def test_users_who_gave_no_shares_count_too() -> None:
    found = blend(None, LOCAL, n_users=25_000)
    assert np.all(found.law().standard_errors[:2] > blend(None, LOCAL).law().standard_errors[:2])
    with pytest.raises(DataError, match="One group gave no shares"):
        found.law_if_groups_differ()


def test_the_weight_yields_where_groups_clearly_differ() -> None:
    apart = GroupShares.of_counts(np.array([600.0, 395, 4, -3]), 1000, 8.0)
    kept, yielded = blend(apart, LOCAL, yields=False), blend(apart, LOCAL)
    c = 1 / 21
    assert yielded.divergence is not None
    assert yielded.divergence.differing.tolist() == [True, True, False, False]
    assert np.all(np.abs(yielded.weight - c)[:2] < 0.5 * np.abs(kept.weight - c)[:2])
    assert np.array_equal(yielded.weight[2:], kept.weight[2:])
    equal = c * apart.shares + (1 - c) * LOCAL.shares
    np.testing.assert_allclose(yielded.equal_shares, equal)
    assert np.all(np.abs(yielded.shares - equal)[:2] < np.abs(kept.shares - equal)[:2])


def test_alike_groups_keep_their_weights() -> None:
    assert np.array_equal(blend(TRUSTED, LOCAL).weight, blend(TRUSTED, LOCAL, yields=False).weight)


# The simplex


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=20))
def test_the_projection_is_the_nearest_distribution(shares: list[float]) -> None:
    """By its optimality conditions: one amount is taken from all that stay positive, at most that from the others."""
    x = np.array(shares)
    p = project_to_simplex(x)
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1)
    taken = x - p
    positive = taken[p > 1e-12]
    assert np.ptp(positive) < 1e-9
    assert np.all(taken <= positive.max() + 1e-9)
    np.testing.assert_allclose(project_to_simplex(p), p, atol=1e-12)
