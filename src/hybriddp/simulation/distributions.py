"""Distributions by name: what people's values might look like before anybody has been asked.

Parameters are in the units of the values: ``normal(40, 20)`` on bounds of 0 to 240 has its mean at 40. Two families
have none, and stand on the range itself: ``beta(2, 8)`` is the shape on [0, 1] stretched to the bounds, and
``bernoulli(p)`` has a share ``p`` at the upper bound and the rest at the lower one. What lies beyond the bounds is
clamped, as in a study, and the share of it is told.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybriddp import _check
from hybriddp.errors import ParameterError
from hybriddp.grid import UNITS, Grid, as_floats
from hybriddp.simulation.crowd import Crowd

_POINTS = 2001  # equally likely values that stand for a continuous distribution
_NAMED = re.compile(r"([a-z-]+)\(([^()]*)\)")
_FORMS = (
    "normal(mean, sd), lognormal(mean, sd), gamma(mean, sd), exponential(mean) or uniform(low, high) in the units of "
    "the values, or beta(α, β), uniform or bernoulli(p) on the bounds"
)


@dataclass(frozen=True, slots=True)
class Population:
    """Where the users of a simulation come from.

    Attributes
    ----------
    crowd : Crowd
        Their values, clamped to the bounds.
    outside : float
        The share of the values that lies outside of the bounds.
    mean : float
        The mean before clamping, in the units of the values.
    """

    crowd: Crowd
    outside: float
    mean: float


def named(text: str, bounds: tuple[float, float] = (0.0, 1.0)) -> Crowd:
    """The distribution of that name, for example ``"beta(10, 10)"``, clamped to the bounds.

    Examples
    --------
    >>> named("bernoulli(0.01)").mean
    0.01
    >>> named("normal(60, 10)", bounds=(0, 240)).mean  # on the unit range
    0.25
    """
    return population(text, bounds).crowd


def population(text: str, bounds: tuple[float, float]) -> Population:
    """The distribution of that name, with what the bounds do to it.

    Examples
    --------
    >>> found = population("normal(40, 20)", bounds=(0, 240))
    >>> found.outside, found.mean
    (0.02275, 40.0)
    """
    grid = Grid.of(bounds)
    family, numbers = _read(text)
    if family == "bernoulli" and len(numbers) == 1:
        p = _check.number("p", numbers[0], _check.WEIGHT)
        ones = round(p * 1e9)
        crowd = Crowd(np.array([0, UNITS]), np.array([10**9 - ones, ones]))
        return Population(crowd, 0.0, grid.lower + p * grid.width)
    make, count = _FAMILIES.get(family, (None, 0))
    if make is None or len(numbers) != count:
        hint = "Write thousands without commas: normal(62000, 28000)." if len(numbers) > 2 else ""
        raise ParameterError("data", f"values or one of {_FORMS}", text, remedy=hint)
    law = make(grid, *numbers)
    levels = (np.arange(_POINTS) + 0.5) / _POINTS
    outside = float(law.cdf(grid.lower) + law.sf(grid.upper))
    # Far outliers of a heavy tail are clamped here already: they would not fit into whole units.
    crowd = Crowd.of(np.clip(law.ppf(levels), grid.lower, grid.upper), bounds)
    return Population(crowd, outside if outside > 1e-12 else 0.0, float(law.mean()))


def of_values(values: Any, bounds: tuple[float, float]) -> Population:  # noqa: ANN401
    """People with these values, with what the bounds do to them."""
    crowd, given = Crowd.of(values, bounds), as_floats(values)
    outside = np.count_nonzero((given < bounds[0]) | (given > bounds[1])) / given.size
    return Population(crowd, float(outside), math.fsum(given.ravel().tolist()) / given.size)


def _read(text: str) -> tuple[str, list[float]]:
    """The family and its parameters; no family if it is not written like one."""
    spelled = text.replace(" ", "").lower()
    if spelled == "uniform":
        return "beta", [1.0, 1.0]
    match = _NAMED.fullmatch(spelled)
    try:
        return (match[1], [float(part) for part in match[2].split(",")]) if match else ("", [])
    except ValueError:
        return "", []


def _beta(grid: Grid, alpha: float, beta: float) -> Any:  # noqa: ANN401
    from scipy import stats

    shape = _check.number("alpha", alpha, _check.POSITIVE), _check.number("beta", beta, _check.POSITIVE)
    return stats.beta(*shape, loc=grid.lower, scale=grid.width)


def _uniform(_: Grid, low: float, high: float) -> Any:  # noqa: ANN401
    from scipy import stats

    if not _check.number("low", low) < _check.number("high", high):
        raise ParameterError("high", "above low", high)
    return stats.uniform(low, high - low)


def _normal(_: Grid, mean: float, sd: float) -> Any:  # noqa: ANN401
    from scipy import stats

    return stats.norm(_check.number("mean", mean), _check.number("sd", sd, _check.POSITIVE))


def _lognormal(_: Grid, mean: float, sd: float) -> Any:  # noqa: ANN401
    """By the mean and the standard deviation of the values themselves, not of their logarithms."""
    from scipy import stats

    _check.number("mean", mean, _check.POSITIVE)
    spread = np.log1p((_check.number("sd", sd, _check.POSITIVE) / mean) ** 2)
    return stats.lognorm(spread**0.5, scale=mean * np.exp(-spread / 2))


def _gamma(_: Grid, mean: float, sd: float) -> Any:  # noqa: ANN401
    """By mean and standard deviation, as the others: shape (mean/sd)², scale sd²/mean."""
    from scipy import stats

    _check.number("mean", mean, _check.POSITIVE)
    _check.number("sd", sd, _check.POSITIVE)
    return stats.gamma((mean / sd) ** 2, scale=sd**2 / mean)


def _exponential(_: Grid, mean: float) -> Any:  # noqa: ANN401
    from scipy import stats

    return stats.expon(scale=_check.number("mean", mean, _check.POSITIVE))


_FAMILIES: dict[str, tuple[Callable[..., Any], int]] = {
    "beta": (_beta, 2),
    "uniform": (_uniform, 2),
    "normal": (_normal, 2),
    "lognormal": (_lognormal, 2),
    "gamma": (_gamma, 2),
    "exponential": (_exponential, 1),
}
