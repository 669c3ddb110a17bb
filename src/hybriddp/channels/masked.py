r"""Masked response: a report of one of 256 ordered bins, as a few parities of its bits through randomized response.

A *pattern* is $r$ masks of 8 bits. The label of a bin has $r$ bits, bit $i$ the parity of ``mask_i & bin``, and goes
through `RandomizedResponse` over $2^r$ labels. Patterns are public and drawn without looking at the value, so all of
the privacy is that of randomized response: one inequality between integers, the same for every pattern.

**Patterns.** Level $l = r, \dots, 8$ looks at the top $l$ bits of a bin; levels are equally likely. Level $l > r$ has
$2^l - 1$ patterns, equally likely: the masks of pattern $j$ are the states $j, \dots, j + r - 1$ of a linear feedback
shift register of $l$ bits, which are $x^j, x^{j+1}, \dots$ in $GF(2^l)$. So the masks are independent, and every Walsh
function of the level is a combination of the masks of exactly $2^r - 1$ patterns. Level $r$ has one pattern, which
asks for all of its bits.

**Accuracy.** If all $n$ users report, and values are uniform, the CDF at the 255 edges between bins has on average the
variance

$$
n \operatorname{Var} \hat F = \frac{256}{255\rho^2} \sum_{l=1}^{8} \frac{2^{-l} + 2^{l-17}}{6 N_l}, \quad
\rho = \frac{e^\epsilon - 1}{e^\epsilon + 2^r - 1}, \quad
N_l = \sum_{k \ge \max(l, r)} \frac{2^r - 1}{(9 - r)(2^k - 1)}.
$$

since a step function at a random edge has the fraction $(2^{-l} + 2^{l-17})/6$ of its variance in the Walsh functions
of level $l$, each of which is asked of $n N_l$ users. The number of label bits $r$ is the one that minimizes it.
"""

from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.channels.channel import FiniteChannel, integer_inputs, require
from hybriddp.channels.response import RandomizedResponse
from hybriddp.channels.window import Window
from hybriddp.grid import read_only
from hybriddp.privacy import canonical_epsilon

BIN_BITS = 8
N_BINS = 1 << BIN_BITS
_PRIMITIVE = (0, 3, 7, 11, 19, 37, 67, 131, 285)  # a primitive polynomial over GF(2) of each degree, as bits
_LABEL_BITS = tuple(zip(map(Decimal, ("0.5", "1.8", "3", "4.2", "5.1", "5.8", "6.5")), range(1, BIN_BITS), strict=True))


class Pattern(NamedTuple):
    """What a device is asked about its bin: parities of these masks, which look at its top bits only."""

    level: int  # how many of them
    masks: tuple[int, ...]


def label_bits_for(epsilon: str) -> int:
    """$r$: how many bits of label make the CDF most accurate at this ε."""
    return next((r for most, r in _LABEL_BITS if Decimal(epsilon) <= most), BIN_BITS)


@lru_cache(maxsize=BIN_BITS)
def patterns(label_bits: int) -> tuple[Pattern, ...]:
    """All patterns of so many masks, coarse levels first."""
    found = []
    for level in range(label_bits, BIN_BITS + 1):
        n_patterns = (1 << level) - 1 if level > label_bits else 1
        states = [1]
        while len(states) < n_patterns + label_bits - 1:
            shifted = states[-1] << 1
            states.append(shifted ^ _PRIMITIVE[level] if shifted >> level else shifted)
        masks = [state << (BIN_BITS - level) for state in states]
        found += [Pattern(level, tuple(masks[j : j + label_bits])) for j in range(n_patterns)]
    return tuple(found)


class MaskedResponse(FiniteChannel):
    r"""A report of an ordered bin, from which CDFs and quantiles are estimated: a public pattern and one code.

    A report is the integer $2^r \cdot$ pattern + code, which two bytes hold.

    Parameters
    ----------
    epsilon : float or str
        What a report promises, from 0.01 to 20.
    label_bits : int, optional
        $r$, from 1 to 8; by default the most accurate one for this ε.

    Examples
    --------
    >>> channel = MaskedResponse(epsilon=1.0)
    >>> channel.n_patterns, channel.n_labels
    (499, 4)
    >>> [weight / 2**32 for weight in channel.weights(pattern=0, bin_number=200)]  # the top two bits of 200 are 1
    [0.1749, 0.1749, 0.1749, 0.4754]
    >>> channel.sample([17, 200]).dtype
    dtype('uint16')
    """

    kind: ClassVar[str] = "masked"
    code_type = np.dtype(np.uint16)

    response: RandomizedResponse
    """What a label goes through."""

    def __init__(self, *, epsilon: float | str, label_bits: int | None = None) -> None:
        self.epsilon = canonical_epsilon(epsilon)
        r = label_bits_for(self.epsilon) if label_bits is None else label_bits
        r = _check.integer("label_bits", r, at_least=1, at_most=BIN_BITS)
        self.response = RandomizedResponse(epsilon=self.epsilon, n_categories=1 << r)
        self._seal()

    def verify(self) -> None:
        """Prove the response private; a pattern is drawn without looking at the bin, so it tells nothing."""
        self.response.verify()
        require(self.response.epsilon == self.epsilon, "its response is for another epsilon")
        power = self.n_labels <= N_BINS and self.n_labels & (self.n_labels - 1) == 0
        require(power, f"its number of labels is not a power of two from 2 to {N_BINS}")

    @property
    def n_labels(self) -> int:
        """$2^r$: how many labels, and codes of a pattern, there are."""
        return self.response.n_codes

    @property
    def label_bits(self) -> int:
        """$r$: how many masks a pattern has."""
        return self.n_labels.bit_length() - 1

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The public patterns."""
        return patterns(self.label_bits)

    @property
    def n_patterns(self) -> int:
        """How many patterns there are."""
        return len(self.patterns)

    @property
    def n_codes(self) -> int:
        return self.n_patterns * self.n_labels

    @property
    def bytes_per_report(self) -> int:
        """A word for the code, and one of the same size whose low 32 bits choose the pattern."""
        return 2 * self.response.bytes_per_report

    def check_inputs(self, inputs: ArrayLike) -> NDArray[Any]:
        return integer_inputs(inputs, N_BINS - 1, "bins")

    def weights(self, pattern: int, bin_number: int) -> tuple[int, ...]:
        """Count how many of the $2^B$ draws give each code.

        The counts apply to a device with this pattern and this bin.
        """
        masks = self.patterns[pattern].masks
        label = sum(((mask & bin_number).bit_count() & 1) << i for i, mask in enumerate(masks))
        return self.response.weights(label)

    def codes(self, inputs: NDArray[Any], raw: NDArray[np.uint8]) -> NDArray[Any]:
        """Per report, little endian: a word that chooses the code, and one that chooses the pattern.

        The memory that it touches depends on the pattern alone, which is public.
        """
        words = raw.view(f"<u{self.response.bytes_per_report}")
        pattern = self.draw_patterns(words[1::2].astype(np.uint32))  # the low 32 bits
        label = self.labels(inputs.astype(np.uint8), pattern)
        report: NDArray[Any] = pattern.astype(self.code_type)
        report <<= np.uint16(self.label_bits)
        report |= self.response.codes(label, words[0::2].copy().view(np.uint8))
        return report

    def draw_patterns(self, words: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Return the pattern that each word of 32 bits chooses.

        One product chooses the level, and the next one chooses the place within the level.
        """
        sizes, starts = self._levels
        product = words.astype(np.uint64)
        product *= np.uint64(len(sizes))
        level = (product >> np.uint64(32)).astype(np.intp)
        product &= np.uint64(0xFFFFFFFF)
        product *= sizes[level]
        product >>= np.uint64(32)
        product += starts[level]
        return product.astype(np.intp)

    def labels(self, bins: NDArray[np.uint8], pattern: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Return the label of each bin under its pattern."""
        label = np.zeros(len(bins), np.uint8)
        for i, masks in enumerate(self._masks):
            label |= (np.bitwise_count(masks[pattern] & bins) & np.uint8(1)) << np.uint8(i)
        return label

    @property
    def pattern_probabilities(self) -> FloatArray:
        """How likely a device is to draw each pattern."""
        sizes, _ = self._levels
        return np.repeat(1 / (len(sizes) * sizes.astype(np.float64)), sizes.astype(np.int64))

    @property
    def rank_variance(self) -> float:
        """The variance of the CDF times the number of reports, for uniform values, on average over all edges."""
        r, gap = self.label_bits, self.response.gap
        asked = [(self.n_labels - 1) / ((BIN_BITS + 1 - r) * ((1 << k) - 1)) for k in range(BIN_BITS + 1) if k >= r]
        informed = [sum(asked[max(level - r, 0) :]) for level in range(1, BIN_BITS + 1)]
        energies = [(2.0**-level + 2.0 ** (level - 17)) / 6 for level in range(1, BIN_BITS + 1)]
        return sum(e / n for e, n in zip(energies, informed, strict=True)) / gap**2 * N_BINS / (N_BINS - 1)

    @cached_property
    def _levels(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """How many patterns each level has, and its first one."""
        sizes = np.bincount([pattern.level for pattern in self.patterns])[self.label_bits :].astype(np.uint64)
        return read_only(sizes), read_only(np.cumsum(sizes) - sizes)

    @cached_property
    def _masks(self) -> NDArray[np.uint8]:
        """The masks of all patterns, shape (label_bits, n_patterns)."""
        return read_only(np.array([pattern.masks for pattern in self.patterns], np.uint8).T.copy())

    def fields(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "labels": self.n_labels, **self.response.window.fields()}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        window = Window.from_fields(fields, fields["labels"], 1)
        return cls.of(
            epsilon=fields["epsilon"], response=RandomizedResponse.of(epsilon=fields["epsilon"], window=window)
        )
