import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from hybriddp.grid import UNITS
from hybriddp.privacy import Privacy
from hybriddp.release.mechanisms import draw, mechanism_for
from hybriddp.theory import gaussian_sigma


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.3", "1", "3", "20"])
def test_the_scale_is_the_smallest_that_opendps_own_map_allows(epsilon: str) -> None:
    mechanism = mechanism_for(Privacy(epsilon=epsilon))
    dp.enable_features("contrib")
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")

    def cost(scale: float) -> Fraction:
        return Fraction(dp.m.make_laplace(*space, scale=scale).map(UNITS))

    assert cost(mechanism.scale) <= Fraction(epsilon)
    assert cost(math.nextafter(mechanism.scale, 0.0)) > Fraction(epsilon)  # it is the smallest
    assert mechanism.scale == pytest.approx(UNITS / float(epsilon), rel=1e-15)
    assert mechanism.variance == pytest.approx(2 * (UNITS / float(epsilon)) ** 2, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.2, 1e-9)])
def test_gaussian_noise_keeps_the_promise_by_opendps_own_map(epsilon: float, delta: float) -> None:
    mechanism = mechanism_for(Privacy(epsilon=epsilon, delta=delta))
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    gaussian = dp.m.make_gaussian(*space, scale=mechanism.scale)
    assert dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gaussian), delta=delta).map(UNITS)[0] <= epsilon
    # The conversion is not tight: up to a fifth more noise than the analytic calibration of continuous noise.
    least = float(gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=float(UNITS)))
    assert least < mechanism.scale < 1.2 * least


def test_released_noise_is_laplace_at_the_claimed_scale() -> None:
    # Kolmogorov-Smirnov; a false alarm has probability 1e-7. The grid is a ten-millionth of the scale.
    privacy = Privacy(epsilon="0.5")
    mechanism = mechanism_for(privacy)
    noise = np.array([draw(mechanism, privacy, None) for _ in range(20_000)]) / mechanism.scale
    assert stats.kstest(noise, stats.laplace.cdf).pvalue > 1e-7
    assert stats.kstest(1.2 * noise, stats.laplace.cdf).pvalue < 1e-7
    many = np.array([draw(mechanism, privacy, seed) for seed in range(4000)]) / mechanism.scale
    assert stats.kstest(many, stats.laplace.cdf).pvalue > 1e-7


def test_released_noise_is_gaussian_where_delta_is_positive() -> None:
    privacy = Privacy(epsilon=1, delta=1e-6)
    mechanism = mechanism_for(privacy)
    noise = np.array([draw(mechanism, privacy, None) for _ in range(15_000)]) / mechanism.scale
    assert stats.kstest(noise, stats.norm.cdf).pvalue > 1e-7
    assert stats.kstest(1.2 * noise, stats.norm.cdf).pvalue < 1e-7
    assert mechanism.variance == mechanism.scale**2
    simulated = np.array([draw(mechanism, privacy, seed) for seed in range(5000)]) / mechanism.scale
    assert stats.kstest(simulated, stats.norm.cdf).pvalue > 1e-7
    assert stats.kstest(1.2 * simulated, stats.norm.cdf).pvalue < 1e-7


def test_a_seed_repeats() -> None:
    privacy = Privacy(epsilon=1)
    assert draw(mechanism_for(privacy), privacy, 3) == draw(mechanism_for(privacy), privacy, 3)


def test_drawing_noise_imports_no_machine_learning() -> None:
    program = (
        "import sys; from hybriddp.release.mechanisms import import_opendp; import_opendp(); "
        "print(sorted({'sklearn', 'opendp.prelude'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
