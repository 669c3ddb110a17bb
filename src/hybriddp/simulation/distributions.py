r"""Distributions by name: what people's values might look like before anybody has been asked.

Parameters are in the units of the values: ``normal(40, 20)`` on bounds of 0 to 240 has its mean at 40. Two families
have none, and stand on the range itself: ``beta(2, 8)`` is the shape on [0, 1] stretched to the bounds, and
``bernoulli(p)`` is at the upper bound with probability ``p`` and at the lower one otherwise. Values beyond the bounds
are clamped, as in a study, and `SimulatedPopulation` says how many.

A continuous law becomes a crowd of cells, each with its exact mass at its own mean. Equally likely points would flatten
a long tail: the far cells that carry a good part of the mean and most of the variance have little mass. So there are
three kinds of edges: at equally likely levels, for the bulk; at levels that get rarer by a factor, down to $10^{-15}$,
for the tails; and at equal distances between the bounds, so that no cell is wide. The mass of a cell $(a, b]$ is
$m = F(b) - F(a)$, and its mean follows by integration by parts,

$$
a + \frac1m \int_a^b (F(b) - F(x))\, dx = b - \frac1m \int_a^b (F(x) - F(a))\, dx,
$$

by Gauss-Legendre quadrature. Either form is used on its side of the median, where it loses no digits.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError, raise_unchained
from hybriddp.grid import UNITS, Grid, as_floats
from hybriddp.simulation.crowd import ValueCounts

_MASS = 10**15  # how many people stand for the whole law: smaller probabilities than one of them are left out
_LEVELS = np.arange(1, 1000) / 1000
_RARE = 10.0 ** -np.arange(3, 15.01, 0.05)
_DISTANCES = np.linspace(0.0, 1.0, 513)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_NAMED = re.compile(r"([a-z-]+)\(([^()]*)\)")
# What floating point can square, and what the laws can be computed for.
_SIZE = _check.Range("a number from -1e100 to 1e100", -1e100, 1e100)
_SPREAD = _check.Range("a number above 0, from 1e-100 to 1e100", 1e-100, 1e100)
_SHAPE = _check.Range("a number above 0, from 1e-6 to 1e12", 1e-6, 1e12)
_MOST_RATIO = 1e4
_LEAST_PROBABILITY = 1e-12
_FORMS = {
    "beta": "beta(α, β)",
    "bernoulli": "bernoulli(p)",
    "uniform": "uniform(low, high)",
    "normal": "normal(mean, sd)",
    "lognormal": "lognormal(mean, sd)",
    "gamma": "gamma(mean, sd)",
    "exponential": "exponential(mean)",
}
_ALL_FORMS = (
    "normal(mean, sd), lognormal(mean, sd), gamma(mean, sd), exponential(mean) or uniform(low, high) in the units of "
    "the values, or beta(α, β), uniform or bernoulli(p) on the bounds"
)


@dataclass(frozen=True, slots=True)
class SimulatedPopulation:
    """Population from which the users of a simulation are drawn."""

    values: ValueCounts  # their values, clamped to the bounds
    outside: float  # which fraction of the values lies outside of the bounds
    mean: float  # before clamping, in the units of the values


def named(text: str, bounds: tuple[float, float] = (0.0, 1.0)) -> ValueCounts:
    """Return the distribution of a name, for example ``"beta(10, 10)"``, clamped to the bounds.

    Examples
    --------
    >>> named("bernoulli(0.01)").mean
    0.01
    >>> named("normal(60, 10)", bounds=(0, 240)).mean  # on the unit range
    0.25
    """
    return population(text, bounds).values


def population(data: ArrayLike | str, bounds: tuple[float, float]) -> SimulatedPopulation:
    """Return people with these values, or of a named distribution, and what the bounds do to them.

    Examples
    --------
    >>> people = population("normal(40, 20)", bounds=(0, 240))
    >>> people.outside, people.mean
    (0.02275, 40.0)
    """
    if not isinstance(data, str):
        crowd, given = ValueCounts.of(data, bounds), as_floats(data)
        outside = np.count_nonzero((given < bounds[0]) | (given > bounds[1])) / given.size
        return SimulatedPopulation(crowd, float(outside), math.fsum(given.ravel().tolist()) / given.size)
    grid = Grid.of(bounds)
    family, numbers = _read(data)
    form = _FORMS.get(family)
    if form is None or len(numbers) != form.count(",") + 1:
        hint = "Write thousands without commas: normal(62000, 28000)." if len(numbers) > 2 else ""
        raise ParameterError("data", f"values or one of {_ALL_FORMS}", data, remedy=hint)
    try:
        return _bernoulli(grid, *numbers) if family == "bernoulli" else _continuous(family, grid, numbers)
    except ParameterError as wrong:
        raise_unchained(ParameterError("data", f"{form} where {wrong.name} is {wrong.expected}", data))


def _bernoulli(grid: Grid, p: float) -> SimulatedPopulation:
    _check.number("p", p, _check.WEIGHT)
    if 0 < p < _LEAST_PROBABILITY:
        raise ParameterError("p", f"0 or at least {_LEAST_PROBABILITY:g}", p)
    upper = round(p * _MASS)
    crowd = ValueCounts(np.array([0, UNITS]), np.array([_MASS - upper, upper]))
    return SimulatedPopulation(crowd, 0.0, grid.lower + p * grid.width)


def _continuous(family: str, grid: Grid, numbers: list[float]) -> SimulatedPopulation:
    law = _law(family, grid, *numbers)
    outside = float(law.cdf(grid.lower) + law.sf(grid.upper))
    return SimulatedPopulation(_crowd_of(law, grid), outside if outside > 1e-12 else 0.0, float(law.mean()))


def _law(family: str, grid: Grid, one: float, other: float = 0.0) -> Any:  # noqa: ANN401  (scipy has no types)
    """Return a frozen distribution of scipy; positive values by their own mean and sd, not of their logarithms."""
    from scipy import stats

    if family == "beta":
        shape = _check.number("α", one, _SHAPE), _check.number("β", other, _SHAPE)
        return stats.beta(*shape, loc=grid.lower, scale=grid.width)
    if family == "uniform":
        if not _check.number("low", one, _SIZE) < _check.number("high", other, _SIZE):
            raise ParameterError("high", "above low", other)
        return stats.uniform(one, other - one)
    if family == "normal":
        return stats.norm(_check.number("mean", one, _SIZE), _check.number("sd", other, _SPREAD))
    if family == "exponential":
        return stats.expon(scale=_check.number("mean", one, _SPREAD))
    ratio = _check.number("sd", other, _SPREAD) / _check.number("mean", one, _SPREAD)
    if not 1 / _MOST_RATIO <= ratio <= _MOST_RATIO:
        raise ParameterError("sd", f"from {1 / _MOST_RATIO:g} to {_MOST_RATIO:g} times the mean", other)
    if family == "gamma":
        return stats.gamma(ratio**-2, scale=ratio * other)  # shape (mean/sd)², scale sd²/mean
    spread = math.log1p(ratio**2)
    return stats.lognorm(spread**0.5, scale=one * math.exp(-spread / 2))


def _crowd_of(law: Any, grid: Grid) -> ValueCounts:  # noqa: ANN401  (a frozen distribution of scipy)
    """Return people whose values have this law, clamped to the bounds of the grid."""
    levels = [law.ppf(_LEVELS), law.ppf(_RARE), law.isf(_RARE), grid.lower + grid.width * _DISTANCES]
    inside = np.clip(np.concatenate(levels), grid.lower, grid.upper)
    edges: FloatArray = np.unique(np.append(inside, [grid.lower, grid.upper]))
    a, b = edges[:-1], edges[1:]
    below, above = law.cdf(edges), law.sf(edges)
    low = below[1:] < 0.5
    mass = np.where(low, np.diff(below), -np.diff(above))
    x = (a + b)[:, None] / 2 + (b - a)[:, None] / 2 * _NODES
    inner = np.where(low[:, None], law.cdf(x) - below[:-1, None], law.sf(x) - above[1:, None])
    position = np.divide(inner @ (_WEIGHTS / 2), mass, out=np.full(len(mass), 0.5), where=mass > 0)
    position = np.clip(position, 0.0, 1.0) * (b - a)
    values = np.concatenate([[grid.lower], np.where(low, b - position, a + position), [grid.upper]])
    masses = np.concatenate([below[:1], mass, above[-1:]])
    masses = np.maximum(masses, 0.0)
    # Whole people, those with the same value together.
    units, which = np.unique(grid.place(values).units.astype(np.int64), return_inverse=True)
    users = np.rint(np.bincount(which, masses) / masses.sum() * _MASS).astype(np.int64)
    return ValueCounts(units[users > 0], users[users > 0])


def _read(text: str) -> tuple[str, list[float]]:
    """Return the family and its parameters; no family if it is not written like one."""
    spelled = text.replace(" ", "").lower()
    if spelled == "uniform":
        return "beta", [1.0, 1.0]
    match = _NAMED.fullmatch(spelled)
    try:
        return (match[1], [float(part) for part in match[2].split(",")]) if match else ("", [])
    except ValueError:
        return "", []
