import pytest
from scipy import stats

from hybriddp.errors import ParameterError
from hybriddp.theory import UC_SALARIES, Beta


@pytest.mark.parametrize(("alpha", "beta"), [(10, 10), (1, 1), (0.1, 0.1), (2, 50)])
def test_beta_moments_agree_with_scipy(alpha: float, beta: float) -> None:
    expected = stats.beta(alpha, beta)
    assert Beta(alpha, beta).mean == pytest.approx(expected.mean(), rel=1e-14)
    assert Beta(alpha, beta).variance == pytest.approx(expected.var(), rel=1e-14)
    assert Beta(alpha, beta).sd == pytest.approx(expected.std(), rel=1e-14)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "1", None])
def test_bad_shapes_are_named(bad: float) -> None:
    with pytest.raises(ParameterError, match="^alpha must be"):
        Beta(bad, 1)
    with pytest.raises(ParameterError, match="^beta must be"):
        Beta(1, bad)
    with pytest.raises(ParameterError, match="one, not an array"):
        Beta([1.0, 2.0], 1)


def test_the_salaries_are_the_three_printed_numbers() -> None:
    assert (UC_SALARIES.n_users, UC_SALARIES.width, UC_SALARIES.sd) == (252_540, 2_349_033, 53_254)
    assert UC_SALARIES.variance == 53_254**2
