r"""Discrete Laplace noise: the local mechanism of the paper, on whole units.

A report is $\text{units} + N$ with $P[N = k] \propto q^{|k|}$, $q = e^{-\epsilon/2^{24}}$. The magnitude is geometric,
and the binary digits of a geometric variable are *independent*: digit $i$ is 1 with probability
$p_i = q^{2^i}/(1 + q^{2^i})$. Each digit is decided by comparing random words with the binary expansion of $p_i$, word
by word until they differ; the sign is a random bit, and minus zero is drawn again.

Two roundings are paid for, so that the guarantee is ε and no δ: the expansions have 2,048 bits, and magnitudes stop at
$2^I$, where they are $e^{1000}$ times less likely than 0. The noise is made for $\epsilon - 2^{-60}$ and the report is
clamped to half of that range, which covers both many times over (`DiscreteLaplace.verify`).

Every window channel has less variance; this one is here to reproduce the paper.
"""

from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hybriddp.channels.channel import require, require_canonical
from hybriddp.channels.window_channel import NumberChannel
from hybriddp.grid import UNITS
from hybriddp.privacy import canonical_epsilon, exponential
from hybriddp.randomness import ByteSource

_PRECISION = 2048
_WORD = 32
_SLACK = Fraction(1, 1 << 60)
_TAIL = 1000  # magnitudes end where they are at least e^1000 times less likely than 0


class DiscreteLaplace(NumberChannel):
    """A report of a number with discrete Laplace noise: an integer that may lie outside of the range.

    Parameters
    ----------
    epsilon : float or str
        What a report promises, from 0.01 to 20.

    Examples
    --------
    >>> channel = DiscreteLaplace(epsilon=1.0)
    >>> channel.noise_variance  # on the unit range; the paper's 2/ε²
    2.0
    """

    kind: ClassVar[str] = "discrete-laplace"
    code_type = np.dtype(np.int64)

    def __init__(self, *, epsilon: float | str) -> None:
        self.epsilon = canonical_epsilon(epsilon)
        self._seal()

    def verify(self) -> None:
        r"""Prove that the slack pays for the shortened expansions, and the clamp for the shortened tail.

        Let $\lambda = -\log q$ and $T = 2^I$, so $\lambda T/2 > 500$. A digit has probability at least $e^{-1001}$;
        ending its expansion changes that by less than $2^{-2048}$, so by a factor within $1 \pm 2^{-600}$. Two outputs
        differ in at most all $I$ digits. Between the clamps every output is reached from every input, and the odds are
        $q$ to the power of at most $2^{24}$. At a clamp, tails are compared: ending them at $T$ multiplies their odds
        by at most $1/(1 - q^{T/2 - 2^{24}}) < 1 + 2^{-600}$. All of it together is below the slack of $2^{-60}$.
        """
        require_canonical(self.epsilon)
        require(self.limit * self.rate > _TAIL // 2, "its clamp is too close")
        require((self.limit - UNITS) * self.rate > 420, "its clamp is too close")  # e^-420 < 2^-600
        require(Fraction(4 * self.n_digits + 2, 1 << 600) <= _SLACK, "it has too many digits")

    @property
    def n_codes(self) -> int:
        return UNITS + 2 * self.limit + 1

    @cached_property
    def rate(self) -> Fraction:
        r"""$-\log q$."""
        return (Fraction(Decimal(self.epsilon)) - _SLACK) / UNITS

    @cached_property
    def n_digits(self) -> int:
        """$I$: the digits of a magnitude."""
        return int(_TAIL / self.rate).bit_length()

    @property
    def limit(self) -> int:
        """A report is clamped to this many units outside of the range."""
        return 1 << (self.n_digits - 1)

    @cached_property
    def _digit_words(self) -> list[list[int]]:
        """For each digit, the binary expansion of its probability in words of 32 bits, the most significant first."""
        power = exponential(self.rate, _PRECISION)
        words = []
        for _ in range(self.n_digits):
            # p = 1/(1 + E) with E = power / 2^precision
            p = (1 << (2 * _PRECISION)) // ((1 << _PRECISION) + power)
            words.append([(p >> shift) & 0xFFFFFFFF for shift in range(_PRECISION - _WORD, -1, -_WORD)])
            power = power * power >> _PRECISION
        return words

    @property
    def noise_variance(self) -> float:
        r"""$2q/(1-q)^2$ units squared, on the unit range: the paper's $2/\epsilon^2$ but for a part in $10^{15}$."""
        rate = float(self.rate)
        return float(1 / (2 * np.sinh(rate / 2) ** 2)) / UNITS**2

    def draw_part(self, inputs: NDArray[Any], source: ByteSource) -> NDArray[Any]:
        """The reports of a few thousand checked inputs; how many bytes that takes is itself random."""
        report: NDArray[Any] = inputs.astype(np.int64) + self.noise(len(inputs), source)
        return np.asarray(np.clip(report, -self.limit, UNITS + self.limit))

    def noise(self, count: int, source: ByteSource) -> NDArray[np.int64]:
        """``count`` draws of the noise alone, in units, without the clamp that a report needs to be private."""
        noise = np.zeros(count, np.int64)
        todo = np.arange(count)
        while todo.size:
            magnitude = np.zeros(todo.size, np.int64)
            for digit, words in enumerate(self._digit_words):
                magnitude += _below(words, todo.size, source).astype(np.int64) << digit
            negative = _words(todo.size, source) & 1 == 1
            noise[todo] = np.where(negative, -magnitude, magnitude)
            todo = todo[negative & (magnitude == 0)]  # minus zero is drawn again
        return noise

    def fields(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        return cls.of(epsilon=fields["epsilon"])


def _words(count: int, source: ByteSource) -> NDArray[np.uint32]:
    return source.take(4 * count).view("<u4")


def _below(expansion: list[int], count: int, source: ByteSource) -> NDArray[np.bool_]:
    """Draws of an event whose probability has this expansion: a uniform number in [0, 1) is below it."""
    first = np.uint32(expansion[0])
    drawn = _words(count, source)
    result: NDArray[np.bool_] = drawn < first
    tied = np.flatnonzero(drawn == first)
    for word in expansion[1:]:
        if not tied.size:
            break
        drawn = _words(tied.size, source)
        result[tied] = drawn < np.uint32(word)
        tied = tied[drawn == np.uint32(word)]
    return result
