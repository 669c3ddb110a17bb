"""Tables of your own: any finite channel for numbers, made exact.

`TableChannel.from_probabilities` takes the real-valued table of a paper or a solver and rounds it so that nothing has
to be believed: columns are clamped into the odds that ε allows, rows are filled up to $2^{32}$ where there is room, and
the inputs that the rows stand for are *redefined* as the rows' exact means.
"""

from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp.channels.channel import is_integer, require, require_private
from hybriddp.channels.numeric import LARGEST_VALUE, MOST_ROWS, VALUE_BITS, NumericChannel
from hybriddp.errors import ParameterError
from hybriddp.grid import read_only
from hybriddp.privacy import SHIFT, canonical_epsilon, odds

BITS = 32
MOST_CODES = 1 << 12
MOST_ENTRIES = 1 << 20


class TableChannel(NumericChannel):
    """A channel for numbers given by its table of integers.

    Parameters
    ----------
    epsilon : float or str
        What a report promises, from 0.01 to 20.
    rows : sequence of sequences of int
        Row *j* has the number of draws, of $2^{32}$, that give each code. Rows stand for increasing inputs.
    values : sequence of int
        The value of each code, in multiples of $2^{-24}$ half ranges (-1 is the lower bound, 1 the upper one).
    """

    kind: ClassVar[str] = "table"
    bits = BITS
    bytes_per_report = 8  # a word for the code and one for the row

    def __init__(self, *, epsilon: float | str, rows: Any, values: Any) -> None:  # noqa: ANN401
        self.epsilon = canonical_epsilon(epsilon)
        try:
            self.rows_of_weights: tuple[tuple[int, ...], ...] = tuple(tuple(row) for row in rows)
            self._code_values: tuple[int, ...] = tuple(values)
        except TypeError:
            raise ParameterError("rows", "a sequence of rows, and values a sequence of numbers", rows) from None
        self._seal()

    @classmethod
    def from_probabilities(cls, probabilities: ArrayLike, values: ArrayLike, *, epsilon: float | str) -> "TableChannel":
        """The exact channel nearest to a real-valued one.

        Parameters
        ----------
        probabilities : array_like
            Row *j* has the probability of each code when the input is the *j*-th; rows stand for increasing inputs.
        values : array_like
            The value of each code, with inputs between -1 and 1.
        epsilon : float or str
            What the channel is supposed to promise. Probabilities beyond that are clamped to it.
        """
        text = canonical_epsilon(epsilon)
        p = np.atleast_2d(_check.numbers("probabilities", probabilities, _check.WEIGHT))
        v = np.atleast_1d(_check.numbers("values", values))
        if p.ndim != 2 or v.shape != p.shape[1:] or min(p.shape) < 2:
            raise ParameterError("probabilities", "a table with a column for each value", p.shape, shown_as="shape")
        if np.any(np.abs(p.sum(axis=1) - 1) > 1e-6):
            raise ParameterError("probabilities", "rows that each add up to 1", p.sum(axis=1).tolist(), shown_as="sums")
        rows = _whole_rows(p, odds(text))
        return cls(epsilon=text, rows=rows, values=_whole_values(rows, v))

    def verify(self) -> None:
        """Prove privacy column by column, and that the rows cover the range."""
        rows, n = self.rows_of_weights, len(self._code_values)
        require(2 <= n <= MOST_CODES, f"its number of codes is not from 2 to {MOST_CODES}")
        require(len(rows) <= MOST_ROWS, f"it has more than {MOST_ROWS} rows")
        require(n * len(rows) <= MOST_ENTRIES, f"it has more than {MOST_ENTRIES} entries")
        require(all(len(row) == n for row in rows), "its rows have not one weight for each code")
        require(all(is_integer(w, 1, 1 << BITS) for row in rows for w in row), "its weights are not positive integers")
        require(all(sum(row) == 1 << BITS for row in rows), "its rows do not add up to 2^32")
        for column in zip(*rows, strict=True):
            require_private(max(column), min(column), self.epsilon)
        whole = all(is_integer(v, -LARGEST_VALUE, LARGEST_VALUE) for v in self._code_values)
        require(whole, "its values are not integers of at most 2^40")
        self.verify_rows()

    @property
    def n_codes(self) -> int:
        return len(self._code_values)

    @property
    def n_rows(self) -> int:
        return len(self.rows_of_weights)

    @property
    def code_values(self) -> tuple[int, ...]:
        return self._code_values

    def weights(self, row: int) -> tuple[int, ...]:
        return self.rows_of_weights[row]

    def row_sums(self) -> list[tuple[int, int]]:
        v = self._code_values
        return [
            (sum(w * x for w, x in zip(row, v, strict=True)), sum(w * x * x for w, x in zip(row, v, strict=True)))
            for row in self.rows_of_weights
        ]

    def codes(self, inputs: NDArray[Any], raw: NDArray[np.uint8]) -> NDArray[Any]:
        """Per report, little endian: a word ``u`` that chooses the code, and one that chooses the row.

        The code is the number of codes whose draws end at or below ``u``, counted over all of them: neither time nor
        memory depends on where the count stops.
        """
        words = raw.view("<u4")
        u, row = words[0::2].copy(), self.rows(inputs, words[1::2].copy())
        code = np.zeros(len(row), np.uint32)
        for end in self._ends:
            code += u >= end[row]
        return code.astype(self.code_type)

    @cached_property
    def _ends(self) -> NDArray[np.uint32]:
        """For each code but the last, where its draws end in each row."""
        ends = np.cumsum(np.array(self.rows_of_weights, np.uint64), axis=1)[:, :-1].astype(np.uint32)
        return read_only(np.ascontiguousarray(ends.T))

    def fields(self) -> dict[str, Any]:
        rows = [list(row) for row in self.rows_of_weights]
        return {"epsilon": self.epsilon, "values": list(self._code_values), "rows": rows}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        rows, values = tuple(tuple(row) for row in fields["rows"]), tuple(fields["values"])
        return cls.of(epsilon=fields["epsilon"], rows_of_weights=rows, _code_values=values)


def _whole_rows(p: NDArray[np.float64], limit: int) -> list[list[int]]:
    """Whole weights within the odds: a floor for each column, and each row filled up where it has room."""
    total = 1 << BITS
    floors = [max(1, int(low * total)) for low in p.min(axis=0)]
    ceilings = [min(total, (floor * limit) >> SHIFT) for floor in floors]
    rows = []
    for row in p:
        whole = [min(max(round(x * total), lo), hi) for x, lo, hi in zip(row.tolist(), floors, ceilings, strict=True)]
        rest = total - sum(whole)
        # The largest weights take the remainder first: there a unit changes the odds least.
        for code in sorted(range(len(whole)), key=lambda c: -whole[c]):
            step = min(rest, ceilings[code] - whole[code]) if rest > 0 else max(rest, floors[code] - whole[code])
            whole[code] += step
            rest -= step
        if rest:
            expected = "a table that is nearly private for this epsilon"
            raise ParameterError("probabilities", expected, rest, shown_as="rest")
        rows.append(whole)
    return rows


def _whole_values(rows: list[list[int]], v: NDArray[np.float64]) -> list[int]:
    """Values shifted and scaled until the first and last rows stand for the bounds, rounded away from the middle."""
    weights = np.array(rows, np.float64) / (1 << BITS)
    with np.errstate(over="ignore", invalid="ignore"):
        first, last = float(weights[0] @ v), float(weights[-1] @ v)
        if not np.isfinite(2 * (np.abs(v).max() + abs(first) + abs(last))):
            raise ParameterError("values", "small enough to compute with", v.tolist())
    if not first < last:
        raise ParameterError("values", "such that the rows' means increase", [first, last], shown_as="means")
    scaled = (2 * v - (first + last)) / (last - first) * (1 + 2.0**-20)
    return [int(x) for x in np.round(scaled * (1 << VALUE_BITS))]
