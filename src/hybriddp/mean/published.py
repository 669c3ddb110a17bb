r"""What is published of an estimate, and what follows from public numbers alone.

**Public numbers** are the study, the sizes of the groups and a weight fixed before any data. Nothing of the first part
has seen a report or a value, so it tells nothing about anybody: the paper's weights, the noise that an estimate will
have, the lattice of the curator's noise in the units of the values, and the step that an estimate is rounded to.

**The lattice.** With weight $w$ the weighted mean is

$$
\text{lower} + u\,(S_T + N) + R, \qquad u = \frac{w \cdot \text{width}}{n_T\,2^{24}},
$$

$S_T$ and the curator's noise $N$ whole numbers and $R$ what the reports say. So, given the reports, it lies on a
lattice of step $u$ whose origin depends on them: the last digits of the mean tell the origin, and so the sum of all
codes. That is more than the noise hides. So rounding comes before publishing, in exact fractions. After rounding to
multiples of $s$, each published number stands for a half-open interval of length $s$, which holds $s/u$ values of $N$
if that is whole, and $m = \lfloor s/u \rfloor$ or $m + 1$ of them if not, *wherever* the origin is
(`hybriddp.amplification.window` has what that costs).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from hybriddp import _check
from hybriddp.grid import UNITS
from hybriddp.mean.interval import ErrorLaw, VarianceEvidence
from hybriddp.release.mechanisms import mechanism_for
from hybriddp.study.intervals import Interval, NoiseLaw
from hybriddp.study.published import Published, Row
from hybriddp.study.result import Step
from hybriddp.study.rounding import exact_step, nearest, step_for

if TYPE_CHECKING:
    from hybriddp.mean.estimate import Estimate
    from hybriddp.mean.study import MeanStudy

CELL = 1 << 9
"""How many lattice points round to the same value at the finest step: $2^{-15}$ of the range over $n_T$."""
_LEAST_STEPS = 50  # between the bounds, however much noise there is


def trusted_noise(study: "MeanStudy", n_trusted: int) -> float:
    """Compute the variance of the curator's noise on the trusted group's mean.

    The variance refers to the unit range.
    """
    return mechanism_for(study.privacy).variance / (n_trusted * UNITS) ** 2


def report_noise(study: "MeanStudy") -> float:
    """Compute the largest variance of one report given its value.

    The variance refers to the unit range.
    """
    return study.channel.worst_variance


def fixed_weight(study: "MeanStudy", n_trusted: int, n_local: int, rule: str, variance: float = 0.0) -> float:
    r"""Compute the trusted group's weight by one of the paper's rules.

    Only public numbers are used.

    ``"known-variance"`` is $V_L/(V_T + V_L)$ for a public ``variance`` of the values on the unit range, ``"privacy"``
    the same weight for a variance of 0, ``"naive"`` the fraction of the users who trust ([ADK20], KVH and PWH).
    """
    by_name = {"naive": n_trusted / (n_trusted + n_local), "trusted-only": 1.0, "local-only": 0.0, "full-local": 0.0}
    if rule in by_name:
        return by_name[rule]
    v_t = variance / n_trusted + trusted_noise(study, n_trusted)
    v_l = (variance + report_noise(study)) / n_local
    return v_l / (v_t + v_l)


def noise_sd(study: "MeanStudy", n_trusted: int, n_local: int, weight: float | None) -> float:
    """Compute the standard deviation of all privacy noise in an estimate.

    The result has the units of the values.

    With no fixed weight, the result is the smallest standard deviation over all weights.
    """
    if n_trusted and n_local and weight is None:
        weight = fixed_weight(study, n_trusted, n_local, "privacy")
    elif weight is None:
        weight = 1.0 if n_trusted else 0.0
    variance = weight**2 * trusted_noise(study, n_trusted) if n_trusted else 0.0
    variance += (1 - weight) ** 2 * report_noise(study) / n_local if n_local else 0.0
    return math.sqrt(variance) * study.width


def default_step(study: "MeanStudy", n_trusted: int, n_local: int, weight: float | None) -> Fraction:
    """Return the default step of published values.

    The step is the largest of 1, 2 or 5 times a power of ten within a tenth of the noise's standard deviation.

    The step is at most a fiftieth of the range. Rounding adds at most a thousandth to the squared error. With no fixed
    weight, ``weight`` is None.
    """
    sd = noise_sd(study, n_trusted, n_local, weight)
    return step_for(sd, study.width / _LEAST_STEPS)


def exact_width(study: "MeanStudy") -> Fraction:
    """Upper bound minus lower bound, without rounding."""
    return Fraction(study.bounds[1]) - Fraction(study.bounds[0])


def finest_step(study: "MeanStudy", n_trusted: int, weight: float) -> Fraction:
    """Return the finest step that the proof covers.

    The step is exactly `CELL` lattice points $u$, because any other step costs more.
    """
    return CELL * Fraction(weight) * exact_width(study) / (n_trusted * UNITS)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PublishedMean(Published):
    """A mean as it may be published."""

    kind: ClassVar[str] = "mean"

    sd_at_most: float | None
    """Public bound on the standard deviation of the values; None if there was none."""

    @property
    def row(self) -> Row:
        """The mean and its interval."""
        return self.rows[0]

    @property
    def value(self) -> float:
        """The answer."""
        return self.row.value

    @property
    def interval(self) -> Interval:
        """Where the mean of these users' values lies; ``low, high = published.interval`` works."""
        return self.row.interval

    @property
    def step(self) -> Fraction | None:
        """What the value and both ends are a multiple of, exactly."""
        return self.row.step

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return str(self.row)


def publish(
    estimate: "Estimate",
    *,
    level: float,
    step: Step = None,
    population: bool = False,
    groups_may_differ: bool | None = None,
) -> Row:
    """Round the answer of an estimate; see `Estimate.published`.

    With ``population`` the interval is about the population. With ``groups_may_differ`` it is the one that assumes
    nothing about the groups; if not given, it is `Estimate.stated_interval`, if no second tier is at stake.
    """
    _check.number("level", level, _check.FRACTION)
    s = step_of(estimate) if step is None else exact_step(step, estimate.study.width)
    value = rounded(estimate, s)
    bottom, top = (Fraction(bound) for bound in estimate.study.bounds)
    # Where `hybriddp.amplify` may claim something about what is published, public numbers alone make the interval.
    if groups_may_differ is None and not population and has_second_tier(estimate):
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
    return Row("mean", float(value), low, high, level, step=s)


def has_second_tier(estimate: "Estimate") -> bool:
    """Whether `hybriddp.amplify` may claim something about what is published of an estimate."""
    return estimate.fixed_weight and estimate.trusted is not None and estimate.local is not None


def rounded(estimate: "Estimate", step: Fraction) -> Fraction:
    """Round the answer so that it may be published.

    The result is exact, from the released integers, if the weight was fixed.
    """
    value = nearest(Fraction(estimate.value) if estimate.exact is None else estimate.exact, step)
    if estimate.fixed_weight:
        return value
    return min(max(value, Fraction(estimate.study.bounds[0])), Fraction(estimate.study.bounds[1]))


def step_of(estimate: "Estimate") -> Fraction:
    """Return the rounding step of an estimate from public numbers.

    Adaptive weights are not public and are ignored.
    """
    weight = estimate.weight if estimate.fixed_weight else None
    return default_step(estimate.study, estimate.n_trusted, estimate.n_local, weight)


def _public_interval(estimate: "Estimate", value: float, level: float) -> Interval:
    """Compute an interval from the published value and public numbers alone.

    The reports' evidence about the variance of the values would narrow it, and would be one more release about local
    users: the second tier of protection covers the value alone. So the variance is the one that was given, or limited
    by ``sd_at_most`` and by the mean. Reports are assumed to have the worst noise of the channel.
    """
    study, w = estimate.study, estimate.weight
    n_t, n_l = estimate.n_trusted, estimate.n_local
    evidence = VarianceEvidence(n_t + n_l, at_most=study.variance_at_most, known=estimate.public_variance)
    curator = w**2 * trusted_noise(study, n_t)
    reports = (1 - w) ** 2 * report_noise(study) / n_l
    noise = NoiseLaw.with_curator(reports, curator, laplace=not study.privacy.exact_delta)
    law = ErrorLaw.of((value - study.bounds[0]) / study.width, w, n_t, n_l, noise, evidence)
    lower, upper = (study.bounds[0] + study.width * end for end in law.interval(level))
    return Interval(lower, upper, level)
