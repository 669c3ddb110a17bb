r"""The window channel for numbers: one byte per report, near the least variance possible.

The rows of its table stand for the inputs $t_0 < t_1 < \dots$, each *defined* as the exact mean of its row, so a report
is unbiased by construction. An input in between is rounded to one of its two neighbors at random. Both steps are
whole numbers: the input is a number of units (`Grid`), and a table of 4,097 entries (`lookup`) turns it and 32
random bits into a row.

With the right values the variance of a report is within a tenth of a percent of the least that any unbiased ε-private
report can have (ε up to 3; 2 % at 8), and nearly the same for every input: up to ε = 10 the worst is at most 2.5 %
above the average over uniform inputs. It is a drop-in for the local noise of the paper.

Inputs and code values are in *half ranges* here: the lower bound is -1, the upper bound is 1. Variances are given for
the unit range (a quarter of that), so that for bounds (lower, upper) they are multiplied by (upper - lower)².
"""

import json
from bisect import bisect_right
from fractions import Fraction
from functools import cached_property, lru_cache
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.channels.channel import CHUNK, Channel, integer_inputs, is_integer, require
from hybriddp.channels.shapes import N_CODES, WindowShape, best_shape
from hybriddp.channels.window import OfWindow, Window
from hybriddp.errors import DataError
from hybriddp.grid import UNITS, Grid, as_array, as_floats, read_only
from hybriddp.privacy import canonical_epsilon
from hybriddp.randomness import byte_source

VALUE_BITS = 24  # code values are whole multiples of 2^-24 half ranges
LARGEST_VALUE = 1 << 40
CELL_BITS = 12  # the units are cut into 4,096 cells of 4,096 units
CELLS = UNITS >> CELL_BITS
SHARE_BITS = 32 - CELL_BITS
_SHARES = 1 << SHARE_BITS


class NumberChannel(Channel):
    """A channel that takes units of a grid, and so any number between bounds."""

    def check_inputs(self, inputs: ArrayLike) -> NDArray[Any]:
        return integer_inputs(inputs, UNITS, "units")

    def randomize(
        self, values: ArrayLike, *, bounds: tuple[float, float], random_state: int | np.random.Generator | None = None
    ) -> NDArray[Any]:
        """One report for each value, as the users' own devices would make it.

        There is one number or a one-dimensional array of any numeric type; a missing or infinite value is an error.
        Values outside of the public ``bounds`` are moved to the nearer one. A ``random_state`` is for simulation only:
        with it the codes can be repeated, and are **not private**.
        """
        grid = Grid.of(bounds)
        array = as_array(values)
        if array.ndim > 1:
            raise DataError(f"values must be a scalar or one-dimensional, got shape {array.shape}.")
        flat = np.atleast_1d(array)
        grid.refuse_missing(flat, chunk=CHUNK)
        codes = self.draw(len(flat), lambda part: grid.units(as_floats(flat[part])), byte_source(random_state))
        return codes if array.ndim else codes[0]


class WindowChannel(OfWindow, NumberChannel):
    """The best one-byte report of a number.

    Parameters
    ----------
    epsilon : float or str
        What a report promises, from 0.01 to 20.

    Examples
    --------
    >>> channel = WindowChannel(epsilon=1.0)
    >>> channel
    WindowChannel(epsilon='1', n_codes=256)
    >>> channel.worst_variance  # Laplace noise has 2.0
    0.9977
    >>> code = channel.randomize(37.5, bounds=(0, 240))
    >>> code.dtype
    dtype('uint8')
    """

    kind: ClassVar[str] = "window"
    width_field: ClassVar[str] = "window"

    half: tuple[int, ...]
    """The values of the upper half of the codes, in multiples of $2^{-24}$ half ranges."""

    def __init__(self, *, epsilon: float | str) -> None:
        self.epsilon = canonical_epsilon(epsilon)
        stored = _common().get(self.epsilon)
        if stored is not None:
            self.window = Window.for_epsilon(self.epsilon, n_codes=N_CODES, width=stored["window"])
            self.half = tuple(stored["half"])
        else:
            shape = best_shape(float(self.epsilon))
            self.window = Window.for_epsilon(self.epsilon, n_codes=N_CODES, width=shape.width)
            self.half = whole_values(shape, self.window)
        self._seal()

    def verify(self) -> None:
        """Prove privacy, and that the rows stand for increasing inputs that cover the range; under a millisecond."""
        super().verify()
        require(self.n_codes == N_CODES, f"its number of codes is not {N_CODES}")
        halves = isinstance(self.half, tuple) and len(self.half) == N_CODES // 2
        require(halves, "it has not one value for each upper code")
        require(all(is_integer(v, 0, LARGEST_VALUE) for v in self.half), "its values are not integers from 0 to 2^40")
        one = 1 << (self.bits + VALUE_BITS)
        means = [total for total, _ in self.row_sums()]
        require(all(a < b for a, b in pairwise(means)), "its rows' means do not increase")
        require(means[0] <= -one and means[-1] >= one, "its rows do not cover the range")

    # The table

    @property
    def n_rows(self) -> int:
        """Number of rows of the table, $n - k + 1$."""
        return self.window.n_codes - self.window.width + 1

    @property
    def code_values(self) -> tuple[int, ...]:
        """The value of each code: the upper half, and its mirror image."""
        return tuple(-v for v in reversed(self.half)) + self.half

    @property
    def values(self) -> FloatArray:
        """The value of each code on the unit range: 0 is the lower bound, 1 the upper one."""
        return 0.5 + 0.5 * np.array(self.code_values) / (1 << VALUE_BITS)

    def row_sums(self) -> list[tuple[int, int]]:
        """For each row, the sum of weight times value (the low weights cancel), and of weight times squared value."""
        k, a, b = self.window.width, self.window.low, self.window.extra
        totals = [0, *accumulate(self.code_values)]
        squares = [0, *accumulate(v * v for v in self.code_values)]
        return [
            (b * (totals[j + k] - totals[j]), a * squares[-1] + b * (squares[j + k] - squares[j]))
            for j in range(self.n_rows)
        ]

    @cached_property
    def probabilities(self) -> FloatArray:
        """The table as floats: one row per input, one column per code. For errors and simulations, not for draws."""
        return read_only(np.array([self.weights(row) for row in range(self.n_rows)], float) / (1 << self.bits))

    # A report

    @property
    def bytes_per_report(self) -> int:
        """A word for the code, and one of the same size whose low 32 bits choose the row."""
        return 2 * self.window.bytes_of_a_draw

    def codes(self, inputs: NDArray[Any], raw: NDArray[np.uint8]) -> NDArray[Any]:
        """Per report, little endian: a word ``u`` that chooses the code, and one that chooses the row."""
        words = self.draws(raw)  # copied where every second one is used: contiguous is three times as fast
        row = self.rows(inputs, words[1::2].astype(np.uint32))
        return self.window.code(row, words[0::2].copy()).astype(self.code_type)

    def rows(self, units: NDArray[Any], random: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Choose the row of each input.

        The upper 12 random bits choose the edge of a cell, and the lower 20 choose a row.
        """
        edge = units.astype(np.uint32)
        edge += random >> np.uint32(SHARE_BITS)
        edge >>= np.uint32(CELL_BITS)
        entry = np.take(self.lookup, edge, mode="clip")  # never clips; faster than indexing
        row = entry >> np.uint32(SHARE_BITS)
        entry &= np.uint32(_SHARES - 1)
        row += (random & np.uint32(_SHARES - 1)) < entry
        return row

    @cached_property
    def lookup(self) -> NDArray[np.uint32]:
        """For each cell's edge, the row below it (upper 12 bits) and the share of draws that go one higher."""
        one = 1 << (self.bits + VALUE_BITS)
        means = [total for total, _ in self.row_sums()]
        entries = []
        for edge in range(CELLS + 1):
            position = (2 * edge - CELLS) * one // CELLS  # exact: CELLS divides one
            row = min(bisect_right(means, position) - 1, self.n_rows - 2)
            gap = means[row + 1] - means[row]
            share = (2 * (position - means[row]) * _SHARES + gap) // (2 * gap)  # rounded to the nearest
            entries.append((row << SHARE_BITS) + share)  # a full share carries into the row
        return read_only(np.array(entries, np.uint32))

    # How wrong a report is

    def row_mean(self, row: int) -> Fraction:
        """Return the exact input that the row stands for, in half ranges."""
        return Fraction(self.row_sums()[row][0], 1 << (self.bits + VALUE_BITS))

    def row_variance(self, row: int) -> Fraction:
        """Compute the exact variance of the code's value in this row.

        The variance refers to the unit range.
        """
        total, square = self.row_sums()[row]
        one = 1 << (self.bits + VALUE_BITS)
        return (Fraction(square, one << VALUE_BITS) - Fraction(total, one) ** 2) / 4

    def variance(self, x: ArrayLike) -> FloatArray:
        """Compute the variance of a report of ``x`` on the unit range.

        The variance includes both random roundings.
        """
        position = _check.numbers("x", x, _check.WEIGHT) * CELLS
        cell = np.minimum(np.floor(position), CELLS - 1).astype(np.int64)
        inside = position - cell
        m, s = self._moments
        mean = m[cell] + inside * (m[cell + 1] - m[cell])
        square = s[cell] + inside * (s[cell + 1] - s[cell])
        return (square - mean**2) / 4

    @cached_property
    def worst_variance(self) -> float:
        """The largest variance of a report over all inputs, on the unit range."""
        m, s = self._moments
        step_m, step_s = np.diff(m), np.diff(s)
        # Inside a cell the variance s + f·Δs - (m + f·Δm)² is a concave parabola in f.
        inside = np.clip((step_s / (2 * step_m) - m[:-1]) / step_m, 0.0, 1.0)
        return float(np.max(s[:-1] + inside * step_s - (m[:-1] + inside * step_m) ** 2)) / 4

    @cached_property
    def least_variance(self) -> float:
        """The smallest variance of a report over all inputs, on the unit range: at a cell's edge."""
        m, s = self._moments
        return float(np.min(s - m**2)) / 4

    @cached_property
    def mean_variance(self) -> float:
        """The variance of a report, averaged over inputs that are uniform between the bounds."""
        m, s = self._moments
        mean_squared = (m[:-1] ** 2 + m[:-1] * m[1:] + m[1:] ** 2) / 3
        return float(np.mean((s[:-1] + s[1:]) / 2 - mean_squared)) / 4

    @cached_property
    def worst_bias(self) -> Fraction:
        """The largest bias of a report over all units, as a fraction of the range, exactly.

        Between the edges of a cell the mean of a report is exactly linear in the units, so the largest is at an edge.
        """
        sums = self.row_sums()
        one = 1 << (self.bits + VALUE_BITS)
        worst = 0
        for edge, entry in enumerate(self.lookup.tolist()):
            row, share = entry >> SHARE_BITS, entry & (_SHARES - 1)
            above = sums[min(row + 1, self.n_rows - 1)][0]
            mean = sums[row][0] * (_SHARES - share) + above * share
            worst = max(worst, abs(mean - (2 * edge - CELLS) * one // CELLS * _SHARES))
        return Fraction(worst, 2 * one * _SHARES)

    @cached_property
    def square_values(self) -> FloatArray:
        """A second value of each code, whose mean in a row is about the *square* of the row's input, on the unit range.

        The square of a code's value is too large by the channel's variance, which depends on the input. Here that has
        been taken off row by row, by the smallest correction that does it, and the `rounding_variance` besides, since
        an input between two rows is rounded to one of them. So the mean of many estimates the mean square, and with it
        the variance of the values: without bias, if values lie anywhere between the rows.
        """
        variances = np.array([float(self.row_variance(row)) for row in range(self.n_rows)])
        middle = variances.mean()
        correction = middle + np.linalg.lstsq(self.probabilities, variances - middle, rcond=None)[0]
        return read_only(self.values**2 - correction - self.rounding_variance)

    @cached_property
    def rounding_variance(self) -> float:
        """What rounding an input to one of its two rows adds to the variance, on average over uniform inputs."""
        return float((self._row_gaps**3).sum() / 6)

    @cached_property
    def worst_rounding_variance(self) -> float:
        """The most that rounding an input to one of its two rows can add: halfway between the two farthest rows."""
        return float(self._row_gaps.max() ** 2) / 4

    @cached_property
    def _row_gaps(self) -> FloatArray:
        """The distances between the inputs of neighboring rows, on the unit range."""
        rows = [float(self.row_mean(row)) / 2 for row in range(self.n_rows)]
        return read_only(np.diff(np.clip(rows, -0.5, 0.5)))

    @property
    def largest_value(self) -> float:
        """How far from the middle of the range a single report can lie, in half ranges: what a forger can do."""
        return max(map(abs, self.code_values)) / (1 << VALUE_BITS)

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """First and second moments of a report at the edges of the cells, in half ranges."""
        sums = self.row_sums()
        one = 1 << (self.bits + VALUE_BITS)
        moments = np.array([[total / one, square / (one << VALUE_BITS)] for total, square in sums])
        row = (self.lookup >> SHARE_BITS).astype(np.int64)
        share = (self.lookup & (_SHARES - 1)) / _SHARES
        above = np.minimum(row + 1, self.n_rows - 1)
        mean, square = (read_only(m[row] + share * (m[above] - m[row])) for m in moments.T)
        return mean, square

    # As text

    def fields(self) -> dict[str, Any]:
        return {**super().fields(), "half": list(self.half)}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        window = Window.from_fields(fields, fields[cls.codes_field], fields[cls.width_field])
        return cls.of(epsilon=fields["epsilon"], window=window, half=tuple(fields["half"]))


def whole_values(shape: WindowShape, window: Window) -> tuple[int, ...]:
    """Scale the shape and round its values up to whole values.

    The last row then stands for the upper bound.
    """
    half = np.maximum.accumulate(np.maximum(shape.half, 0.0))
    full = np.concatenate([-half[::-1], half])
    last = window.extra / (1 << window.bits) * full[-window.width :].sum()
    return tuple(int(v) for v in np.ceil(half / last * (1 << VALUE_BITS)))


@lru_cache(maxsize=1)
def _common() -> dict[str, dict[str, Any]]:
    """Load the shapes of common ε that have no closed form.

    ``scripts/make_common.py`` creates them. They are verified when they are used.
    """
    path = files("hybriddp.channels") / "common.json"
    stored: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return stored
