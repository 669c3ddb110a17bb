"""How an answer errs: by its causes, for each group alone, and as laws that intervals are made from."""

import math
from dataclasses import dataclass, field

from hybriddp import _check
from hybriddp.mean.interval import ErrorLaw, Interval

LEVEL = _check.Range("a number between 0 and 1, both excluded", 0.0, 1.0, lower_open=True, upper_open=True)


@dataclass(frozen=True, slots=True)
class Errors:
    """The expected squared error against the mean of all users' values, in their squared units, by its cause.

    Attributes
    ----------
    sampling : float
        From users who do not all weigh the same, and from doubting that the groups are alike.
    trusted_noise, local_noise : float
        From the curator's noise, and from that of the local users' reports.
    """

    sampling: float
    trusted_noise: float
    local_noise: float

    @property
    def total(self) -> float:
        """The whole of it, if the groups are alike; what a difference of the groups adds is unknown."""
        return self.sampling + self.trusted_noise + self.local_noise


@dataclass(frozen=True, slots=True)
class GroupMean:
    """What one group alone says about everybody, if the groups are alike.

    Attributes
    ----------
    count : int
        How many users it has.
    mean : float
        Their private mean; it may lie outside of the bounds.
    bounds : (float, float)
        Of the study.
    law : ErrorLaw
        How it errs against the mean of *all* users' values.
    """

    count: int
    mean: float
    bounds: tuple[float, float]
    law: ErrorLaw = field(repr=False)

    def interval(self, level: float = 0.95) -> Interval:
        """Where the mean of all users' values lies by this group alone."""
        return between(self.bounds, self.law.interval(_check.number("level", level, LEVEL)))


@dataclass(frozen=True, slots=True)
class Laws:
    """How the unbiased answer errs, on the unit range.

    Attributes
    ----------
    users, population : ErrorLaw
        Against the mean of these users' values, and of the population that they come from, if the groups are alike.
    users_if_groups_differ, population_if_groups_differ : ErrorLaw or None
        The same for the mean in which every user weighs the same, which needs no such assumption; None where one of the
        groups was not asked.
    """

    users: ErrorLaw
    population: ErrorLaw = field(repr=False)
    users_if_groups_differ: ErrorLaw | None = field(repr=False)
    population_if_groups_differ: ErrorLaw | None = field(repr=False)


def between(bounds: tuple[float, float], unit: Interval) -> Interval:
    """An interval of the unit range in the units of the values."""
    lower, upper = bounds
    width = upper - lower
    low, high = lower + width * unit.lower, min(lower + width * unit.upper, upper)
    if low >= high:  # floats cannot tell the ends apart, and no interval is a point
        low, high = math.nextafter(high, -math.inf), math.nextafter(high, math.inf)
    return Interval(low, high, unit.level)
