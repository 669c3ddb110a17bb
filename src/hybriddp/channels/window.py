r"""Windows of codes: a row gives more weight to a few neighboring codes, and the same to all others.

Row *j* of $n$ codes gives weight $a + b$ to the $k$ codes from *j* on and $a$ to every other one, $n a + k b = 2^B$.
So its whole proof of privacy is one inequality between integers, $(a + b)/a \le e^\epsilon$: it does not involve what
the codes are worth or how a value is turned into a row. A bad solver or a bad float can cost accuracy, never privacy.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hybriddp.channels.channel import FiniteChannel, is_integer, require, require_private
from hybriddp.errors import ParameterError
from hybriddp.privacy import SHIFT, odds

MOST_CODES = 1 << 16
NARROW, WIDE = 32, 48  # the two possible B


@dataclass(frozen=True, slots=True)
class Window:
    """The integers of a window channel."""

    n_codes: int  # n
    width: int  # k
    bits: int  # B, 32 or 48
    low: int  # a
    extra: int  # b

    @classmethod
    def for_epsilon(cls, epsilon: str, *, n_codes: int, width: int) -> "Window":
        """Return the most informative ε-private window of this shape.

        $a$ is rounded up until all weights are whole numbers.

        The number of codes must be a power of two, or the window must have one code.
        """
        bits = NARROW if n_codes <= 2000 and float(epsilon) <= 10 else WIDE
        total = 1 << bits
        low = -((-total << SHIFT) // ((n_codes << SHIFT) + width * (odds(epsilon) - (1 << SHIFT))))
        if n_codes & (n_codes - 1) and width > 1:
            raise ParameterError("n_codes", "a power of two for a window of more than one code", n_codes)
        while (total - n_codes * low) % width:
            low += 1
        return cls(n_codes=n_codes, width=width, bits=bits, low=low, extra=(total - n_codes * low) // width)

    def verify(self, epsilon: str) -> None:
        """Prove the form and the privacy, in integers."""
        n, k, a, b = self.n_codes, self.width, self.low, self.extra
        require(is_integer(n, 2, MOST_CODES), f"its number of codes is not an integer from 2 to {MOST_CODES}")
        require(is_integer(k, 1, n - 1), "its window is not an integer of at least 1 and below the number of codes")
        require(self.bits in (NARROW, WIDE) and type(self.bits) is int, "its bits are not 32 or 48")
        require(is_integer(a, 1, 1 << self.bits), "its low weight is not a positive integer")
        require(is_integer(b, 1, 1 << self.bits), "its extra weight is not a positive integer")
        require(n * a + k * b == 1 << self.bits, "its weights do not add up to 2 to the power of its bits")
        require_private(a + b, a, epsilon)  # (a + b)/a <= e^ε

    def weights(self, row: int) -> tuple[int, ...]:
        """Count the $2^B$ draws that give each code in this row."""
        return tuple(self.low + (self.extra if row <= code < row + self.width else 0) for code in range(self.n_codes))

    @property
    def inside(self) -> float:
        """Probability of each code in the window."""
        return (self.low + self.extra) / (1 << self.bits)

    @property
    def outside(self) -> float:
        """Probability of every other code."""
        return self.low / (1 << self.bits)

    def fields(self) -> dict[str, Any]:
        """Return the fields that the text of every window contains."""
        return {"bits": self.bits, "low": self.low, "extra": self.extra}

    @classmethod
    def from_fields(cls, fields: dict[str, Any], n_codes: int, width: int) -> "Window":
        """Create a window with these integers, without verifying it."""
        return cls(n_codes=n_codes, width=width, bits=fields["bits"], low=fields["low"], extra=fields["extra"])

    @property
    def bytes_of_a_draw(self) -> int:
        """How many random bytes the choice of a code takes."""
        return 4 if self.bits == NARROW else 8

    def code(self, row: NDArray[Any], u: NDArray[Any]) -> NDArray[Any]:
        """Return the code of draw ``u`` in each row.

        Both possible codes are computed, and one is selected by arithmetic.

        So neither the running time nor the memory accesses depend on the selected code.
        """
        kind = u.dtype.type
        below = kind(self.n_codes * self.low)
        inside = u >= below
        code: NDArray[Any] = u - below  # wraps around where it is not selected
        code //= kind(self.extra)
        code += row
        outside = u // kind(self.low)
        code -= outside
        code *= inside
        code += outside
        return code


class OfWindow(FiniteChannel):
    """A channel whose table is a window."""

    codes_field: ClassVar[str] = "codes"
    """Name of the number of codes in the channel's text."""
    width_field: ClassVar[str | None] = None
    """Name of the window's width there; None if it is always 1."""

    window: Window

    def verify(self) -> None:
        """Prove the form and the privacy, in integers."""
        self.window.verify(self.epsilon)
        require(self.width_field is not None or self.window.width == 1, "its window is wider than one code")

    @property
    def n_codes(self) -> int:
        return self.window.n_codes

    @property
    def bits(self) -> int:
        """$B$: a draw is one of $2^B$ equally likely ones."""
        return self.window.bits

    @property
    def bytes_per_report(self) -> int:
        return self.window.bytes_of_a_draw

    def weights(self, row: int) -> tuple[int, ...]:
        """Count the $2^B$ draws that give each code in this row."""
        return self.window.weights(row)

    def draws(self, raw: NDArray[np.uint8]) -> NDArray[Any]:
        """Read uniform integers below $2^B$, little endian."""
        return raw.view("<u4") if self.bits == NARROW else raw.view("<u8") & np.uint64((1 << WIDE) - 1)

    def fields(self) -> dict[str, Any]:
        width = {} if self.width_field is None else {self.width_field: self.window.width}
        return {"epsilon": self.epsilon, self.codes_field: self.window.n_codes, **width, **self.window.fields()}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        width = 1 if cls.width_field is None else fields[cls.width_field]
        return cls.of(epsilon=fields["epsilon"], window=Window.from_fields(fields, fields[cls.codes_field], width))
