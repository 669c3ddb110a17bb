r"""The values of the codes by optimization, where no closed form is known.

For a window of fixed width the variance in every row is a convex quadratic in the values, so the least worst-case
variance is a convex programme: minimize $V$ subject to $\mathrm{Var}_j(v) \le V$ for every row and the last row's
mean being 1. The best width is searched on a quarter of the codes and refined on all of them.
"""

import math
from collections.abc import Iterable

import numpy as np
from scipy.optimize import minimize

from hybriddp._check import FloatArray
from hybriddp.channels.shapes import Shape, half_window, row_moments

_COARSE = 4  # the coarse search uses a quarter of the codes


class _Programme:
    """The rows of a window as quadratic forms in the values of the upper half, for rows from the middle up."""

    def __init__(self, epsilon: float, n_codes: int, width: int) -> None:
        self.low = 1 / (n_codes + width * math.expm1(epsilon))
        self.extra = self.low * math.expm1(epsilon)
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
        """The values with the least worst-case variance over the rows."""
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


def least_worst(epsilon: float, n_codes: int) -> Shape:
    """The shape with the least worst-case variance."""
    coarse_codes = max(n_codes // _COARSE // 2 * 2, 16)
    search = _Search(epsilon, coarse_codes, half_window(min(epsilon, 1.0), coarse_codes).half)
    widths = range(1, coarse_codes // 2 + 1)
    best = search.best(search.best(widths[::3]) + step for step in (-2, -1, 0, 1, 2))
    if coarse_codes == n_codes:
        return search.tried[best]
    place = (np.arange(n_codes // 2) + 0.5) / n_codes
    start = np.interp(place, (np.arange(coarse_codes // 2) + 0.5) / coarse_codes, search.tried[best].half)
    search = _Search(epsilon, n_codes, start)
    width = round(best * n_codes / coarse_codes)
    for step in (2, 1):
        width = search.best((width - step, width, width + step))
    return search.tried[width]


class _Search:
    """Widths that have been tried, with their solutions; each solution starts from the best one so far."""

    def __init__(self, epsilon: float, n_codes: int, start: FloatArray) -> None:
        self.epsilon, self.n_codes, self.start = epsilon, n_codes, start
        self.tried: dict[int, Shape] = {}

    def best(self, widths: Iterable[int]) -> int:
        """The width among these that varies least; those that are no widths are passed over."""
        allowed = [width for width in widths if 1 <= width <= self.n_codes // 2]
        best = min(allowed, key=self._variance)
        self.start = self.tried[best].half
        return best

    def _variance(self, width: int) -> float:
        if width not in self.tried:
            half = _Programme(self.epsilon, self.n_codes, width).solve(self.start)
            self.tried[width] = Shape(width=width, half=half)
        return row_moments(self.epsilon, self.tried[width]).worst_variance()


def least_mean(epsilon: float, n_codes: int) -> Shape:
    """The shape with the least variance on average over uniform inputs.

    The average is not convex in the values; the descent starts from an exponential shape. Widths are tried downhill.
    """
    tried: dict[int, Shape] = {}
    start = half_window(min(epsilon, 1.0), n_codes).half

    def variance(width: int) -> float:
        if width not in tried:
            tried[width] = Shape(width=width, half=_descend(epsilon, Shape(width=width, half=start)))
        return row_moments(epsilon, tried[width]).mean_variance()

    width = min(range(n_codes // 16, n_codes // 2 + 1, n_codes // 16), key=variance)
    for step in (n_codes // 32, n_codes // 64, 2, 1):
        near = [w for w in (width - step, width, width + step) if 1 <= w <= n_codes // 2]
        width = min(near, key=variance)
    return tried[width]


def _descend(epsilon: float, start: Shape) -> FloatArray:
    """Minimize the average variance over positive, increasing values: the variables are logarithms of increments."""

    def target(logarithms: FloatArray) -> tuple[float, FloatArray]:
        increments = np.exp(logarithms)
        shape = Shape(width=start.width, half=np.cumsum(increments))
        average = row_moments(epsilon, shape).mean_variance()
        gradient = mean_variance_gradient(epsilon, shape)
        return math.log(average), np.cumsum(gradient[::-1])[::-1] * increments / average

    logarithms = np.log(np.diff(start.half, prepend=0.0))
    found = minimize(target, logarithms, jac=True, method="L-BFGS-B", options={"maxiter": 150})
    return np.cumsum(np.exp(found.x))


def mean_variance_gradient(epsilon: float, shape: Shape) -> FloatArray:
    r"""The derivative of `RowMoments.mean_variance` by the values of the upper half.

    With rows' means $t_j$ and mean squares $M_j$ it is $F = \sum_j (t_{j+1} - t_j)(M_j + M_{j+1})/4 - 1/3$.
    """
    n, k = 2 * len(shape.half), shape.width
    low = 1 / (n + k * math.expm1(epsilon))
    extra = low * math.expm1(epsilon)
    moments = row_moments(epsilon, shape)
    t, m = np.diff(moments.mean), moments.square[:-1] + moments.square[1:]
    by_mean = (np.append(0.0, m) - np.append(m, 0.0)) / 4
    by_square = (np.append(0.0, t) + np.append(t, 0.0)) / 4
    scale = extra * np.concatenate([-shape.half[::-1], shape.half])[-k:].sum()
    full = np.concatenate([-shape.half[::-1], shape.half]) / scale
    by_value = extra * _per_code(by_mean, k) + 2 * full * (low * by_square.sum() + extra * _per_code(by_square, k))
    # The values are scaled so that the last row's mean is 1.
    by_value = by_value / scale
    by_value[-k:] -= extra * (by_value @ full)
    result: FloatArray = by_value[n // 2 :] - by_value[n // 2 - 1 :: -1]
    return result


def _per_code(of_rows: FloatArray, width: int) -> FloatArray:
    """For each code, the sum over the rows whose window contains it."""
    return np.convolve(of_rows, np.ones(width))
