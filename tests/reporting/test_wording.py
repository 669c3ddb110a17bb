import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.reporting.wording import percent, significant, to_precision_of


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (67_843, 5_312, "67,800"),
        (5_312, 5_312, "5,300"),
        (0.5, 0.0312, "0.500"),
        (12, 9.97, "12"),
        (9.97, 9.97, "10"),
        (-3, 120, "0"),
        (1e6, 12_345_678, "1,000,000"),
        (3.0, math.inf, "3"),
        (math.nan, 1.0, "unknown"),
        (1e-15, 1e-16, "1e-15"),
    ],
)
def test_a_value_ends_where_its_error_does(value: float, error: float, text: str) -> None:
    assert to_precision_of(value, error) == text


@given(value=st.floats(-1e9, 1e9), error=st.floats(1e-6, 1e9))
def test_what_is_written_is_within_a_twentieth_of_an_error(value: float, error: float) -> None:
    shown, off = (float(to_precision_of(x, error).replace(",", "")) for x in (value, error))
    assert abs(shown - value) <= 0.0501 * error + 1e-9 * abs(value)
    assert off == pytest.approx(error, rel=0.051)


@given(value=st.floats(1e-9, 1e12), digits=st.integers(1, 6))
def test_single_numbers_keep_their_digits(value: float, digits: int) -> None:
    assert float(significant(value, digits).replace(",", "")) == pytest.approx(value, rel=0.51 * 10 ** (1 - digits))


@pytest.mark.parametrize(
    ("value", "digits", "text"), [(1.23456e-9, 6, "1.23456e-09"), (1.5e300, 3, "1.5e+300"), (-2e15, 12, "-2e+15")]
)
def test_very_small_and_very_large_numbers_have_exponents(value: float, digits: int, text: str) -> None:
    assert significant(value, digits) == text
    assert len(to_precision_of(value, value / 7)) < 15


def test_what_has_no_error_keeps_what_it_has() -> None:
    assert to_precision_of(40.6182, 0.0) == "40.6182"
    assert to_precision_of(math.inf, 1.0) == "∞"
    assert to_precision_of(-math.inf, 1.0) == "-∞"
    assert significant(1e300, 2) != "0"
    assert percent(0.00042) == "0.042 %"
