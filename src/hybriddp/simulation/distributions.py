"""Distributions by name, as crowds: what people's values might look like before anybody has been asked."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from hybriddp import _check
from hybriddp.errors import ParameterError
from hybriddp.grid import UNITS
from hybriddp.simulation.crowd import Crowd

_POINTS = 2001  # equally likely values that stand for a continuous distribution
_NAMED = re.compile(r"([a-z-]+)\(([^()]*)\)")


def _beta(alpha: float, beta: float) -> Any:  # noqa: ANN401
    from scipy import stats

    return stats.beta(_check.number("alpha", alpha, _check.POSITIVE), _check.number("beta", beta, _check.POSITIVE))


def _normal(mean: float, sd: float) -> Any:  # noqa: ANN401
    from scipy import stats

    return stats.norm(mean, _check.number("sd", sd, _check.POSITIVE))


def _lognormal(mean: float, sd: float) -> Any:  # noqa: ANN401
    """By the mean and the standard deviation of the values themselves."""
    from scipy import stats

    _check.number("mean", mean, _check.POSITIVE)
    spread = np.log1p((_check.number("sd", sd, _check.POSITIVE) / mean) ** 2)
    return stats.lognorm(spread**0.5, scale=mean * np.exp(-spread / 2))


_FAMILIES: dict[str, Callable[[float, float], Any]] = {"beta": _beta, "normal": _normal, "lognormal": _lognormal}
_FORMS = "beta(α, β), normal(mean, sd), lognormal(mean, sd), uniform or bernoulli(p), as shares of the range"


def named(text: str) -> Crowd:
    """The distribution of that name on the unit range, for example ``"beta(10, 10)"``; cut to the range.

    Examples
    --------
    >>> named("bernoulli(0.01)").mean
    0.01
    """
    spelled = text.replace(" ", "").lower()
    if spelled == "uniform":
        spelled = "beta(1,1)"
    match = _NAMED.fullmatch(spelled)
    try:
        family, numbers = (match[1], [float(part) for part in match[2].split(",")]) if match else ("", [])
    except ValueError:
        family, numbers = "", []
    if family == "bernoulli" and len(numbers) == 1:
        p = _check.number("p", numbers[0], _check.WEIGHT)
        ones = round(p * 1e9)
        return Crowd(np.array([0, UNITS]), np.array([10**9 - ones, ones]))
    if family not in _FAMILIES or len(numbers) != 2:
        raise ParameterError("data", f"values or one of {_FORMS}", text)
    levels = (np.arange(_POINTS) + 0.5) / _POINTS
    return Crowd.of(_FAMILIES[family](*numbers).ppf(levels), (0, 1))
