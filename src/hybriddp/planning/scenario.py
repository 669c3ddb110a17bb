"""A study that might be run: who takes part, what they are promised, and what is assumed about their values.

Where a mean and a spread are all that is known, values are assumed to have a Beta distribution on the bounds, which has
every mean and spread that values between them can have: a bump in the middle, a long tail to one side, or two heaps at
the bounds.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError
from hybriddp.grid import UNITS, Grid
from hybriddp.privacy import Privacy, outright
from hybriddp.simulation.crowd import Crowd

MOST_USERS = 10**12
"""More than anybody has; with far more of them floating point could not tell their errors apart."""
_POINTS = 501  # equally likely values
_ALIKE, _APART = 1e-6, 0.999  # a spread that is none; from which fraction of the largest one on all are at the bounds


@dataclass(frozen=True)
class Scenario:
    """Who would take part, what they are promised, and what is known of their values; see `plan`."""

    n_users: int
    n_trusted: int
    privacy: Privacy
    bounds: tuple[float, float]
    sd: float | None  # without it, everything is a span from all values alike to half of them at each bound
    mean: float | None
    mean_gap: float
    variance_ratio: float
    sd_at_most: float | None

    @property
    def arguments(self) -> dict[str, Any]:
        """What was asked, as the arguments of `plan`."""
        return {
            "n_users": self.n_users,
            "trusted_fraction": self.trusted_fraction,
            "epsilon": self.privacy.epsilon,
            "delta": self.privacy.delta,
            "bounds": self.bounds,
            "sd": self.sd,
            "mean": self.mean,
            "mean_gap": self.mean_gap,
            "variance_ratio": self.variance_ratio,
            "sd_at_most": self.sd_at_most,
        }

    def changed(self, **changes: Any) -> "Scenario":  # noqa: ANN401
        """The same study with some arguments of `plan` changed."""
        return scenario_of(**{**self.arguments, **changes})

    @property
    def width(self) -> float:
        """Upper bound minus lower bound."""
        return self.bounds[1] - self.bounds[0]

    @property
    def trusted_fraction(self) -> float:
        """The fraction of the users who trust the curator."""
        return self.n_trusted / self.n_users

    @property
    def unit_mean(self) -> float:
        """The mean on the unit range; the middle, where values may vary most, if nobody knows."""
        return 0.5 if self.mean is None else (self.mean - self.bounds[0]) / self.width

    @property
    def most_sd(self) -> float:
        """The largest standard deviation that local users' values can have, whatever the variance ratio."""
        most = largest_sd(self.unit_mean) * self.width
        ratio = math.sqrt(max(self.variance_ratio, 1.0))
        return most / ratio if self.sd_at_most is None else min(most, self.sd_at_most * ratio) / ratio

    @property
    def noise_limit(self) -> float:
        """The error from which on an answer is mostly noise: the values' own spread, at most a tenth of the range."""
        return min(self.sd or self.width, 0.1 * self.width)

    @property
    def laplace(self) -> bool:
        """Whether the curator's noise is Laplace, not Gaussian."""
        return self.privacy.exact_delta == 0

    @property
    def gap_unit(self) -> float:
        """In which gaps between the groups are counted: the standard deviation, or a tenth of the range."""
        return 0.1 * self.width if self.sd is None else self.sd

    def allows_gap(self, gap: float) -> bool:
        r"""Whether groups whose means are so far apart can have this mean together, between the bounds.

        With a fraction $c$ of trusted users their mean is $m + (1-c)\,\delta$, and that of the others is
        $m - c\,\delta$. Where no mean is given, any that allows for the gap is fine.
        """
        if self.mean is None:
            return abs(gap) <= self.width
        slack = 1e-9 * self.width  # for rounding
        means = self.mean + (1 - self.trusted_fraction) * gap, self.mean - self.trusted_fraction * gap
        return all(self.bounds[0] - slack <= one <= self.bounds[1] + slack for one in means)


def scenario_of(
    *,
    n_users: int,
    trusted_fraction: float,
    epsilon: float | str,
    bounds: tuple[float, float],
    sd: float | None = None,
    mean: float | None = None,
    mean_gap: float = 0.0,
    variance_ratio: float = 1.0,
    sd_at_most: float | None = None,
    delta: float | str = 0,
) -> Scenario:
    """The scenario with these arguments of `plan`, each checked; whether a gap fits to the mean, `plan` checks."""
    users = _check.integer("n_users", n_users, at_least=4)
    if users > MOST_USERS:
        raise ParameterError("n_users", f"at most {MOST_USERS:,}", n_users)
    privacy = Privacy.promised(epsilon=epsilon, delta=delta)
    if privacy.exact_delta * users >= 1:
        words = f"far below 1 over the number of users, {users:,}"
        raise ParameterError("delta", words, delta, remedy=outright(float(privacy.exact_delta)))
    grid = Grid.of(bounds)
    n_trusted = round(_check.number("trusted_fraction", trusted_fraction, _check.FRACTION) * users)
    if not 2 <= n_trusted <= users - 2:
        words = f"such that each of the two groups of {users:,} users has at least two"
        raise ParameterError("trusted_fraction", words, trusted_fraction)
    if sd is not None:
        sd = _check.number("sd", sd, _check.NON_NEGATIVE)
    if mean is not None:
        _check.number("mean", mean, _check.Range("a number between the bounds", grid.lower, grid.upper))
    if abs(_check.number("mean_gap", mean_gap)) > grid.width:
        raise ParameterError("mean_gap", "a number no larger than the range", mean_gap)
    ratio = _check.number("variance_ratio", variance_ratio, _check.POSITIVE)
    if sd_at_most is not None:
        words = "a number from a millionth to half of the range"
        sd_at_most = _check.number("sd_at_most", sd_at_most, _check.Range(words, 1e-6 * grid.width, grid.width / 2))
        if sd is not None and sd > sd_at_most:
            raise ParameterError("sd_at_most", f"no smaller than the sd of {sd:,g}", sd_at_most)
    both = (grid.lower, grid.upper)
    scenario = Scenario(users, n_trusted, privacy, both, sd, mean, float(mean_gap), ratio, sd_at_most)
    if sd is not None and sd > (1 + 1e-9) * scenario.most_sd:  # but for rounding
        most = scenario.most_sd * max(ratio, 1.0) ** 0.5
        raise ParameterError("sd", f"at most {most:,.6g}: no values between the bounds with this mean vary more", sd)
    return scenario


def largest_sd(mean: float) -> float:
    """The largest standard deviation on [0, 1] with this mean: everybody at one of the bounds (Bhatia and Davis)."""
    return math.sqrt(mean * (1 - mean))


@lru_cache(maxsize=256)
def crowd_like(mean: float, sd: float) -> Crowd:
    """People whose values on [0, 1] have this mean and standard deviation: a Beta distribution, or its limits."""
    if sd <= _ALIKE:
        return Crowd(np.array([round(mean * UNITS)]), np.array([_POINTS]))
    if sd >= _APART * largest_sd(mean):
        upper = round(mean * 10**9)
        return Crowd(np.array([0, UNITS]), np.array([10**9 - upper, upper]))
    return Crowd.of(values_like(mean, sd, _POINTS), (0, 1))


def values_like(mean: float, sd: float, count: int) -> FloatArray:
    """So many equally likely values on [0, 1], in increasing order, of that Beta distribution or its limits."""
    levels = (np.arange(count) + 0.5) / count
    if sd <= _ALIKE:
        return np.full(count, mean)
    if sd >= _APART * largest_sd(mean):
        return (levels > 1 - mean).astype(np.float64)
    from scipy.special import betaincinv

    size = (largest_sd(mean) / sd) ** 2 - 1
    result: FloatArray = betaincinv(mean * size, (1 - mean) * size, levels)
    return result
