from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import ParameterError
from hybriddp.privacy import NEIGHBORS, SHIFT, Privacy, canonical_epsilon, is_canonical, odds
from tests.refusals import refused

epsilons = st.decimals("0.01", "20", places=6).map(canonical_epsilon)


def test_decimals_are_exact_and_canonical() -> None:
    p = Privacy(epsilon=0.1, delta=1e-7)
    assert (p.epsilon, p.delta) == ("0.1", "0.0000001")
    assert (p.exact_epsilon, p.exact_delta) == (Fraction(1, 10), Fraction(1, 10**7))
    assert Privacy(epsilon="1.00", delta="0.0") == Privacy(epsilon=1)
    assert "replaced" in NEIGHBORS


@pytest.mark.parametrize("zero", [0, 0.0, -0.0, "-0", "0e5", "-0.00", Decimal("-0"), np.float32(0), np.int64(0)])
def test_zero_is_one_delta_however_it_is_written(zero: object) -> None:
    assert Privacy(epsilon=1, delta=zero) == Privacy(epsilon=1)
    assert Privacy.total(epsilon=1, delta=zero).delta == "0"


def test_every_kind_of_number_is_a_delta() -> None:
    for value in (0.125, "0.125", ".125", "1.25e-1", Decimal("0.1250"), np.float32(0.125), np.float64(0.125)):
        assert Privacy(epsilon=".5", delta=value).delta == "0.125"


ODD = ["1_0e-3", " 1e-6", "1e-6 ", "\u0660.\u0661", "+0.1", "", ".", "nan", "1e-9999999999", np.bool_(False)]


@pytest.mark.parametrize("delta", [*ODD, -1e-9, 1, 1.5, float("nan"), float("inf"), "x", None, True, [0]])
def test_bad_deltas_are_named(delta: object) -> None:
    refused(ParameterError, "^delta must be 0 or a number between 0 and 1", Privacy, epsilon=1, delta=delta)


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
    refused(ParameterError, r"^epsilon must be a number from 0\.01 to 20, got epsilon=", canonical_epsilon, bad)


def test_too_large_an_epsilon_comes_with_a_remedy() -> None:
    refused(ParameterError, "hardly randomized at all: ask for the raw value", canonical_epsilon, 20.5)


def test_an_endless_decimal_is_refused() -> None:
    refused(ParameterError, "at most 24 characters", canonical_epsilon, "1.0000000000000000000000000001")


@pytest.mark.parametrize(
    "text", ["1.0", "01", "+1", "1e0", " 1", "", "0", "21", "0.009", "20.000000000000000000001", 1, None, "½"]
)
def test_other_spellings_are_not_canonical(text: object) -> None:
    assert not is_canonical(text)
