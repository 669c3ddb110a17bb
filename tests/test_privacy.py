from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hybriddp.errors import ParameterError
from hybriddp.privacy import Neighbors, Privacy


def test_decimals_are_exact_and_canonical() -> None:
    p = Privacy(epsilon=0.1, delta=1e-7)
    assert (p.epsilon, p.delta) == ("0.1", "0.0000001")
    assert (p.exact_epsilon, p.exact_delta) == (Fraction(1, 10), Fraction(1, 10**7))
    assert Privacy(epsilon="1.00", delta="0.0") == Privacy(epsilon=1)
    assert "replaced" in Neighbors.REPLACE_ONE.value


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
    with pytest.raises(ParameterError, match="^delta must be 0 or a number between 0 and 1"):
        Privacy(epsilon=1, delta=delta)
