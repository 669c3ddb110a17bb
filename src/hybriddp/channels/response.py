r"""Reports of one of $M$ symbols, or of a set of them: what a tally says; randomized response and subset selection.

A report *supports* its own symbol with probability $p$ (hit) and any other one with probability $q$ (miss). If $c_v$ of
$n$ reports support symbol $v$, then [WBLJ17]

$$
\hat n_v = \frac{c_v - nq}{p - q}, \qquad \operatorname{Var} \hat n_v \approx nV, \quad V = \frac{q(1-q)}{(p-q)^2}.
$$

Randomized response is the window channel of width 1 over symbols; `ChoiceResponse` is that over sets of symbols.
"""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.channel import FiniteChannel, integer_inputs, require
from hybriddp.channels.window import MOST_CODES, OfWindow, Window
from hybriddp.errors import DataError, ParameterError
from hybriddp.privacy import canonical_epsilon
from hybriddp.randomness import ByteSource

_MOST_IN_SETS = 32  # codes of which a set is chosen


class SupportChannel(FiniteChannel):
    """A channel whose report supports its own symbol with one probability, and any other one with another."""

    @property
    @abstractmethod
    def hit_probability(self) -> float:
        """$p$: how likely a report is to support its own symbol."""

    @property
    @abstractmethod
    def miss_probability(self) -> float:
        """$q$: how likely a report is to support any other symbol."""

    @property
    def gap(self) -> float:
        """$p - q$: by how much counts shrink."""
        return self.hit_probability - self.miss_probability

    @property
    def count_variance(self) -> float:
        """$V$: the variance that one user adds to the unbiased count of a rare symbol."""
        return self.miss_probability * (1 - self.miss_probability) / self.gap**2

    @property
    def report_bytes(self) -> int:
        """Number of bytes of a report."""
        return ((self.n_codes - 1).bit_length() + 7) // 8


class SymbolChannel(SupportChannel):
    """A channel whose report supports some of the symbols that there are."""

    sends_bits: ClassVar[bool] = False
    """Whether a report is a row of bytes with one bit per symbol; if not, it is one code."""

    @property
    @abstractmethod
    def n_symbols(self) -> int:
        """$M$: how many symbols there are."""

    @property
    def n_chosen(self) -> int | None:
        """How many symbols an input is, given as the bits of an integer; None if it is one symbol."""
        return None

    @abstractmethod
    def signed_variance(self, n_signed: int, fraction: FloatArray | float) -> FloatArray | float:
        r"""Compute the variance that one user adds to $\sum_v s_v \hat n_v$.

        This is a sum of $m$ counts with signs that cancel.

        The variance is the mean square of the contribution of a report, $s_v/(p - q)$ for each symbol $v$ that it
        supports, if a ``fraction`` $\pi$ of the users hold one of these; the square of the mean, at most $\pi^2$, is
        not subtracted.
        """

    def unbiased_counts(self, supports: IntArray, users: IntArray) -> FloatArray:
        r"""$\hat n$, shape (..., n_symbols), from how many of the reports of ``users``, shape (...), support each."""
        return (supports - self.miss_probability * np.asarray(users)[..., None]) / self.gap

    def tally(self, reports: NDArray[Any], groups: IntArray, n_groups: int) -> tuple[IntArray, IntArray]:
        """Count reports and the symbols that they support, in each group.

        The counts per symbol have the shape (n_groups, n_symbols).

        Reports that no device sends are left out, and so are reports of groups outside of 0 to ``n_groups`` - 1.
        """
        good = (groups >= 0) & (groups < n_groups) & self.valid_reports(reports)
        groups = groups[good]
        users = np.bincount(groups, minlength=n_groups).astype(np.int64)
        return self.supports(reports[good], groups, n_groups), users

    @abstractmethod
    def valid_reports(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Return a mask of the reports that a device may have sent."""

    @abstractmethod
    def supports(self, reports: NDArray[Any], groups: IntArray, n_groups: int) -> IntArray:
        """Count the valid reports that support each symbol.

        The result has the shape (n_groups, n_symbols).
        """

    @abstractmethod
    def simulate_supports(self, symbols: IntArray, groups: IntArray, n_groups: int, source: ByteSource) -> IntArray:
        """Simulate the result of `supports` for reports on these inputs.

        The counts are drawn in bulk, with exactly the distribution of one report per user.
        """


class WindowResponse(OfWindow, SymbolChannel):
    """A report of one code: each of the true ones with weight $a + b$, every other one with weight $a$."""

    @property
    def n_symbols(self) -> int:
        return self.window.n_codes

    @property
    def hit_probability(self) -> float:
        return self.window.inside

    @property
    def miss_probability(self) -> float:
        return self.window.outside

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
    codes_field: ClassVar[str] = "categories"

    def __init__(self, *, epsilon: float | str, n_categories: int) -> None:
        self.epsilon = canonical_epsilon(epsilon)
        n_categories = _check.integer("n_categories", n_categories, at_least=2, at_most=MOST_CODES)
        self.window = Window.for_epsilon(self.epsilon, n_codes=n_categories, width=1)
        self._seal()

    def check_inputs(self, inputs: ArrayLike) -> NDArray[Any]:
        return integer_inputs(inputs, self.n_codes - 1, "categories")

    def codes(self, inputs: NDArray[Any], raw: NDArray[np.uint8]) -> NDArray[Any]:
        """Per report, little endian: one word that chooses the code."""
        u = self.draws(raw)
        return self.window.code(inputs.astype(u.dtype), u).astype(self.code_type)


class ChoiceResponse(WindowResponse):
    r"""A report of one of $n$ codes, $k$ of which are true: each of these with weight $a + b$, every other with $a$.

    What is true is a set of exactly $k$ codes, whichever they are, given as the bits of an integer. All sets are of one
    size, so every input spends the same weight, and two inputs differ by the odds $(a + b)/a \le e^\epsilon$ at any
    code. With more true codes a report is more often true, and says less: a trade that randomized response, the case
    $k = 1$, cannot make. It is a finite form of the best reports of directions [BDF+18].

    Parameters
    ----------
    epsilon : float or str
        What a report promises, from 0.01 to 20.
    n_codes : int
        $n$: 2, 4, 8, 16 or 32.
    n_chosen : int
        $k$, from 1 to $n - 1$.

    Examples
    --------
    >>> channel = ChoiceResponse(epsilon=1.0, n_codes=4, n_chosen=2)
    >>> [weight / 2**32 for weight in channel.weights(0b0110)]
    [0.1345, 0.3655, 0.3655, 0.1345]
    """

    kind: ClassVar[str] = "choice"
    width_field: ClassVar[str] = "chosen"

    def __init__(self, *, epsilon: float | str, n_codes: int, n_chosen: int) -> None:
        self.epsilon = canonical_epsilon(epsilon)
        n_codes = _check.integer("n_codes", n_codes, at_least=2)
        if n_codes not in (2, 4, 8, 16, _MOST_IN_SETS):
            raise ParameterError("n_codes", "2, 4, 8, 16 or 32", n_codes)
        n_chosen = _check.integer("n_chosen", n_chosen, at_least=1, at_most=n_codes - 1)
        self.window = Window.for_epsilon(self.epsilon, n_codes=n_codes, width=n_chosen)
        self._seal()

    def verify(self) -> None:
        super().verify()
        n = self.window.n_codes
        power = n <= _MOST_IN_SETS and n & (n - 1) == 0
        require(power, f"its number of codes is not a power of two up to {_MOST_IN_SETS}")

    @property
    def n_chosen(self) -> int:
        return self.window.width

    def weights(self, chosen: int) -> tuple[int, ...]:
        """Count how many of the $2^B$ draws give each code.

        The true bits are the bits of ``chosen``.
        """
        w = self.window
        return tuple(w.low + (w.extra if chosen >> code & 1 else 0) for code in range(w.n_codes))

    def check_inputs(self, inputs: ArrayLike) -> NDArray[Any]:
        sets = integer_inputs(inputs, (1 << self.n_codes) - 1, "sets of codes").astype(np.int64)
        bad = np.count_nonzero(np.bitwise_count(sets) != self.n_chosen)
        if bad:
            how_many = f"{bad:,} of {len(sets):,}"
            raise DataError(f"sets of codes must have {self.n_chosen} bits that are 1, but {how_many} do not.")
        return sets

    def codes(self, inputs: NDArray[Any], raw: NDArray[np.uint8]) -> NDArray[Any]:
        """Per report, little endian: one word that chooses a place, those of the true codes first, in their order."""
        u = self.draws(raw)
        drawn = self.window.code(np.zeros(len(u), u.dtype), u).astype(np.int8)
        codes, before = np.zeros(len(u), np.int8), np.zeros(len(u), np.int8)  # before: true codes below this one
        bits = np.empty(0, np.int8)
        # One code's place is the one drawn. A sum looks at all of them, whichever it is.
        for code in range(self.n_codes):
            if code % 7 == 0:  # one byte at a time is eight times as fast
                bits = (inputs >> code & 0x7F).astype(np.int8)
            true = bits >> np.int8(code % 7) & np.int8(1)
            # A true code is at place `before`, another one at n_chosen + code - before.
            last = np.int8(self.n_chosen + code)
            place = last - before + true * (before + before - last)
            codes += (place == drawn) * np.int8(code)
            before += true
        return codes.astype(self.code_type)
