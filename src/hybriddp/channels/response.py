"""Randomized response: the window channel of width 1 over categories."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.channel import integer_inputs, require
from hybriddp.channels.symbol import SymbolChannel
from hybriddp.channels.window import MOST_CODES, OfWindow, Window
from hybriddp.errors import ParameterError
from hybriddp.odds import canonical_epsilon
from hybriddp.randomness import ByteSource


class WindowResponse(OfWindow, SymbolChannel):
    """A report of one code: each of the true ones with weight $a + b$, every other one with weight $a$."""

    @property
    def n_symbols(self) -> int:
        return self.window.n_codes

    @property
    def bytes_per_report(self) -> int:
        return self.window.bytes_of_a_draw

    def draws(self, raw: NDArray[np.uint8]) -> NDArray[Any]:
        """One uniform integer below $2^B$ per report, little endian."""
        return raw.view("<u4") if self.bytes_per_report == 4 else raw.view("<u8") & np.uint64((1 << self.bits) - 1)

    @property
    def hit_probability(self) -> float:
        return (self.window.low + self.window.extra) / (1 << self.bits)

    @property
    def miss_probability(self) -> float:
        return self.window.low / (1 << self.bits)

    def signed_variance(self, n_signed: int, fraction: FloatArray | float) -> FloatArray | float:
        r"""$m q/(p - q)^2 + \pi/(p - q)$: a report supports one symbol, with a sign or without."""
        return (n_signed * self.miss_probability / self.gap + fraction) / self.gap

    def valid_reports(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return (reports >= 0) & (reports < self.n_codes)

    def supports(self, reports: NDArray[Any], groups: IntArray, n_groups: int) -> IntArray:
        m = self.n_codes
        counts = np.bincount(groups * m + reports.astype(np.int64), minlength=n_groups * m)
        return counts.reshape(n_groups, m).astype(np.int64)

    def simulate_supports(self, symbols: IntArray, groups: IntArray, n_groups: int, source: ByteSource) -> IntArray:
        return self.supports(self.draw(len(symbols), lambda part: symbols[part], source), groups, n_groups)


class RandomizedResponse(WindowResponse):
    r"""A report of one of $d$ categories: the true one with weight $a + b$, every other one with weight $a$.

    Parameters
    ----------
    epsilon : float or str
        What a report promises, from 0.01 to 20.
    n_categories : int
        $d$, from 2 to 65,536; categories are numbered from 0.

    Examples
    --------
    >>> channel = RandomizedResponse(epsilon=1.0, n_categories=4)
    >>> [weight / 2**32 for weight in channel.weights(2)]
    [0.1749, 0.1749, 0.4754, 0.1749]
    """

    kind: ClassVar[str] = "response"

    def __init__(self, *, epsilon: float | str, n_categories: int) -> None:
        self.epsilon = canonical_epsilon(epsilon)
        n_categories = _check.integer("n_categories", n_categories, at_least=2)
        if n_categories > MOST_CODES:
            raise ParameterError("n_categories", f"an integer from 2 to {MOST_CODES}", n_categories)
        self.window = Window.for_epsilon(self.epsilon, n_codes=n_categories, width=1)
        self._seal()

    def verify(self) -> None:
        self.window.verify(self.epsilon)
        require(self.window.width == 1, "its window is wider than one code")

    @property
    def n_rows(self) -> int:
        """One row for each category."""
        return self.window.n_codes

    def weights(self, row: int) -> tuple[int, ...]:
        """How many of the $2^B$ draws give each code when the category is ``row``."""
        return self.window.weights(row)

    def check_inputs(self, inputs: ArrayLike) -> NDArray[Any]:
        return integer_inputs(inputs, self.n_codes - 1, "categories")

    def codes(self, inputs: NDArray[Any], raw: NDArray[np.uint8]) -> NDArray[Any]:
        """Per report, little endian: one word that chooses the code."""
        u = self.draws(raw)
        return self.window.code(inputs.astype(u.dtype), u).astype(self.code_type)

    def fields(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "categories": self.window.n_codes, **self.window.fields()}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        return cls.of(epsilon=fields["epsilon"], window=Window.from_fields(fields, fields["categories"], 1))
