r"""Unary encoding: one bit per category, each flipped on its own.

Not a table, since there are $2^d$ codes, but a product of tables of two rows: a bit that stands for the true category
is reported as 1 in $P$ of $2^{32}$ draws, any other bit in $Q$ of them. Two inputs differ in two bits, so the report
is ε-private exactly if

$$
\frac{P}{Q} \cdot \frac{2^{32} - Q}{2^{32} - P} \le e^\epsilon.
$$

$P = 2^{31}$ and the smallest private $Q$ give the optimized encoding of [WBLJ17], whose variance does not grow with the
number of categories.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp.channels.channel import FiniteChannel, integer_inputs, is_integer, require
from hybriddp.errors import DataError, ParameterError
from hybriddp.odds import SHIFT, canonical_epsilon, is_canonical, odds

BITS = 32
MOST_CATEGORIES = 4096


class UnaryEncoding(FiniteChannel):
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
    >>> channel.one / 2**32, channel.zero / 2**32
    (0.5, 0.2689)
    >>> channel.sample([3, 19]).shape
    (2, 3)
    """

    kind: ClassVar[str] = "unary"

    def __init__(self, *, epsilon: float | str, n_categories: int) -> None:
        text = canonical_epsilon(epsilon)
        n_categories = _check.integer("n_categories", n_categories, at_least=2)
        if n_categories > MOST_CATEGORIES:
            raise ParameterError("n_categories", f"an integer from 2 to {MOST_CATEGORIES}", n_categories)
        # P = 2^31 turns the inequality into (2^32 - Q)/Q <= odds.
        self._set(text, n_categories, 1 << 31, -((-1 << (BITS + SHIFT)) // (odds(text) + (1 << SHIFT))))

    @classmethod
    def of(cls, *, epsilon: str, n_categories: int, one: int, zero: int) -> "UnaryEncoding":
        """The channel with these integers."""
        channel = cls.__new__(cls)
        channel._set(epsilon, n_categories, one, zero)  # noqa: SLF001  (of its own class)
        return channel

    def _set(self, epsilon: str, n_categories: int, one: int, zero: int) -> None:
        self.epsilon, self.n_categories, self.one, self.zero = epsilon, n_categories, one, zero
        self._seal()

    def verify(self) -> None:
        """Prove the privacy in integers."""
        total = 1 << BITS
        require(is_canonical(self.epsilon), "its epsilon is not a decimal from 0.01 to 20 in its shortest form")
        require(
            is_integer(self.n_categories, 2, MOST_CATEGORIES),
            f"its number of categories is not an integer from 2 to {MOST_CATEGORIES}",
        )
        require(is_integer(self.one, 1, total - 1), "its weight of a true 1 is not an integer below 2^32")
        require(is_integer(self.zero, 1, self.one - 1), "its weight of a false 1 is not a smaller positive integer")
        likely, unlikely = self.one * (total - self.zero), self.zero * (total - self.one)
        require(likely << SHIFT <= unlikely * odds(self.epsilon), f"it is not {self.epsilon}-private")

    @property
    def n_codes(self) -> int:
        """Two to the power of the number of categories."""
        return 1 << self.n_categories

    @property
    def report_bytes(self) -> int:
        """How many bytes a report has."""
        return (self.n_categories + 7) // 8

    @property
    def bytes_per_report(self) -> int:
        """One word for each category."""
        return 4 * self.n_categories

    @property
    def code_type(self) -> np.dtype[Any]:
        """Packed bits."""
        return np.dtype(np.uint8)

    def check_inputs(self, inputs: ArrayLike) -> NDArray[Any]:
        """Inputs are categories."""
        return integer_inputs(inputs, self.n_categories - 1, "categories")

    def codes(self, inputs: NDArray[Any], raw: NDArray[np.uint8]) -> NDArray[Any]:
        """Per report, little endian: one word for each category; its bit is 1 if the word is below the weight."""
        words = raw.view("<u4").reshape(len(inputs), self.n_categories)
        # All categories are compared, so that the memory that is touched does not depend on which one it is.
        own = np.asarray(inputs)[:, None] == np.arange(self.n_categories)
        weight = np.where(own, np.uint32(self.one), np.uint32(self.zero))
        return np.packbits(words < weight, axis=1, bitorder="little")

    def ones(self, reports: NDArray[np.uint8]) -> NDArray[np.int64]:
        """How many of the reports have each category's bit set."""
        if reports.dtype != np.uint8 or reports.ndim != 2 or reports.shape[1] != self.report_bytes:
            raise DataError(f"reports must be rows of {self.report_bytes} bytes, got shape {reports.shape}.")
        bits = np.unpackbits(reports, axis=1, count=self.n_categories, bitorder="little")
        ones: NDArray[np.int64] = np.sum(bits, axis=0, dtype=np.int64)
        return ones

    def fields(self) -> dict[str, Any]:
        """What the text of the channel holds."""
        return {"epsilon": self.epsilon, "categories": self.n_categories, "one": self.one, "zero": self.zero}
