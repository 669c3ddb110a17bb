import math

import numpy as np
import pytest
from scipy import integrate, stats

from hybriddp.mean.interval import Noise


@pytest.mark.parametrize(
    ("normal", "laplace"), [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.05), (1.0, 5e-4), (0.01, 1.0), (1e-30, 1.0)]
)
@pytest.mark.parametrize("y", [-3.0, -0.5, 0.0, 0.7, 4.0])
def test_the_distribution_is_the_convolution(normal: float, laplace: float, y: float) -> None:
    if laplace == 0:
        expected = stats.norm.cdf(y, scale=normal**0.5)
    elif normal < 1e-20:
        expected = stats.laplace.cdf(y, scale=laplace)
    else:
        s = normal**0.5
        expected = integrate.quad(
            lambda u: stats.laplace.cdf(y - u, scale=laplace) * stats.norm.pdf(u, scale=s),
            -10 * s,
            10 * s,
            points=[y] if abs(y) < 10 * s else None,
        )[0]
    both_tails = 2 * min(expected, 1 - expected)
    assert float(Noise(normal, laplace).exceeds(y)) == pytest.approx(both_tails, abs=4e-7)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_the_half_width_is_the_quantile(level: float) -> None:
    noise = Noise(0.3, 0.7)
    half = noise.half_width(level)
    assert float(noise.exceeds(half)) == pytest.approx(1 - level, abs=1e-9)
    rng = np.random.default_rng(0)
    drawn = 0.3**0.5 * rng.standard_normal(1_000_000) + rng.laplace(0, 0.7, 1_000_000)
    inside = np.mean(np.abs(drawn) <= half)
    assert abs(inside - level) < 5.4 * math.sqrt(level * (1 - level) / 1e6)


def test_no_noise_has_no_width() -> None:
    assert Noise(0.0, 0.0).half_width(0.95) < 1e-9
    assert Noise(2.0, 1.0).variance == 4.0
