import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.channels import UnaryEncoding
from hybriddp.errors import ProtocolError
from hybriddp.privacy import SHIFT, canonical_epsilon, odds
from tests.levels import z_limit

epsilons = st.decimals("0.01", "20", places=3).map(canonical_epsilon)


@given(epsilons)
def test_the_weights_are_private_and_one_less_would_not_be(epsilon: str) -> None:
    channel = UnaryEncoding(epsilon=epsilon, n_categories=3)
    assert channel.one == 1 << 31
    # Exactly: (P/Q) · (2^32 - Q)/(2^32 - P) <= e^ε, and with P = 2^31 it is (2^32 - Q)/Q.
    assert ((1 << 32) - channel.zero) << SHIFT <= channel.zero * odds(epsilon)
    with pytest.raises(ProtocolError, match="-private"):
        UnaryEncoding.of(epsilon=epsilon, n_categories=3, one=channel.one, zero=channel.zero - 1)


@pytest.mark.statistical
def test_bits_are_set_as_often_as_they_should() -> None:
    channel = UnaryEncoding(epsilon=1, n_categories=19)
    n = 200_000
    reports = channel.sample(np.full(n, 11))
    assert reports.shape == (n, 3)
    ones = channel.ones(reports)
    for category in range(19):
        p = (channel.one if category == 11 else channel.zero) / 2**32
        sd = math.sqrt(n * p * (1 - p))
        assert abs(ones[category] - n * p) < z_limit(19) * sd
        assert abs(ones[category] - 0.8 * n * p) > z_limit(19) * sd


def test_the_unused_bits_are_zero() -> None:
    reports = UnaryEncoding(epsilon=1, n_categories=9).sample(np.zeros(1000, int))
    assert not np.any(reports[:, 1] & 0b1111_1110)
