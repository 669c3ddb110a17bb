r"""The CDF within a bin: a straight line, unless the density plainly rises or falls there.

Nothing is counted within a bin. A straight line takes values to be spread evenly, which is wrong where a bin holds much
and the density is steep: the median of latencies on equal bins. So where the densities of the bin and of the two bins
on either side rise, or fall, all the way, and none is 0, the CDF is the monotone cubic of Fritsch and Carlson (1980)
through the edges. It counts as far as the step $\Delta$ between the densities of the two neighbors is more than chance
explains: with $C$ their covariance,

$$
F(t) = F_- + p\,\bigl((1 - k)\,t + k\,c(t)\bigr), \qquad
k = \max\Bigl(0,\; 1 - \chi^2_{1, 0.95} \frac{\operatorname{Var} \Delta}{\Delta^2}\Bigr),
$$

with $t$ the place in the bin, $p$ its mass and $c$ the cubic from 0 to 1. Peaks, gaps and their borders, round numbers
and noise stay as they are. The CDF at edges, its errors, and the intervals of quantiles do not depend on any of this.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.channels.masked import N_BINS
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.fit import DistributionFit

_REACH = 2  # how many bins on either side the density has to go on in
_CHANCE = 3.841458820694124  # the 95 % point of chi-square with one degree of freedom
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Curve:
    """The CDF within a bin, as a fraction of the bin's mass, by the place in it, both from 0 to 1."""

    left: float = 1.0
    """The slope of the cubic where the bin begins, in units of its average density."""
    right: float = 1.0
    """The slope where it ends."""
    weight: float = 0.0
    """How much the cubic counts beside a straight line."""

    def share(self, place: float) -> float:
        """Compute the fraction of the bin's mass below a place in it."""
        t, rest = place, 1 - place
        cubic = t * t * (3 - 2 * t) + self.left * t * rest * rest - self.right * t * t * rest
        return (1 - self.weight) * t + self.weight * cubic

    def place(self, share: float) -> float:
        """Below which place this fraction of the mass lies."""
        if self.weight == 0:
            return share
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.share(middle) < share else (low, middle)
        return high


STRAIGHT = Curve()


def curve_of(fit: DistributionFit, bins: Bins, number: int) -> Curve:
    """Return the curve of one bin."""
    last = N_BINS - 2  # of the bins that have a width
    if not 1 <= number <= last:
        return STRAIGHT
    first, end = max(number - _REACH, 1), min(number + _REACH, last) + 1
    widths = bins.widths[first:end]
    density = fit.masses[first:end] / widths
    steps = np.diff(density)
    if density.min() <= 0 or not (np.all(steps > 0) or np.all(steps < 0)):
        return STRAIGHT
    weight = _weight(fit, bins, max(number - 1, 1), min(number + 1, last), rising=bool(steps[0] > 0))
    if weight == 0:
        return STRAIGHT
    at, d, h = number - first, density.tolist(), widths.tolist()
    left = _slope(d[at - 1], d[at], h[at - 1], h[at]) if number > 1 else _end(d[0], d[1], h[0], h[1])
    right = _slope(d[at], d[at + 1], h[at], h[at + 1]) if number < last else _end(d[-1], d[-2], h[-1], h[-2])
    return Curve(left / d[at], right / d[at], weight)


def _weight(fit: DistributionFit, bins: Bins, low: int, high: int, *, rising: bool) -> float:
    """$k$: how much of the step between the densities of two bins is not chance."""
    pair, scale = [low, high], np.array([-1.0, 1.0]) / bins.widths[[low, high]]
    step = float(scale @ fit.linear[pair])
    if step == 0 or (step > 0) != rising:
        return 0.0
    variance = float(scale @ fit.covariance[np.ix_(pair, pair)] @ scale)
    return max(0.0, 1 - _CHANCE * variance / step**2)


def _slope(before: float, after: float, width_before: float, width_after: float) -> float:
    """Compute the density at an edge.

    This is the harmonic mean of the densities of the two bins, with weights that keep the cubic rising.
    """
    one, other = 2 * width_after + width_before, width_after + 2 * width_before
    return (one + other) / (one / before + other / after)


def _end(own: float, beside: float, width: float, width_beside: float) -> float:
    """Compute the density at a bound by a parabola through three edges.

    The density is limited so that the cubic keeps rising.
    """
    slope = ((2 * width + width_beside) * own - width * beside) / (width + width_beside)
    return min(max(slope, 0.0), 3 * own)
