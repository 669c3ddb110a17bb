"""A report of one code out of several that are all true: the window channel over sets of codes."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp.channels.channel import integer_inputs, require
from hybriddp.channels.response import WindowResponse
from hybriddp.channels.window import Window
from hybriddp.errors import DataError, ParameterError
from hybriddp.odds import canonical_epsilon

MOST_CODES = 32


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

    def __init__(self, *, epsilon: float | str, n_codes: int, n_chosen: int) -> None:
        self.epsilon = canonical_epsilon(epsilon)
        n_codes = _check.integer("n_codes", n_codes, at_least=2)
        if n_codes not in (2, 4, 8, 16, MOST_CODES):
            raise ParameterError("n_codes", "2, 4, 8, 16 or 32", n_codes)
        n_chosen = _check.integer("n_chosen", n_chosen, at_least=1)
        if n_chosen >= n_codes:
            raise ParameterError("n_chosen", f"an integer from 1 to {n_codes - 1}", n_chosen)
        self.window = Window.for_epsilon(self.epsilon, n_codes=n_codes, width=n_chosen)
        self._seal()

    def verify(self) -> None:
        self.window.verify(self.epsilon)
        n = self.window.n_codes
        require(n <= MOST_CODES and n & (n - 1) == 0, f"its number of codes is not a power of two up to {MOST_CODES}")

    @property
    def n_chosen(self) -> int:
        return self.window.width

    def weights(self, chosen: int) -> tuple[int, ...]:
        """How many of the $2^B$ draws give each code when the bits of ``chosen`` are true."""
        w = self.window
        return tuple(w.low + (w.extra if chosen >> code & 1 else 0) for code in range(w.n_codes))

    def check_inputs(self, inputs: ArrayLike) -> NDArray[Any]:
        sets = integer_inputs(inputs, (1 << self.n_codes) - 1, "sets of codes").astype(np.int64)
        bad = np.count_nonzero(np.bitwise_count(sets) != self.n_chosen)
        if bad:
            raise DataError(
                f"sets of codes must have {self.n_chosen} bits that are 1, but {bad:,} of {len(sets):,} do not."
            )
        return sets

    def codes(self, inputs: NDArray[Any], raw: NDArray[np.uint8]) -> NDArray[Any]:
        """Per report, little endian: one word that chooses a place, those of the true codes first, in their order."""
        u = self.draws(raw)
        place = self.window.code(np.zeros(len(u), u.dtype), u).astype(np.int8)
        true = (inputs[:, None] >> np.arange(self.n_codes) & 1).astype(np.int8)
        places = np.where(true > 0, np.cumsum(true, axis=1), self.n_chosen + np.cumsum(1 - true, axis=1)) - 1
        # One place is the one drawn, in each row. A sum looks at all of them, whichever it is.
        found = (places == place[:, None]) @ np.arange(self.n_codes)
        codes: NDArray[Any] = found.astype(self.code_type)
        return codes

    def fields(self) -> dict[str, Any]:
        w = self.window
        return {"epsilon": self.epsilon, "codes": w.n_codes, "chosen": w.width, **w.fields()}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        return cls.of(epsilon=fields["epsilon"], window=Window.from_fields(fields, fields["codes"], fields["chosen"]))
