r"""Law of the answer to a quantile, before anything is collected.

The answer is the value at which the estimated CDF reaches $q$. At every edge $x$ the estimate has mean $F(x)$ and
standard error $s(x)$, so the answer lies above $x$ with probability $\Phi((q - F(x))/s(x))$. The law is integrated on a
grid of normal scores $z$: for each of them, the answer is where $F - z s$ reaches $q$, interpolated within its bin as
estimates do it. Where $F - z s$ does not reach $q$ below the upper bound, the answer is that bound.

In long tails the CDF is flat, and a small error of the rank moves the answer far. A few large errors then dominate the
root of the mean square, so the median of the absolute error stands beside it.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.masked import N_BINS
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.fit import DistributionFit
from hybriddp.distribution.within import curve_of
from hybriddp.grid import read_only

_LARGEST_SCORE, _SCORES = 6.0, 1201
_PLACES = np.linspace(0.0, 1.0, 65)  # within a bin, at which its curve is tabulated


@dataclass(frozen=True, slots=True, eq=False)
class AnswerLaw:
    """Possible answers to a quantile, ascending, with their probabilities."""

    values: FloatArray
    masses: FloatArray

    def rms_error(self, truth: float) -> float:
        """Compute the root of the mean squared error."""
        return float(np.sqrt(self.masses @ (self.values - truth) ** 2))

    def median_error(self, truth: float) -> float:
        """Compute the absolute error that is exceeded half of the time."""
        errors = np.abs(self.values - truth)
        order = np.argsort(errors)
        return float(errors[order][np.searchsorted(np.cumsum(self.masses[order]), 0.5)])


def answer_law(fit: DistributionFit, bins: Bins, q: float) -> AnswerLaw:
    """Compute the law of the answer to one quantile from the expected CDF and its standard errors."""
    scores, masses = _normal_scores()
    edges, last = bins.edges, N_BINS - 1
    curves = np.maximum.accumulate(fit.cdf - scores[:, None] * fit.standard_errors, axis=1)
    numbers = np.count_nonzero(curves < q, axis=1)  # of the bins in which they reach q
    values = edges[np.minimum(numbers, last - 1)].astype(np.float64)
    inner = np.flatnonzero((numbers > 0) & (numbers < last))
    number = numbers[inner]
    before, after = curves[inner, number - 1], curves[inner, number]
    share = (q - before) / (after - before)
    for one in np.unique(number).tolist():
        if (curve := curve_of(fit, bins, one)).weight:
            here = number == one
            share[here] = np.interp(share[here], [curve.share(place) for place in _PLACES.tolist()], _PLACES)
    values[inner] = edges[number - 1] + bins.widths[number] * share
    return AnswerLaw(values, masses)


@lru_cache(maxsize=1)
def _normal_scores() -> tuple[FloatArray, FloatArray]:
    """Make a grid of normal scores, with their probabilities."""
    scores = np.linspace(-_LARGEST_SCORE, _LARGEST_SCORE, _SCORES)
    density = np.exp(-(scores**2) / 2)
    return read_only(scores), read_only(density / density.sum())
