"""Randomized response: the window channel of width 1 over categories."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp.channels.channel import FiniteChannel, integer_inputs, require
from hybriddp.channels.window import MOST_CODES, Window
from hybriddp.errors import ParameterError
from hybriddp.odds import canonical_epsilon


class RandomizedResponse(FiniteChannel):
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
        text = canonical_epsilon(epsilon)
        n_categories = _check.integer("n_categories", n_categories, at_least=2)
        if n_categories > MOST_CODES:
            raise ParameterError("n_categories", f"an integer from 2 to {MOST_CODES}", n_categories)
        self._set(text, Window.for_epsilon(text, n_codes=n_categories, width=1))

    @classmethod
    def of(cls, *, epsilon: str, window: Window) -> "RandomizedResponse":
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
        require(self.window.width == 1, "its window is wider than one code")

    @property
    def n_codes(self) -> int:
        """One code for each category."""
        return self.window.n_codes

    @property
    def n_rows(self) -> int:
        """One row for each category."""
        return self.window.n_codes

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
        """One byte up to 256 categories, two beyond."""
        return np.dtype(np.uint8 if self.n_codes <= 256 else np.uint16)

    def weights(self, row: int) -> tuple[int, ...]:
        """How many of the $2^B$ draws give each code when the category is ``row``."""
        w = self.window
        return tuple(w.low + (w.extra if code == row else 0) for code in range(w.n_codes))

    def check_inputs(self, inputs: ArrayLike) -> NDArray[Any]:
        """Inputs are categories."""
        return integer_inputs(inputs, self.n_codes - 1, "categories")

    def codes(self, inputs: NDArray[Any], raw: NDArray[np.uint8]) -> NDArray[Any]:
        """Per report, little endian: one word that chooses the code."""
        if self.window.bytes_of_a_draw == 4:
            u: NDArray[Any] = raw.view("<u4")
        else:
            u = raw.view("<u8") & np.uint64((1 << self.bits) - 1)
        return self.window.code(inputs.astype(u.dtype), u).astype(self.code_type)

    def fields(self) -> dict[str, Any]:
        """What the text of the channel holds."""
        w = self.window
        return {"epsilon": self.epsilon, "categories": w.n_codes, "bits": w.bits, "low": w.low, "extra": w.extra}
