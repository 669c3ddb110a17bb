"""The two groups as an estimate sees them: private numbers only, on the unit range (0 is the lower bound, 1 the upper).

After this point nothing is raw any more: everything below is post-processing.
"""

import math
from dataclasses import dataclass

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.channels.numeric import NumericChannel
from hybriddp.grid import UNITS
from hybriddp.mean.summary import LaplaceSummary
from hybriddp.release.mechanisms import PrivateTotal

_FEW = 30  # so few reports say nothing reliable about how values vary


@dataclass(frozen=True, slots=True)
class TrustedGroup:
    """The released mean of the trusted group.

    Attributes
    ----------
    count : int
        $n_T$.
    mean : float
        With the curator's noise.
    noise : float
        $s_T^2$, the variance of that noise.
    laplace : bool
        Whether the noise is Laplace; Gaussian if not.
    """

    count: int
    mean: float
    noise: float
    laplace: bool

    @classmethod
    def of(cls, released: PrivateTotal) -> "TrustedGroup":
        """The group of a released total."""
        return cls(
            count=released.count,
            mean=released.total / (released.count * UNITS),
            noise=released.mechanism.variance / (released.count * UNITS) ** 2,
            laplace=released.mechanism.kind == "discrete-laplace",
        )


@dataclass(frozen=True, slots=True)
class LocalGroup:
    """What the reports of the local group say.

    Attributes
    ----------
    count : int
        $n_L$.
    mean : float
        Of the reports' values: unbiased.
    variance, variance_se : float
        An unbiased estimate of the variance of the users' values, which may be negative, and its standard error.
    noise : float
        $s_L^2$: the variance of a report given its value, averaged over the values as far as the reports tell.
    """

    count: int
    mean: float
    variance: float
    variance_se: float
    noise: float

    @classmethod
    def of(cls, counts: tuple[int, ...], channel: NumericChannel) -> "LocalGroup":
        """The group of a count per code."""
        n = sum(counts)
        return cls.of_shares(np.array(counts, float) / n, n, channel)

    @classmethod
    def of_shares(cls, share: FloatArray, n: int, channel: NumericChannel) -> "LocalGroup":
        """The group of ``n`` reports of which each code has this share."""
        v, squares = channel.values, channel.square_values
        mean = float(share @ v)
        square = float(share @ squares)
        excess = float(share @ (v - mean) ** 2) / n  # by which the square of the mean is too large, on average
        influence = squares - 2 * mean * v
        spread = float(share @ (influence - share @ influence) ** 2)
        # The rounding of an input to one of its rows may add more than `square_values` takes off on average.
        noise = float(share @ (v**2 - squares)) + channel.worst_rounding_variance - channel.rounding_variance
        return cls(
            count=n,
            mean=mean,
            variance=square - mean**2 + excess,
            variance_se=(spread / n) ** 0.5 if n >= _FEW else math.inf,
            noise=min(max(noise, channel.least_variance), channel.worst_variance),
        )

    @classmethod
    def of_laplace(cls, summary: LaplaceSummary, channel: DiscreteLaplace) -> "LocalGroup":
        """The group of a sum of reports with Laplace noise, which says nothing about the variance of the values."""
        return cls(
            count=summary.count,
            mean=summary.total / (summary.count * UNITS),
            variance=0.0,
            variance_se=math.inf,
            noise=channel.noise_variance,
        )
