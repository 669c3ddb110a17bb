from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import ParameterError
from hybriddp.odds import SHIFT, canonical_epsilon, is_canonical, odds

epsilons = st.decimals("0.01", "20", places=6).map(canonical_epsilon)


@given(epsilons)
def test_odds_are_below_the_exponential_by_less_than_a_part_in_2_to_the_88(epsilon: str) -> None:
    with localcontext(prec=80):
        exact = Decimal(epsilon).exp() * (1 << SHIFT)
        assert Decimal(odds(epsilon)) <= exact
        assert exact - Decimal(odds(epsilon)) < exact / (1 << 88)


@given(epsilons)
def test_canonical_decimals_are_fixed_points(epsilon: str) -> None:
    assert canonical_epsilon(epsilon) == epsilon
    assert is_canonical(epsilon)


@given(st.floats(0.01, 20))
def test_a_float_is_its_shortest_decimal(epsilon: float) -> None:
    assert float(canonical_epsilon(epsilon)) == epsilon


def test_every_kind_of_number_is_read() -> None:
    for value in (1, 1.0, "1", "1.00", Decimal("1.0"), np.float32(1), np.int64(1)):
        assert canonical_epsilon(value) == "1"


@pytest.mark.parametrize(
    "bad", [0, -1, 0.0099, float("nan"), float("inf"), "x", "", None, True, [1], 1 + 0j, np.bool_(True)]
)
def test_bad_epsilons_are_named(bad: object) -> None:
    with pytest.raises(ParameterError, match=r"^epsilon must be a number from 0\.01 to 20, got epsilon="):
        canonical_epsilon(bad)


def test_too_large_an_epsilon_comes_with_a_remedy() -> None:
    with pytest.raises(ParameterError, match="hardly randomized at all: ask for the raw value"):
        canonical_epsilon(20.5)


def test_an_endless_decimal_is_refused() -> None:
    with pytest.raises(ParameterError, match="at most 24 characters"):
        canonical_epsilon("1.0000000000000000000000000001")


@pytest.mark.parametrize(
    "text", ["1.0", "01", "+1", "1e0", " 1", "", "0", "21", "0.009", "20.000000000000000000001", 1, None, "½"]
)
def test_other_spellings_are_not_canonical(text: object) -> None:
    assert not is_canonical(text)
