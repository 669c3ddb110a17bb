"""The level of statistical tests. CONTRIBUTING.md has the arithmetic."""

from scipy import stats

LEVEL = 1e-9
"""The chance of a false alarm of one statistical test, of all its numbers together."""


def z_limit(numbers: int = 1) -> float:
    """How far from 0 standardized means may be: all of so many are within this but for a chance of `LEVEL`."""
    return float(stats.norm.isf(LEVEL / 2 / numbers))
