"""A report of one code out of several that are all true: the window channel over sets of codes."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp.channels.channel import FiniteChannel, integer_inputs, require
from hybriddp.channels.window import Window
from hybriddp.errors import DataError, ParameterError
from hybriddp.odds import canonical_epsilon

MOST_CODES = 32


class ChoiceResponse(FiniteChannel):
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

    def __init__(self, *, epsilon: float | str, n_codes: int, n_chosen: int) -> None:
        text = canonical_epsilon(epsilon)
        n_codes = _check.integer("n_codes", n_codes, at_least=2)
        if n_codes not in (2, 4, 8, 16, MOST_CODES):
            raise ParameterError("n_codes", "2, 4, 8, 16 or 32", n_codes)
        n_chosen = _check.integer("n_chosen", n_chosen, at_least=1)
        if n_chosen >= n_codes:
            raise ParameterError("n_chosen", f"an integer from 1 to {n_codes - 1}", n_chosen)
        self._set(text, Window.for_epsilon(text, n_codes=n_codes, width=n_chosen))

    @classmethod
    def of(cls, *, epsilon: str, window: Window) -> "ChoiceResponse":
        """The channel with these integers."""
        channel = cls.__new__(cls)
        channel._set(epsilon, window)  # noqa: SLF001  (of its own class)
        return channel

    def _set(self, epsilon: str, window: Window) -> None:
        self.epsilon, self.window = epsilon, window
        self._seal()

    def verify(self) -> None:
        """Prove the privacy in integers."""
        self.window.verify(self.epsilon)
        n = self.window.n_codes
        require(n <= MOST_CODES and n & (n - 1) == 0, f"its number of codes is not a power of two up to {MOST_CODES}")

    @property
    def n_codes(self) -> int:
        """How many different codes there are."""
        return self.window.n_codes

    @property
    def n_chosen(self) -> int:
        """How many of them are true."""
        return self.window.width

    @property
    def bits(self) -> int:
        """$B$: a draw is one of $2^B$ equally likely ones."""
        return self.window.bits

    @property
    def bytes_per_report(self) -> int:
        """One word."""
        return self.window.bytes_of_a_draw

    @property
    def code_type(self) -> np.dtype[Any]:
        """One byte."""
        return np.dtype(np.uint8)

    def weights(self, chosen: int) -> tuple[int, ...]:
        """How many of the $2^B$ draws give each code when the bits of ``chosen`` are true."""
        w = self.window
        return tuple(w.low + (w.extra if chosen >> code & 1 else 0) for code in range(w.n_codes))

    def check_inputs(self, inputs: ArrayLike) -> NDArray[Any]:
        """Inputs are sets of exactly so many codes, as integers."""
        sets = integer_inputs(inputs, (1 << self.n_codes) - 1, "sets of codes").astype(np.int64)
        bad = np.count_nonzero(np.bitwise_count(sets) != self.n_chosen)
        if bad:
            raise DataError(
                f"sets of codes must have {self.n_chosen} bits that are 1, but {bad:,} of {len(sets):,} do not."
            )
        return sets

    def codes(self, inputs: NDArray[Any], raw: NDArray[np.uint8]) -> NDArray[Any]:
        """Per report, little endian: one word that chooses a place, those of the true codes first, in their order."""
        if self.window.bytes_of_a_draw == 4:
            u: NDArray[Any] = raw.view("<u4")
        else:
            u = raw.view("<u8") & np.uint64((1 << self.bits) - 1)
        place = self.window.code(np.zeros(len(u), u.dtype), u).astype(np.int8)
        true = (inputs[:, None] >> np.arange(self.n_codes) & 1).astype(np.int8)
        places = np.where(true > 0, np.cumsum(true, axis=1), self.n_chosen + np.cumsum(1 - true, axis=1)) - 1
        # One place is the one drawn, in each row. A sum looks at all of them, whichever it is.
        found = (places == place[:, None]) @ np.arange(self.n_codes)
        codes: NDArray[Any] = found.astype(self.code_type)
        return codes

    def fields(self) -> dict[str, Any]:
        """What the text of the channel holds."""
        w = self.window
        return {
            "epsilon": self.epsilon,
            "codes": w.n_codes,
            "chosen": w.width,
            "bits": w.bits,
            "low": w.low,
            "extra": w.extra,
        }
