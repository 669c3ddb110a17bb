r"""Unary encoding: one bit per category, each flipped on its own; and when it is better than randomized response.

Not a table, since there are $2^d$ codes, but a product of tables of two rows: a bit that stands for the true category
is reported as 1 in $P$ of $2^{32}$ draws, any other bit in $Q$ of them. Two inputs differ in two bits, so the report
is ε-private exactly if

$$
\frac{P}{Q} \cdot \frac{2^{32} - Q}{2^{32} - P} \le e^\epsilon.
$$

$P = 2^{31}$ and the smallest private $Q$ give the optimized encoding of [WBLJ17]. Its variance per user and category,
$4e^\epsilon/(e^\epsilon - 1)^2$, does not grow with the number $M$ of categories; that of randomized response is
$(e^\epsilon + M - 2)/(e^\epsilon - 1)^2$, the smaller one up to $M = 3e^\epsilon + 2$.
"""

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.channel import integer_inputs, is_integer, require, require_private
from hybriddp.channels.response import RandomizedResponse, SymbolChannel
from hybriddp.errors import DataError
from hybriddp.privacy import SHIFT, canonical_epsilon, odds
from hybriddp.randomness import ByteSource

BITS = 32
MOST_CATEGORIES = 4096


def symbol_channel(epsilon: str, n_symbols: int) -> SymbolChannel:
    """Return the channel with the least variance for this number of symbols.

    This is randomized response for few symbols and unary encoding for many.
    """
    if n_symbols < 3 * math.exp(float(epsilon)) + 2:
        return RandomizedResponse(epsilon=epsilon, n_categories=n_symbols)
    return UnaryEncoding(epsilon=epsilon, n_categories=n_symbols)


def symbol_variance(epsilon: float, n_symbols: int) -> float:
    """$V$ of that channel: the variance that one user adds to the count of every symbol."""
    factor = math.exp(epsilon)
    return min(factor + n_symbols - 2, 4 * factor) / (factor - 1) ** 2


class UnaryEncoding(SymbolChannel):
    """A report of one of many categories as a row of bits.

    A report is packed into bytes: category *i* is bit *i* mod 8 of byte *i* div 8.

    Parameters
    ----------
    epsilon : float or str
        What a report promises, from 0.01 to 20.
    n_categories : int
        How many categories there are, from 2 to 4,096.

    Examples
    --------
    >>> channel = UnaryEncoding(epsilon=1.0, n_categories=20)
    >>> channel.hit_probability, channel.miss_probability
    (0.5, 0.2689)
    >>> channel.sample([3, 19]).shape
    (2, 3)
    """

    kind: ClassVar[str] = "unary"
    sends_bits: ClassVar[bool] = True
    code_type = np.dtype(np.uint8)

    def __init__(self, *, epsilon: float | str, n_categories: int) -> None:
        self.epsilon = canonical_epsilon(epsilon)
        self.n_categories = _check.integer("n_categories", n_categories, at_least=2, at_most=MOST_CATEGORIES)
        # P = 2^31 turns the inequality into (2^32 - Q)/Q <= odds.
        self.one, self.zero = 1 << 31, -((-1 << (BITS + SHIFT)) // (odds(self.epsilon) + (1 << SHIFT)))
        self._seal()

    def verify(self) -> None:
        total = 1 << BITS
        possible = is_integer(self.n_categories, 2, MOST_CATEGORIES)
        require(possible, f"its number of categories is not an integer from 2 to {MOST_CATEGORIES}")
        require(is_integer(self.one, 1, total - 1), "its weight of a true 1 is not an integer below 2^32")
        require(is_integer(self.zero, 1, self.one - 1), "its weight of a false 1 is not a smaller positive integer")
        require_private(self.one * (total - self.zero), self.zero * (total - self.one), self.epsilon)

    @property
    def n_codes(self) -> int:
        return 1 << self.n_categories

    @property
    def n_symbols(self) -> int:
        return self.n_categories

    @property
    def bytes_per_report(self) -> int:
        return 4 * self.n_categories

    def check_inputs(self, inputs: ArrayLike) -> NDArray[Any]:
        return integer_inputs(inputs, self.n_categories - 1, "categories")

    def codes(self, inputs: NDArray[Any], raw: NDArray[np.uint8]) -> NDArray[Any]:
        """Per report, little endian: one word for each category; its bit is 1 if the word is below the weight."""
        words = raw.view("<u4").reshape(len(inputs), self.n_categories)
        # All categories are compared, so that the memory that is touched does not depend on which one it is.
        own = np.asarray(inputs).astype(np.uint16)[:, None] == np.arange(self.n_categories, dtype=np.uint16)
        own &= words < np.uint32(self.one)
        bits = np.zeros((len(inputs), 8 * self.report_bytes), np.bool_)  # whole bytes are packed faster
        np.logical_or(own, words < np.uint32(self.zero), out=bits[:, : self.n_categories])  # the smaller weight
        return np.packbits(bits.ravel(), bitorder="little").reshape(len(inputs), self.report_bytes)

    @property
    def hit_probability(self) -> float:
        return self.one / (1 << BITS)

    @property
    def miss_probability(self) -> float:
        return self.zero / (1 << BITS)

    def signed_variance(self, n_signed: int, fraction: FloatArray | float) -> FloatArray | float:
        r"""$m q(1 - q)/(p - q)^2 + \pi(1 - 2q)/(p - q)$: the bits of a report are independent."""
        q = self.miss_probability
        return (n_signed * q * (1 - q) / self.gap + fraction * (1 - 2 * q)) / self.gap

    def valid_reports(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        # The bits of the last byte that stand for nothing are 0.
        return reports[:, -1] < 1 << (8 - -self.n_categories % 8)

    def ones(self, reports: NDArray[np.uint8]) -> IntArray:
        """Count the reports in which the bit of each category is set."""
        if reports.dtype != np.uint8 or reports.ndim != 2 or reports.shape[1] != self.report_bytes:
            raise DataError(f"reports must be rows of {self.report_bytes} bytes, got shape {reports.shape}.")
        bits = np.unpackbits(reports, axis=1, count=self.n_categories, bitorder="little")
        ones: IntArray = np.sum(bits, axis=0, dtype=np.int64)
        return ones

    def supports(self, reports: NDArray[Any], groups: IntArray, n_groups: int) -> IntArray:
        reports = reports.astype(np.uint8, copy=False)
        return np.stack([self.ones(reports[groups == group]) for group in range(n_groups)])

    def simulate_supports(self, symbols: IntArray, groups: IntArray, n_groups: int, source: ByteSource) -> IntArray:
        # The bits of a report are independent, so a count of bits is a sum of two binomials.
        m = self.n_categories
        true = np.bincount(groups * m + symbols, minlength=n_groups * m).reshape(n_groups, m).astype(np.int64)
        false = true.sum(axis=1, keepdims=True) - true
        return binomials(true, self.one, source) + binomials(false, self.zero, source)

    def fields(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "categories": self.n_categories, "one": self.one, "zero": self.zero}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        weights = {name: fields[name] for name in ("one", "zero")}
        return cls.of(epsilon=fields["epsilon"], n_categories=fields["categories"], **weights)


def binomials(trials: IntArray, weight: int, source: ByteSource) -> IntArray:
    r"""Draw the numbers of words below ``weight`` among ``trials`` uniform words.

    Words have 32 bits. The numbers have exactly the binomial distribution, one for each entry of ``trials``.

    Words are compared with the weight bit by bit, the most significant first, and only those that agree so far go on.
    The number of $m$ words in which a bit is 1 is the number of ones in $m$ random bits, so 2 bits per trial are enough
    on average, and no word is ever stored.
    """
    below = np.zeros(trials.size, np.int64)
    undecided = trials.ravel().copy()
    for shift in range(BITS - 1, -1, -1):
        if not undecided.any():
            break
        ones = _coins(undecided, source)
        if weight >> shift & 1:  # a word with 0 here is below
            below += undecided - ones
            undecided = ones
        else:  # a word with 1 here is above
            undecided = undecided - ones
    return below.reshape(trials.shape)  # words that agree to the end are equal, not below


def _coins(tosses: IntArray, source: ByteSource) -> IntArray:
    """Draw the number of heads in each of many rows of fair tosses."""
    words = np.maximum((tosses + 63) >> 6, 1)
    ends = np.cumsum(words)
    bits = source.take(8 * int(ends[-1])).view("<u8")
    used = tosses - 64 * (words - 1)  # of the last word of each row: 0 to 64
    ones = np.uint64(0xFFFFFFFFFFFFFFFF) >> (64 - np.maximum(used, 1)).astype(np.uint64)
    bits[ends - 1] &= np.where(used > 0, ones, np.uint64(0))
    return np.add.reduceat(np.bitwise_count(bits), ends - words, dtype=np.int64)
