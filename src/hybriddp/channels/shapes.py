r"""What the codes of a window channel should be worth, so that a report varies as little as possible.

Codes come in mirrored pairs, so a shape is the values of the upper half. In the continuum, the variance is the same
for every input exactly if a linear delay equation holds between the values and the rows' means. It has two solutions
in closed form:

- a window over half of the codes with exponential values, the best for ε ≤ 0.75: the *i*-th code above the center is
  worth $\propto \exp(2 D (i + 1/2)/n)$, $D = 2\tanh(\epsilon/2)$;
- a short window with sine values, the best for ε ≥ 5.5: $\propto \sin(\mu (i + 1/2)/n)$, where $\mu$ is the smallest
  positive root of $\tan(\mu w/2) = \mu/(2D)$, $w = k/n$, $D = (e^\epsilon - 1)/(1 + (e^\epsilon - 1) w)$.

In between, the values are optimized. For a window of fixed width the variance in every
row is a convex quadratic in the values, so the least worst-case variance is a convex program: minimize $V$ subject to
$\mathrm{Var}_j(v) \le V$ for every row and the last row's mean being 1. The best width is searched on a quarter of the
codes and refined on all of them.

Values need no proof: wrong ones make a worse estimate, never a less private report.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray

N_CODES = 256  # they fill a byte
HALF_WINDOW_UP_TO = 0.75
SINE_WINDOW_FROM = 5.5
_COARSE = 4  # the coarse search for a width uses a quarter of the codes


@dataclass(frozen=True, slots=True)
class WindowShape:
    """The window's width in codes, and the values of the upper half of the codes up to a factor."""

    width: int
    half: FloatArray


@dataclass(frozen=True, slots=True)
class RowMoments:
    """The rows of a shape, scaled to cover [-1, 1]: their means, and the mean squares of the code values."""

    mean: FloatArray
    square: FloatArray

    def worst_variance(self) -> float:
        """Compute the largest variance over all inputs, in half ranges.

        The variance includes random rounding between rows.
        """
        if np.any(np.diff(self.mean) < 1e-6):
            return math.inf  # rows that stand for the same input waste codes, and no channel is made of them
        slope = np.diff(self.square) / np.diff(self.mean)
        x = np.clip(slope / 2, self.mean[:-1], self.mean[1:])
        return float(np.max(self.square[:-1] + slope * (x - self.mean[:-1]) - x**2))


def _weights(epsilon: float, n_codes: int, width: int) -> tuple[float, float]:
    """Return the low weight of a code and the extra weight inside of the window.

    Both are probabilities.
    """
    low = 1 / (n_codes + width * math.expm1(epsilon))
    return low, low * math.expm1(epsilon)


def row_moments(epsilon: float, shape: WindowShape) -> RowMoments:
    """Compute the moments of the rows of a shape with real-valued weights."""
    k = shape.width
    low, extra = _weights(epsilon, 2 * len(shape.half), k)
    full = np.concatenate([-shape.half[::-1], shape.half])
    full = full / (extra * full[-k:].sum())
    totals = np.concatenate([[0.0], np.cumsum(full)])
    squares = np.concatenate([[0.0], np.cumsum(full**2)])
    return RowMoments(
        mean=extra * (totals[k:] - totals[:-k]), square=low * squares[-1] + extra * (squares[k:] - squares[:-k])
    )


@lru_cache(maxsize=64)
def best_shape(epsilon: float) -> WindowShape:
    """Find the shape of 256 codes with the least worst-case variance."""
    if epsilon <= HALF_WINDOW_UP_TO:
        return half_window(epsilon, N_CODES)
    if epsilon >= SINE_WINDOW_FROM:
        return sine_window(epsilon, N_CODES)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # more threads on a busy machine wait for each other: a hundred times slower
        return least_worst(epsilon, N_CODES)


def half_window(epsilon: float, n_codes: int) -> WindowShape:
    """Return the exponential shape on a window of half of the codes."""
    d = 2 * math.tanh(epsilon / 2)
    i = np.arange(n_codes // 2)
    return WindowShape(width=n_codes // 2, half=np.exp(2 * d * (i + 0.5) / n_codes))


def sine_window(epsilon: float, n_codes: int) -> WindowShape:
    """Return the sine shape on the window with the least variance."""
    shapes = [shape for k in range(1, n_codes // 2) if (shape := _sine(epsilon, n_codes, k)) is not None]
    return min(shapes, key=lambda shape: row_moments(epsilon, shape).worst_variance())


def _sine(epsilon: float, n_codes: int, k: int) -> WindowShape | None:
    """Return the sine shape on a window of ``k`` codes.

    Returns None if the values of the shape would turn back before the last code.
    """
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
    return WindowShape(width=k, half=np.sin(low * (np.arange(n_codes // 2) + 0.5) / n_codes))


class _Program:
    """The rows of a window as quadratic forms in the values of the upper half, for rows from the middle up."""

    def __init__(self, epsilon: float, n_codes: int, width: int) -> None:
        self.low, self.extra = _weights(epsilon, n_codes, width)
        n_rows, half = n_codes - width + 1, n_codes // 2
        code = np.arange(n_codes)
        rows = np.arange(n_rows // 2, n_rows)[:, None]
        inside = ((code >= rows) & (code < rows + width)).astype(float)
        mirrored = inside[:, half - 1 :: -1]  # the lower half, whose values are the negatives of the upper half's
        self.count = inside[:, half:] + mirrored
        self.sign = inside[:, half:] - mirrored

    def variances(self, v: FloatArray) -> FloatArray:
        mean = self.extra * (self.sign @ v)
        result: FloatArray = 2 * self.low * (v @ v) + self.extra * (self.count @ (v * v)) - mean**2
        return result

    def gradients(self, v: FloatArray) -> FloatArray:
        mean = self.extra * (self.sign @ v)
        result: FloatArray = (
            2 * (2 * self.low + self.extra * self.count) * v - 2 * self.extra * mean[:, None] * self.sign
        )
        return result

    def solve(self, start: FloatArray) -> FloatArray:
        """Compute the values with the least worst-case variance over the rows."""
        from scipy.optimize import minimize

        last = np.append(self.extra * self.sign[-1], 0.0)
        start = start / (last[:-1] @ start)
        objective = np.append(np.zeros(len(start)), 1.0)
        found = minimize(
            lambda x: x[-1],
            np.append(start, self.variances(start).max()),
            jac=lambda _: objective,
            method="SLSQP",
            constraints=[
                {
                    "type": "ineq",
                    "fun": lambda x: x[-1] - self.variances(x[:-1]),
                    "jac": lambda x: np.hstack([-self.gradients(x[:-1]), np.ones((len(self.count), 1))]),
                },
                {"type": "eq", "fun": lambda x: last @ x - 1.0, "jac": lambda _: last[None, :]},
            ],
            options={"maxiter": 400, "ftol": 1e-10},
        )
        values: FloatArray = found.x[:-1]
        return values


class _Search:
    """Widths that have been tried, with their solutions; each solution starts from the best one so far."""

    def __init__(self, epsilon: float, start: FloatArray) -> None:
        self.epsilon, self.start = epsilon, start
        self.tried: dict[int, WindowShape] = {}

    def best(self, widths: Iterable[int]) -> int:
        """Return the width with the least variance.

        Numbers that are not valid widths are skipped.
        """
        best = min((width for width in widths if 1 <= width <= len(self.start)), key=self._variance)
        self.start = self.tried[best].half
        return best

    def _variance(self, width: int) -> float:
        if width not in self.tried:
            half = _Program(self.epsilon, 2 * len(self.start), width).solve(self.start)
            self.tried[width] = WindowShape(width=width, half=half)
        return row_moments(self.epsilon, self.tried[width]).worst_variance()


def least_worst(epsilon: float, n_codes: int) -> WindowShape:
    """Return the shape with the least worst-case variance."""
    coarse_codes = max(n_codes // _COARSE // 2 * 2, 16)
    search = _Search(epsilon, half_window(min(epsilon, 1.0), coarse_codes).half)
    widths = range(1, coarse_codes // 2 + 1)
    best = search.best(search.best(widths[::3]) + step for step in (-2, -1, 0, 1, 2))
    if coarse_codes == n_codes:
        return search.tried[best]
    place = (np.arange(n_codes // 2) + 0.5) / n_codes
    start = np.interp(place, (np.arange(coarse_codes // 2) + 0.5) / coarse_codes, search.tried[best].half)
    search, width = _Search(epsilon, start), round(best * n_codes / coarse_codes)
    for step in (2, 1):
        width = search.best((width - step, width, width + step))
    return search.tried[width]
