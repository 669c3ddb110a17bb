from fractions import Fraction

import pytest

from hybriddp.errors import ParameterError
from hybriddp.privacy import Neighbours, Privacy


def test_decimals_are_exact_and_canonical() -> None:
    p = Privacy(epsilon=0.1, delta=1e-7)
    assert (p.epsilon, p.delta) == ("0.1", "0.0000001")
    assert (p.exact_epsilon, p.exact_delta) == (Fraction(1, 10), Fraction(1, 10**7))
    assert Privacy(epsilon="1.00", delta="0.0") == Privacy(epsilon=1)
    assert "replaced" in Neighbours.REPLACE_ONE.value


@pytest.mark.parametrize("delta", [-1e-9, 1, 1.5, float("nan"), float("inf"), "x", None, True, [0]])
def test_bad_deltas_are_named(delta: object) -> None:
    with pytest.raises(ParameterError, match="^delta must be 0 or a number between 0 and 1"):
        Privacy(epsilon=1, delta=delta)
