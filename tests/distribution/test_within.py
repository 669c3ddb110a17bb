from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from scipy.interpolate import PchipInterpolator

from hybriddp.distribution.bins import Bins
from hybriddp.distribution.fit import DistributionFit
from hybriddp.distribution.quantile import cdf_value, histogram, quantile
from hybriddp.distribution.within import STRAIGHT, Curve, curve_of
from hybriddp.grid import Grid

EQUAL = Bins(Grid(0, 1))
LOG = Bins(Grid(0, 1), "log")
STEEP = stats.expon(scale=0.01)  # a third of the mass in the first bin of equal width


def _masses(bins: Bins, cdf: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return np.diff(cdf(bins.edges), prepend=0.0, append=1.0)


def _fit(masses: np.ndarray, users: float = np.inf) -> DistributionFit:
    return DistributionFit(masses, (np.diag(masses) - np.outer(masses, masses)) / users)


@pytest.mark.parametrize("bins", [EQUAL, LOG], ids=["equal", "log"])
@pytest.mark.parametrize("number", [1, 2, 5, 100, 253, 254])
def test_without_noise_it_is_the_monotone_cubic_of_scipy(bins: Bins, number: int) -> None:
    """Masses that fall all the way: the same curve as through all edges, at both bounds, too."""
    masses = np.concatenate([[0.1], bins.widths[1:-1] * np.geomspace(5.0, 1.0, 254), [0.05]])
    masses[1:-1] *= 0.85 / masses[1:-1].sum()
    fit = _fit(masses)
    cubic = PchipInterpolator(bins.edges, np.cumsum(masses)[:-1])
    curve, start, width = curve_of(fit, bins, number), bins.edges[number - 1], bins.widths[number]
    assert curve.weight == 1
    for place in (0.1, 0.5, 0.83):
        expected = (cubic(start + width * place) - cubic(start)) / masses[number]
        assert curve.share(place) == pytest.approx(float(expected), abs=1e-12)
        assert curve.place(curve.share(place)) == pytest.approx(place, abs=1e-12)
    assert (curve.share(0.0), curve.share(1.0)) == (0.0, 1.0)


def test_quantile_cdf_and_histogram_share_it() -> None:
    fit = _fit(_masses(EQUAL, STEEP.cdf), 10**6)
    for q in (0.05, 0.3, 0.5, 0.9):
        value = quantile(fit, EQUAL, q, 0.95).value
        assert cdf_value(fit, EQUAL, value, 0.95).value == pytest.approx(q, abs=1e-12)
        assert histogram(fit, EQUAL, [0, value])[0].fraction == pytest.approx(q, abs=1e-12)
        assert STEEP.cdf(value) == pytest.approx(q, abs=0.002)
    straight = EQUAL.edges[1] + EQUAL.widths[2] * (0.5 - fit.cdf[1]) / fit.masses[2]
    assert abs(STEEP.cdf(straight) - 0.5) > 0.005  # which a straight line misses


def test_noise_makes_it_straight() -> None:
    masses = _masses(EQUAL, STEEP.cdf)
    weights = [curve_of(_fit(masses, users), EQUAL, 2).weight for users in (10, 100, 10**4, 10**6)]
    assert weights[0] == 0
    assert weights == sorted(weights)
    step = (masses[3] - masses[1]) / EQUAL.widths[1]
    variance = (masses[1] + masses[3] - (masses[3] - masses[1]) ** 2) / 10**4 / EQUAL.widths[1] ** 2
    assert weights[2] == pytest.approx(1 - stats.chi2.ppf(0.95, 1) * variance / step**2)
    turned = DistributionFit(masses, np.zeros((256, 256)))
    object.__setattr__(turned, "linear", masses[::-1].copy())  # which falls where the isotonic one rises
    assert curve_of(turned, EQUAL, 2) == STRAIGHT


@pytest.mark.parametrize("number", [0, 20, 21, 22, 60, 61, 62, 63, 100, 101, 102, 200, 255])
def test_peaks_gaps_borders_and_what_is_even_stay_straight(number: int) -> None:
    """A step from 20 to 21, a gap from 61 on, and round numbers above 98: the density goes on nowhere."""
    masses = np.zeros(256)
    masses[:21], masses[21:61], masses[98:250:3] = 1.0, 3.0, 5.0
    fit = _fit(masses / masses.sum())
    assert curve_of(fit, EQUAL, number) == STRAIGHT


@pytest.mark.parametrize(("left", "right"), [(0.0, 0.0), (3.0, 3.0), (0.0, 3.0), (3.0, 0.0), (1.0, 1.0)])
def test_a_curve_never_falls(left: float, right: float) -> None:
    curve = Curve(left, right, 1.0)
    shares = [curve.share(place) for place in np.linspace(0, 1, 201)]
    assert np.all(np.diff(shares) >= -1e-15)
    assert STRAIGHT.share(0.3) == STRAIGHT.place(0.3) == 0.3
