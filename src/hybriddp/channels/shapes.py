r"""What the codes of a window channel should be worth, so that a report varies as little as possible.

Codes come in mirrored pairs, so a shape is the values of the upper half. In the continuum, the variance is the same
for every input exactly if a linear delay equation holds between the values and the rows' means. It has two solutions
in closed form:

- a window over half of the codes with exponential values, the best for ε ≤ 0.75: the *i*-th code above the center is
  worth $\propto \exp(2 D (i + 1/2)/n)$, $D = 2\tanh(\epsilon/2)$;
- a short window with sine values, the best for ε ≥ 5.5: $\propto \sin(\mu (i + 1/2)/n)$, where $\mu$ is the smallest
  positive root of $\tan(\mu w/2) = \mu/(2D)$, $w = k/n$, $D = (e^\epsilon - 1)/(1 + (e^\epsilon - 1) w)$.

In between, and for averages over a prior, the values are optimized numerically (`optimal.py`). Values need no proof:
wrong ones make a worse estimate, never a less private report.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray

HALF_WINDOW_UP_TO = 0.75
SINE_WINDOW_FROM = 5.5


@dataclass(frozen=True, slots=True)
class Shape:
    """The window's width in codes, and the values of the upper half of the codes up to a factor."""

    width: int
    half: FloatArray


@dataclass(frozen=True, slots=True)
class RowMoments:
    """The rows of a shape, scaled to cover [-1, 1]: their means, and the mean squares of the code values."""

    mean: FloatArray
    square: FloatArray

    def worst_variance(self) -> float:
        """The largest variance over all inputs, random rounding between rows included, in half ranges."""
        if np.any(np.diff(self.mean) < 1e-6):
            return math.inf  # rows that stand for the same input waste codes, and no channel is made of them
        slope = np.diff(self.square) / np.diff(self.mean)
        x = np.clip(slope / 2, self.mean[:-1], self.mean[1:])
        return float(np.max(self.square[:-1] + slope * (x - self.mean[:-1]) - x**2))

    def mean_variance(self) -> float:
        """The variance averaged over uniform inputs, in half ranges."""
        return float(np.sum(np.diff(self.mean) * (self.square[:-1] + self.square[1:])) / 4 - 1 / 3)


def row_moments(epsilon: float, shape: Shape) -> RowMoments:
    """The rows of a shape with real-valued weights."""
    n, k = 2 * len(shape.half), shape.width
    low = 1 / (n + k * math.expm1(epsilon))
    extra = low * math.expm1(epsilon)
    full = np.concatenate([-shape.half[::-1], shape.half])
    full = full / (extra * full[-k:].sum())
    totals = np.concatenate([[0.0], np.cumsum(full)])
    squares = np.concatenate([[0.0], np.cumsum(full**2)])
    return RowMoments(
        mean=extra * (totals[k:] - totals[:-k]), square=low * squares[-1] + extra * (squares[k:] - squares[:-k])
    )


@lru_cache(maxsize=64)
def best_shape(epsilon: float, *, n_codes: int, prior: str | None) -> Shape:
    """The shape with the least worst-case variance, or with the least average one if there is a prior."""
    if prior is None and epsilon <= HALF_WINDOW_UP_TO:
        return half_window(epsilon, n_codes)
    if prior is None and epsilon >= SINE_WINDOW_FROM:
        return sine_window(epsilon, n_codes)
    from threadpoolctl import threadpool_limits

    from hybriddp.channels.optimal import least_mean, least_worst

    with threadpool_limits(1):  # more threads on a busy machine wait for each other: a hundred times slower
        return least_worst(epsilon, n_codes) if prior is None else least_mean(epsilon, n_codes)


def half_window(epsilon: float, n_codes: int) -> Shape:
    """The exponential shape on a window of half of the codes."""
    d = 2 * math.tanh(epsilon / 2)
    i = np.arange(n_codes // 2)
    return Shape(width=n_codes // 2, half=np.exp(2 * d * (i + 0.5) / n_codes))


def sine_window(epsilon: float, n_codes: int) -> Shape:
    """The sine shape on the window for which it varies least."""
    shapes = [shape for k in range(1, n_codes // 2) if (shape := _sine(epsilon, n_codes, k)) is not None]
    return min(shapes, key=lambda shape: row_moments(epsilon, shape).worst_variance())


def _sine(epsilon: float, n_codes: int, k: int) -> Shape | None:
    """The sine shape on a window of ``k`` codes; None if its values would turn back before the last code."""
    w = k / n_codes
    d = math.expm1(epsilon) / (1 + math.expm1(epsilon) * w)
    low, high = 0.0, math.pi  # tan(μw/2) starts below μ/(2D), because D w < 1, and overtakes it once
    if 2 * d * math.sin(high * w / 2) < high * math.cos(high * w / 2):
        return None
    for _ in range(60):
        middle = (low + high) / 2
        if 2 * d * math.sin(middle * w / 2) < middle * math.cos(middle * w / 2):
            low = middle
        else:
            high = middle
    return Shape(width=k, half=np.sin(low * (np.arange(n_codes // 2) + 0.5) / n_codes))
