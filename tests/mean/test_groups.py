"""What the reports of a group say about their own noise."""

import numpy as np
import pytest

from hybriddp.channels import WindowChannel
from hybriddp.grid import UNITS
from hybriddp.mean.weights import LocalStatistics
from hybriddp.simulation.crowd import Crowd, code_frequencies


@pytest.mark.parametrize("epsilon", [1.0, 8.0, 10.0, 14.0, 18.0, 20.0])
def test_the_noise_of_reports_is_not_reckoned_too_small_wherever_values_lie(epsilon: float) -> None:
    """Between two rows rounding adds more than on average: at ε = 18 intervals held a constant .5 in .89 of studies."""
    channel = WindowChannel(epsilon=epsilon)
    for x in np.append(np.linspace(0.0, 1.0, 257), 0.5):
        everybody = Crowd(np.array([round(x * UNITS)]), np.array([50]))
        found = LocalStatistics.of(code_frequencies(channel, everybody), 50, channel)
        assert found.noise >= (1 - 1e-3) * float(channel.variance(x))


def test_the_worst_rounding_is_halfway_between_the_two_farthest_rows() -> None:
    channel = WindowChannel(epsilon=20.0)
    rows = np.array([float(channel.row_mean(row)) for row in range(channel.n_rows)]) / 2
    gap = np.diff(rows).max()
    assert channel.worst_rounding_variance == pytest.approx((gap / 2) ** 2, rel=1e-3)
    assert channel.worst_rounding_variance == pytest.approx(1.5 * channel.rounding_variance, rel=0.05)
