"""Chi-square quantiles against scipy's, and that K-means does without importing it."""

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.special import chdtrc, chdtri

from hybriddp.kmeans.reports.moments import chi_square_above, chi_square_limit, chi_square_limits, erfc

DEGREES = (1, 2, 3, 4, 7, 16, 65, 400)


@pytest.mark.parametrize("degrees", DEGREES)
def test_probabilities_are_those_of_scipy(degrees: int) -> None:
    x = degrees * np.array([1e-6, 0.1, 0.7, 1.0, 1.5, 4.0, 10.0])
    np.testing.assert_allclose(chi_square_above(x, degrees), chdtrc(degrees, x), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("degrees", DEGREES)
def test_limits_are_those_of_scipy(degrees: int) -> None:
    levels = np.array([0.9999, 0.9, 0.5, 0.05, 1e-3, 1e-9])
    np.testing.assert_allclose(chi_square_limits(degrees, levels), chdtri(degrees, levels), rtol=1e-10)


def test_one_limit_is_that_of_many() -> None:
    assert chi_square_limit(5, 0.01) == chi_square_limits(5, np.array([0.3, 0.01]))[1]


def test_two_degrees_are_exponential() -> None:
    assert chi_square_limit(2, 0.001) == pytest.approx(-2 * math.log(0.001), rel=1e-14)


def test_erfc_of_an_array() -> None:
    assert erfc(np.array([])).shape == (0,)
    assert erfc(np.array([-1.0, 0.0, 2.0])).tolist() == [math.erfc(-1.0), 1.0, math.erfc(2.0)]


@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [2, 4])
def test_a_fit_does_not_import_scipy(dimensions: int) -> None:
    # Its import takes longer than a fit.
    program = f"""
import sys
import numpy as np
from hybriddp import HybridKMeans
points = np.random.default_rng(0).random((3000, {dimensions}))
HybridKMeans(3, epsilon=2, bounds=[(0, 1)] * {dimensions}, random_state=0).fit(points[:500], points[500:])
print("scipy" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
