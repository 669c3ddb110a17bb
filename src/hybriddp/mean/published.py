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

from hybriddp import _check
from hybriddp.errors import ParameterError
from hybriddp.mean import public
from hybriddp.mean.interval import Interval, Noise

if TYPE_CHECKING:
    from hybriddp.mean.estimate import Estimate

_MOST_VARIANCE = 0.25  # of values on [0, 1] (Popoviciu)
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
        return f"{x + 0.0:,.{decimals(self.step)}f}"

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
    estimate: "Estimate", *, level: float, step: Fraction | Decimal | str | float | None, population: bool = False
) -> Published:
    """What is published of an estimate; see `Estimate.published`."""
    _check.number("level", level, _check.FRACTION)
    s = default_step(estimate) if step is None else exact_step(step, estimate.study.width)
    bottom, top = (Fraction(bound) for bound in estimate.study.bounds)
    value = nearest(Fraction(estimate.value) if estimate.exact is None else estimate.exact, s)
    if not estimate.fixed_weight:
        value = min(max(value, bottom), top)
    amplified = estimate.fixed_weight and estimate.trusted is not None and estimate.local is not None
    if amplified and not population:
        half = Fraction(_public_half_width(estimate, float(value), level)) + s / 2  # the value itself was rounded
        middle = min(max(value, bottom), top)
        lower, upper = middle - half, middle + half
    else:
        found = estimate.population_interval(level) if population else estimate.interval(level)
        lower, upper = Fraction(found.lower), Fraction(found.upper)
    lower, upper = math.floor(lower / s) * s, math.ceil(upper / s) * s  # outwards: the level stays at least what it was
    lower, upper = min(max(lower, bottom), value), max(min(upper, top), value)
    if lower == upper:  # no interval is a point
        lower, upper = lower - s, upper + s
    return Published(float(value), float(lower), float(upper), level, s)


def default_step(estimate: "Estimate") -> Fraction:
    """The step of an estimate, from public numbers: an adaptive weight is none, and does not count."""
    weight = estimate.weight if estimate.fixed_weight else None
    return public.default_step(estimate.study, estimate.n_trusted, estimate.n_local, weight)


def exact_step(step: Fraction | Decimal | str | float, width: float) -> Fraction:
    """A step as an exact fraction: a float counts as the decimal that it is written as."""
    try:
        exact = Fraction(repr(step)) if isinstance(step, float) else Fraction(step)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ParameterError("step", "a positive number, such as 0.5 or a Fraction", step) from None
    if isinstance(step, bool) or not 0 < exact <= _MOST_STEP * Fraction(width):
        raise ParameterError("step", "a positive number of at most half of the range", step)
    return exact


def nearest(x: Fraction, step: Fraction) -> Fraction:
    r"""The nearest multiple of a step: $\lfloor x/s + 1/2 \rfloor s$, so that each stands for a half-open interval."""
    return math.floor(x / step + Fraction(1, 2)) * step


def decimals(step: Fraction) -> int:
    """How many decimals a multiple of the step needs; a step that is no decimal number gets two digits of its own."""
    for places in range(20):
        if (step * 10**places).denominator == 1:
            return places
    return min(max(2 - math.floor(math.log10(step)), 0), 300)


def _public_half_width(estimate: "Estimate", value: float, level: float) -> float:
    r"""The half-width of an interval that follows from the published value and public numbers alone.

    What the reports say about the variance of the values would narrow it, and would be one more release about local
    users: the second tier of protection covers the value alone. The variance is the one that was given, or at most
    $\mu(1 - \mu)$ (Bhatia and Davis) for all means $\mu$ that the interval for the largest variance, 1/4, leaves
    possible; where that one misses the mean, so does a narrower one, so the level stays.
    """
    study, w = estimate.study, estimate.weight
    n_t, n_l = estimate.n_trusted, estimate.n_local
    curator = w**2 * public.trusted_noise(study, n_t)
    reports = (1 - w) ** 2 * public.report_noise(study) / n_l
    extra = (w - n_t / (n_t + n_l)) ** 2 * (n_t + n_l) / (n_t * n_l)
    laplace = not study.privacy.exact_delta

    def half(variance: float) -> float:
        normal = extra * variance + reports
        noise = Noise(normal, (curator / 2) ** 0.5) if laplace else Noise(normal + curator, 0.0)
        return noise.half_width(level)

    if estimate.public_variance is not None:
        return half(estimate.public_variance) * study.width
    mean = (value - study.bounds[0]) / study.width
    widest = half(_MOST_VARIANCE)
    nearest_to_middle = min(max(0.5, mean - widest), mean + widest)
    t = min(max(nearest_to_middle, 0.0), 1.0)
    return half(t * (1 - t)) * study.width
