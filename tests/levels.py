"""The level of statistical tests. CONTRIBUTING.md has the arithmetic."""

import math

from scipy import stats

LEVEL = 1e-9
"""The chance of a false alarm of one statistical test, of all its numbers together."""


def z_limit(numbers: int = 1, draws: float = math.inf) -> float:
    """Return the limit that standardized means all stay within, but for a chance of `LEVEL`.

    Standard errors that are estimated from ``draws`` draws have a wider one: Student's t.
    """
    return float(stats.t.isf(LEVEL / 2 / numbers, draws - 1))
