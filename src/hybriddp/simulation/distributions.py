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
from hybriddp.errors import ParameterError, raise_unchained
from hybriddp.grid import Grid, as_floats
from hybriddp.simulation.cells import crowd_of, two_points
from hybriddp.simulation.crowd import Crowd

_NAMED = re.compile(r"([a-z-]+)\(([^()]*)\)")
# What floating point can square, and what the laws can be computed for.
_SIZE = _check.Range("a number from -1e100 to 1e100", -1e100, 1e100)
_SPREAD = _check.Range("a number above 0, from 1e-100 to 1e100", 1e-100, 1e100)
_SHAPE = _check.Range("a number above 0, from 1e-6 to 1e12", 1e-6, 1e12)
_MOST_RATIO = 1e4
_LEAST_SHARE = 1e-12
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
    if family not in _FAMILIES or len(numbers) != _FAMILIES[family].parameters:
        hint = "Write thousands without commas: normal(62000, 28000)." if len(numbers) > 2 else ""
        raise ParameterError("data", f"values or one of {_FORMS}", text, remedy=hint)
    try:
        return _FAMILIES[family].make(grid, *numbers)
    except ParameterError as wrong:
        words = f"{_FAMILIES[family].form} where {wrong.name} is {wrong.expected}"
        raise_unchained(ParameterError("data", words, text))


def _continuous(law: Any, grid: Grid) -> Population:  # noqa: ANN401  (a frozen distribution of scipy)
    outside = float(law.cdf(grid.lower) + law.sf(grid.upper))
    return Population(crowd_of(law, grid), outside if outside > 1e-12 else 0.0, float(law.mean()))


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


def _beta(grid: Grid, alpha: float, beta: float) -> Population:
    from scipy import stats

    shape = _check.number("α", alpha, _SHAPE), _check.number("β", beta, _SHAPE)
    return _continuous(stats.beta(*shape, loc=grid.lower, scale=grid.width), grid)


def _bernoulli(grid: Grid, p: float) -> Population:
    _check.number("p", p, _check.WEIGHT)
    if 0 < p < _LEAST_SHARE:
        raise ParameterError("p", f"0 or at least {_LEAST_SHARE:g}", p)
    return Population(two_points(p), 0.0, grid.lower + p * grid.width)


def _uniform(grid: Grid, low: float, high: float) -> Population:
    from scipy import stats

    if not _check.number("low", low, _SIZE) < _check.number("high", high, _SIZE):
        raise ParameterError("high", "above low", high)
    return _continuous(stats.uniform(low, high - low), grid)


def _normal(grid: Grid, mean: float, sd: float) -> Population:
    from scipy import stats

    return _continuous(stats.norm(_check.number("mean", mean, _SIZE), _check.number("sd", sd, _SPREAD)), grid)


def _relative_sd(mean: float, sd: float) -> float:
    """The standard deviation in means, for laws of positive values."""
    ratio = _check.number("sd", sd, _SPREAD) / _check.number("mean", mean, _SPREAD)
    if not 1 / _MOST_RATIO <= ratio <= _MOST_RATIO:
        raise ParameterError("sd", f"from {1 / _MOST_RATIO:g} to {_MOST_RATIO:g} times the mean", sd)
    return ratio


def _lognormal(grid: Grid, mean: float, sd: float) -> Population:
    """By the mean and the standard deviation of the values themselves, not of their logarithms."""
    from scipy import stats

    spread = math.log1p(_relative_sd(mean, sd) ** 2)
    return _continuous(stats.lognorm(spread**0.5, scale=mean * math.exp(-spread / 2)), grid)


def _gamma(grid: Grid, mean: float, sd: float) -> Population:
    """By mean and standard deviation, as the others: shape (mean/sd)², scale sd²/mean."""
    from scipy import stats

    ratio = _relative_sd(mean, sd)
    return _continuous(stats.gamma(ratio**-2, scale=ratio * sd), grid)


def _exponential(grid: Grid, mean: float) -> Population:
    from scipy import stats

    return _continuous(stats.expon(scale=_check.number("mean", mean, _SPREAD)), grid)


@dataclass(frozen=True, slots=True)
class _Family:
    form: str
    make: Callable[..., Population]
    parameters: int


_FAMILIES = {
    "beta": _Family("beta(α, β)", _beta, 2),
    "bernoulli": _Family("bernoulli(p)", _bernoulli, 1),
    "uniform": _Family("uniform(low, high)", _uniform, 2),
    "normal": _Family("normal(mean, sd)", _normal, 2),
    "lognormal": _Family("lognormal(mean, sd)", _lognormal, 2),
    "gamma": _Family("gamma(mean, sd)", _gamma, 2),
    "exponential": _Family("exponential(mean)", _exponential, 1),
}
