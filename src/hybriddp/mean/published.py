"""What is published of an estimate: a rounded value and a rounded interval, and nothing else.

An estimate's floats tell more than its noise hides: the curator's noise lies on a lattice, and the last digits of a
weighted mean tell where that lattice lies, which is the sum of the local users' codes. So rounding comes before
publishing, in exact fractions, to a step that follows from public numbers (`public`).
"""

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hybriddp import _check
from hybriddp.errors import ParameterError
from hybriddp.mean import public
from hybriddp.mean.evidence import VarianceEvidence
from hybriddp.mean.interval import ErrorLaw, Interval, Noise

if TYPE_CHECKING:
    from hybriddp.mean.estimate import Estimate

_MOST_STEP = 0.5  # of the width of the bounds


@dataclass(frozen=True, slots=True)
class Published:
    """A mean as it may be published.

    Attributes
    ----------
    value : float
        The answer, a multiple of ``step``.
    lower, upper : float
        Where the mean of these users' values lies: multiples of ``step``, rounded outwards, or a bound.
    level : float
        The level of confidence of the interval.
    step : Fraction
        What all of them are rounded to, exactly.
    """

    value: float
    lower: float
    upper: float
    level: float
    step: Fraction

    @property
    def interval(self) -> Interval:
        """From ``lower`` to ``upper``; ``low, high = published.interval`` works."""
        return Interval(self.lower, self.upper, self.level)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        low, value, high = (self.number(x) for x in (self.lower, self.value, self.upper))
        return f"{value}, between {low} and {high} ({100 * self.level:g} %)"

    def number(self, x: float) -> str:
        """A number with as many digits as the step has a say in."""
        return number(x, self.step)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "value": self.value,
            "interval": [self.lower, self.upper],
            "level": self.level,
            "step": float(self.step),
        }

    def to_json(self) -> str:
        """As text."""
        return json.dumps(self.to_dict())


def publish(
    estimate: "Estimate",
    *,
    level: float,
    step: Fraction | Decimal | str | float | None = None,
    population: bool = False,
    groups_may_differ: bool | None = None,
) -> Published:
    """What is published of an estimate; see `Estimate.published`.

    With ``population`` the interval is about the population. With ``groups_may_differ`` it is the one that assumes
    nothing about the groups; if not given, it is `Estimate.stated_interval`, if no second tier is at stake.
    """
    _check.number("level", level, _check.FRACTION)
    s = default_step(estimate) if step is None else exact_step(step, estimate.study.width)
    value = rounded(estimate, s)
    bottom, top = (Fraction(bound) for bound in estimate.study.bounds)
    if groups_may_differ is None and not population and _second_tier(estimate):
        found = _public_interval(estimate, float(value), level)
        lower, upper = Fraction(found.lower) - s / 2, Fraction(found.upper) + s / 2  # its center was rounded
    else:
        if groups_may_differ is None:
            found = estimate.stated_interval(level, population=population)
        else:
            kind = estimate.population_interval if population else estimate.interval
            found = kind(level, groups_may_differ=groups_may_differ)
        lower, upper = Fraction(found.lower), Fraction(found.upper)
    lower, upper = math.floor(lower / s) * s, math.ceil(upper / s) * s  # outwards: the level stays at least what it was
    lower, upper = max(lower, bottom), min(upper, top)
    if not groups_may_differ:  # asked for by name, that interval has a center of its own
        lower, upper = min(lower, value), max(upper, value)
    if lower >= upper:  # no interval is a point
        lower, upper = upper - s, upper + s
    low, high = float(lower), float(upper)
    if low >= high:  # floats cannot tell them apart
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    return Published(float(value), low, high, level, s)


def rounded(estimate: "Estimate", step: Fraction) -> Fraction:
    """The answer as it may be published: exactly, from the released integers, where the weight was fixed."""
    value = nearest(Fraction(estimate.value) if estimate.exact is None else estimate.exact, step)
    if estimate.fixed_weight:
        return value
    return min(max(value, Fraction(estimate.study.bounds[0])), Fraction(estimate.study.bounds[1]))


def _second_tier(estimate: "Estimate") -> bool:
    """Whether `hybriddp.amplify` may claim something about what is published."""
    return estimate.fixed_weight and estimate.trusted is not None and estimate.local is not None


def default_step(estimate: "Estimate") -> Fraction:
    """The step of an estimate, from public numbers: an adaptive weight is none, and does not count."""
    weight = estimate.weight if estimate.fixed_weight else None
    return public.default_step(estimate.study, estimate.n_trusted, estimate.n_local, weight)


def exact_step(step: Fraction | Decimal | str | float, width: float) -> Fraction:
    """A step as an exact fraction: a float counts as the decimal that it is written as."""
    try:
        exact = Fraction(repr(float(step))) if isinstance(step, float | np.floating) else Fraction(step)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ParameterError("step", "a positive number, such as 0.5 or a Fraction", step) from None
    if isinstance(step, bool) or not 0 < exact <= _MOST_STEP * Fraction(width):
        raise ParameterError("step", "a positive number of at most half of the range", step)
    return exact


def nearest(x: Fraction, step: Fraction) -> Fraction:
    r"""The nearest multiple of a step: $\lfloor x/s + 1/2 \rfloor s$, so that each stands for a half-open interval."""
    return math.floor(x / step + Fraction(1, 2)) * step


def number(x: float, step: Fraction) -> str:
    """A number as people write it, with as many digits as the step has a say in."""
    return f"{x + 0.0:,.{decimals(step)}f}"


def decimals(step: Fraction) -> int:
    """How many decimals a multiple of the step needs; a step that is no decimal number gets two digits of its own."""
    for places in range(20):
        if (step * 10**places).denominator == 1:
            return places
    return min(max(2 - math.floor(math.log10(step)), 0), 300)


def _public_interval(estimate: "Estimate", value: float, level: float) -> Interval:
    """An interval that follows from the published value and public numbers alone.

    What the reports say about the variance of the values would narrow it, and would be one more release about local
    users: the second tier of protection covers the value alone. So the variance is the one that was given, or limited
    by ``sd_at_most`` and by the mean; reports have the worst noise of the channel.
    """
    study, w = estimate.study, estimate.weight
    n_t, n_l = estimate.n_trusted, estimate.n_local
    n = n_t + n_l
    evidence = VarianceEvidence(n, at_most=study.variance_at_most, known=estimate.public_variance)
    curator = w**2 * public.trusted_noise(study, n_t)
    reports = (1 - w) ** 2 * public.report_noise(study) / n_l
    noise = Noise(reports + curator, 0.0) if study.privacy.exact_delta else Noise(reports, math.sqrt(curator / 2))
    mean = (value - study.bounds[0]) / study.width
    law = ErrorLaw(mean, (w - n_t / n) ** 2 * n / (n_t * n_l), noise, evidence)
    lower, upper = (study.bounds[0] + study.width * end for end in law.interval(level))
    return Interval(lower, upper, level)
