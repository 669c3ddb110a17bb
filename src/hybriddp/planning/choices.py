r"""What other choices of ε and of the bounds would cost: the two numbers that nobody knows how to choose.

A smaller ε is paid in noise. Wider bounds are too: noise grows with their width. Bounds that are too tight cut values
off, and pull the mean of what is left by $E[(X-u)_+]$, which no number of users makes smaller.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError
from hybriddp.planning.crowds import largest_sd, values_like
from hybriddp.planning.plan import Plan, Span
from hybriddp.planning.risks import again, errors_again

EPSILON_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
WIDTH_FACTORS = (0.25, 0.5, 0.75, 1.0, 2.0)
_LEAST, _MOST = 0.01, 20.0
_VALUES = 20_001


@dataclass(frozen=True, slots=True)
class EpsilonChoice:
    """One ε.

    Attributes
    ----------
    epsilon : str
        As a decimal.
    guess : float
        How often somebody who has narrowed a value down to two guesses right at most; one half without the answer.
    rmse, half_width : Span
        The typical error, and half of the 95 % interval.
    """

    epsilon: str
    guess: float
    rmse: Span
    half_width: Span


@dataclass(frozen=True, slots=True)
class BoundsChoice:
    """One pair of bounds.

    Attributes
    ----------
    bounds : (float, float)
        In the units of the values.
    cut_off : float or None
        The share of the values beyond them, under the assumed shape; None where no shape is assumed.
    pull : float or None
        By how much clamping those moves the mean.
    tail_pull : float or None
        The same if the values had a long tail: lognormal, with the same mean and spread. The Beta shape ends at the
        bounds of the plan, so it cannot say that these are too tight; this can.
    noise : Span
        The typical error against the mean of the clamped values.
    total : Span
        The typical error against the mean of the values themselves.
    """

    bounds: tuple[float, float]
    cut_off: float | None
    pull: float | None
    tail_pull: float | None
    noise: Span
    total: Span


def best_guess(epsilon: float) -> float:
    r"""How often a guess between two values is right at most, after seeing the answer: $e^\epsilon/(1+e^\epsilon)$."""
    return 1 / (1 + math.exp(-epsilon))


@lru_cache(maxsize=8)
def epsilon_choices(made: Plan) -> tuple[EpsilonChoice, ...]:
    """Quarter, half, twice and four times the ε of a plan, where there are such."""
    rows = []
    for factor in EPSILON_FACTORS:
        epsilon = float(made.privacy.epsilon) * factor
        if factor != 1 and not _LEAST <= epsilon <= _MOST:
            continue
        text = made.privacy.epsilon if factor == 1 else f"{epsilon:.3g}"
        ours = (made if factor == 1 else again(made, epsilon=text))["adaptive"]
        rows.append(EpsilonChoice(text, best_guess(float(text)), ours.rmse, ours.half_width))
    return tuple(rows)


@lru_cache(maxsize=8)
def bounds_choices(made: Plan) -> tuple[BoundsChoice, ...]:
    """Tighter and wider bounds, with the bound moved that is farther from the mean (the upper one if nobody knows)."""
    rows = []
    for factor in WIDTH_FACTORS:
        try:
            rows.append(_bounds_choice(made, factor))
        except ParameterError:  # no values between such bounds have this mean, spread or gap
            continue
    return tuple(rows)


def _bounds_choice(made: Plan, factor: float) -> BoundsChoice:
    (lower, upper), width = made.bounds, factor * made.width
    from_above = made.mean is not None and made.mean - lower > upper - made.mean  # then the lower bound moves
    bounds = (upper - width, upper) if from_above else (lower, lower + width)
    if factor == 1:
        bounds = made.bounds
    if made.sd is None or made.mean is None:
        noise = (made if factor == 1 else errors_again(made, bounds=bounds))["adaptive"].rmse
        return BoundsChoice(bounds, None, None, None, noise, noise)
    values = _values(made, from_above=from_above)
    kept = np.minimum(values, width)
    pull = float(values.mean() - kept.mean())
    mean = upper - float(kept.mean()) if from_above else lower + float(kept.mean())
    most = (1 - 1e-9) * largest_sd(float(kept.mean()) / width) * width / max(made.variance_ratio, 1.0) ** 0.5
    changes = {} if factor >= 1 else {"mean": mean, "sd": min(float(kept.std()), made.sd, most)}
    noise = (made if factor == 1 else errors_again(made, bounds=bounds, **changes))["adaptive"].rmse
    total = Span(math.hypot(noise.best, pull), math.hypot(noise.worst, pull))
    tail = _tail_pull(float(values.mean()), made.sd, width)
    return BoundsChoice(bounds, float(np.mean(values > width)), pull, tail, noise, total)


def _tail_pull(mean: float, sd: float, most: float) -> float:
    r"""$E[(X-u)_+]$ of a lognormal $X$: $m \Phi(d + v) - u \Phi(d)$ with $v^2 = \log(1 + s^2/m^2)$.

    Here $d = (\log(m/u) - v^2/2)/v$, $m$ and $s$ are mean and standard deviation, and $u$ is the bound.
    """
    from scipy.special import ndtr

    if sd == 0 or mean == 0:
        return max(mean - most, 0.0)
    v = math.sqrt(math.log1p((sd / mean) ** 2))
    d = (math.log(mean / most) - v**2 / 2) / v
    return max(float(mean * ndtr(d + v) - most * ndtr(d)), 0.0)


def _values(made: Plan, *, from_above: bool) -> FloatArray:
    """Distances of the assumed values from the bound that stays."""
    if made.sd is None or made.mean is None:
        raise ParameterError("sd and mean", "given", (made.sd, made.mean), shown_as="they")
    far = made.bounds[1] - made.mean if from_above else made.mean - made.bounds[0]
    result: FloatArray = values_like(far / made.width, made.sd / made.width, _VALUES) * made.width
    return result
