r"""Law of the answer to a quantile, before anything is collected.

The answer is the value at which the estimated CDF reaches $q$. The law of that CDF is known: normal masses with the
expected covariance, made monotone as estimates are, for each outcome that a study may have
(`hybriddp.distribution.expected`). Curves drawn from it reach $q$ within a bin, where the answer is interpolated as
estimates do it; where a curve does not reach $q$ below the upper bound, the answer is that bound. The draws are the
rows of orthogonal matrices and their opposites, always the same ones: so the CDF has exactly its covariance.

In long tails the CDF is flat, and a small error of the rank moves the answer far. A few large errors then dominate the
root of the mean square, so the median of the absolute error stands beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.masked import N_BINS
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.expected import Outcome
from hybriddp.distribution.fit import DistributionFit
from hybriddp.distribution.within import curve_of
from hybriddp.grid import read_only

_TURNS = 4
"""Orthogonal matrices from which the curves of the likeliest outcome come; one for each other outcome."""
_PLACES = np.linspace(0.0, 1.0, 65)  # within a bin, at which its curve is tabulated


@dataclass(frozen=True, slots=True, eq=False)
class AnswerLaw:
    """Possible answers to a quantile, with their probabilities."""

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


@dataclass(frozen=True, slots=True, eq=False)
class CurveLaw:
    """Possible estimates of a CDF at the edges, with their probabilities."""

    fit: DistributionFit
    curves: FloatArray
    masses: FloatArray

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> "CurveLaw":
        """Draw the curves of all outcomes, the likeliest first."""
        turns = [_TURNS if number == 0 else 1 for number in range(len(outcomes))]
        curves = [_curves(one.fit, count) for one, count in zip(outcomes, turns, strict=True)]
        masses = [np.full(len(drawn), one.chance / len(drawn)) for one, drawn in zip(outcomes, curves, strict=True)]
        return cls(outcomes[0].fit, np.concatenate(curves), np.concatenate(masses))

    def answer(self, bins: Bins, q: float) -> AnswerLaw:
        """Compute the law of the answer to one quantile."""
        edges, last = bins.edges, N_BINS - 1
        numbers = np.count_nonzero(self.curves < q, axis=1)  # of the bins in which they reach q
        values = edges[np.minimum(numbers, last - 1)].astype(np.float64)
        inner = np.flatnonzero((numbers > 0) & (numbers < last))
        number = numbers[inner]
        before, after = self.curves[inner, number - 1], self.curves[inner, number]
        share = (q - before) / (after - before)
        for one in np.unique(number).tolist():
            if (curve := curve_of(self.fit, bins, one)).weight:
                here = number == one
                share[here] = np.interp(share[here], [curve.share(place) for place in _PLACES.tolist()], _PLACES)
        values[inner] = edges[number - 1] + bins.widths[number] * share
        return AnswerLaw(values, self.masses)


def _curves(fit: DistributionFit, turns: int) -> FloatArray:
    """Draw estimated CDFs at the edges."""
    from scipy.optimize import isotonic_regression

    steps = np.cumsum(np.cumsum(fit.covariance, axis=0), axis=1)[:-1, :-1]
    variances, directions = np.linalg.eigh((steps + steps.T) / 2)
    root = directions * np.sqrt(np.maximum(variances, 0.0)) @ directions.T  # the same on every machine
    noise = _normal_draws(turns) @ root
    drawn = np.cumsum(fit.linear)[:-1] + noise
    monotone = np.array([isotonic_regression(curve).x for curve in drawn])
    return np.asarray(np.clip(monotone, 0.0, 1.0))


@lru_cache(maxsize=2)
def _normal_draws(turns: int) -> FloatArray:
    """Make draws of independent standard normal numbers whose sample covariance is exact: shape (draws, edges)."""
    rng, size = np.random.default_rng(0), N_BINS - 1
    factors = [np.linalg.qr(rng.standard_normal((size, size))) for _ in range(turns)]
    rows = [q * np.sign(np.diag(r)) * np.sqrt(size) for q, r in factors]  # with these signs Q is unique
    return read_only(np.concatenate([*rows, *(-one for one in rows)]))
