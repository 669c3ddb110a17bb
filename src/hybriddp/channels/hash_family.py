r"""A family of public hash functions of 64-bit keys, in operations on 32 bits that every language has.

Everybody can compute every function: privacy never rests on them, only accuracy does. Let `mix` be the bijection of 32
bits (all arithmetic modulo $2^{32}$) that is lowbias32 of C. Wellons,

    x ^= x >> 16;  x *= 0x7feb352d;  x ^= x >> 15;  x *= 0x846ca68b;  x ^= x >> 16

Word *i* of the stream of a seed is ``mix(seed + (i + 1) * 0x9e3779b9)``. Functions come in pairs. Pair *j* hashes a key
with the low half ``lo`` and the high half ``hi`` to

    h = mix((mix(lo ^ word(2j)) ^ hi) + word(2j + 1))

Function 2j takes the low 16 bits of *h*, function 2j + 1 the high ones; such bits $b$ become the value
$\lfloor bG/2^{16} \rfloor$, from 0 to $G - 1$. That is one product below $2^{32}$ and a shift.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp.grid import read_only

HASH_BITS = 16
"""How many bits a function has before they are mapped to its values."""

_GOLDEN = 0x9E3779B9
_FIRST, _SECOND = np.uint32(0x7FEB352D), np.uint32(0x846CA68B)
_BLOCK = 1 << 15  # keys hashed at a time: a few arrays of them stay in the cache

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class HashFamily:
    """``n_functions`` public functions from 64-bit keys to the integers below ``n_values``.

    Attributes
    ----------
    n_functions : int
        Their number, even.
    n_values : int
        $G$, from 2 to 1,024.
    seed : int
        Which family it is, from 0 to $2^{32} - 1$.

    Examples
    --------
    >>> family = HashFamily(n_functions=4096, n_values=4, seed=0)
    >>> family.values(np.array([7, 7, 8], np.uint64), np.array([0, 1, 0])).tolist()
    [1, 2, 3]
    """

    n_functions: int
    n_values: int
    seed: int

    @cached_property
    def words(self) -> Words:
        """The stream's words, shape (pairs, 2)."""
        count = np.arange(1, self.n_functions + 1, dtype=np.uint64)
        words = ((self.seed + count * _GOLDEN) & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        return read_only(mix(words, np.empty_like(words)).reshape(-1, 2))

    @cached_property
    def collision_probability(self) -> float:
        r"""How likely two keys are to have the same value, $\sum_v P(v)^2$: at least $1/G$, by next to nothing."""
        total, g = 1 << HASH_BITS, self.n_values
        starts = [-(-v * total // g) for v in range(g + 1)]  # the first bits that give value v or more
        sizes = [after - before for before, after in pairwise(starts)]
        return sum(size**2 for size in sizes) / total**2

    def values(self, keys: NDArray[np.uint64], functions: NDArray[Any]) -> Words:
        """Compute the value of each key under the function beside it."""
        word = self.words[functions >> 1]
        x: Words = _low(keys) ^ word[:, 0]
        scratch = np.empty_like(x)
        _finish(mix(x, scratch), _high(keys), word[:, 1], scratch)
        x >>= (functions & 1).astype(np.uint32) * np.uint32(HASH_BITS)
        x &= np.uint32((1 << HASH_BITS) - 1)
        x *= np.uint32(self.n_values)
        x >>= np.uint32(HASH_BITS)
        return x

    def table(self, keys: NDArray[np.uint64]) -> NDArray[np.uint16]:
        """All values of a few keys, shape (n_functions, number of keys)."""
        table = np.empty((self.n_functions, len(keys)), np.uint16)
        for start, function, values in self._scan(keys):
            table[function, start : start + len(values)] = values
        return table

    def sums(self, entries: NDArray[Any], keys: NDArray[np.uint64]) -> NDArray[Any]:
        r"""$\sum_f E[f, h_f(x)]$ for every key $x$: ``entries`` $E$ have the shape (n_functions, n_values).

        This is the one pass over all functions and keys that an estimate takes, at two to three nanoseconds each.
        """
        sums = np.zeros(len(keys), entries.dtype)
        taken = np.empty(min(_BLOCK, max(len(keys), 1)), entries.dtype)
        for start, function, values in self._scan(keys):
            part = taken[: len(values)]
            # The values are in range; "clip" only spares numpy a copy of the result.
            np.take(entries[function], values, out=part, mode="clip")
            sums[start : start + len(values)] += part
        return sums

    def _scan(self, keys: NDArray[np.uint64]) -> Iterator[tuple[int, int, NDArray[np.intp]]]:
        """For a block of keys at a time: its start, a function, and the block's values, in a buffer that is reused."""
        words, g, shift = self.words, np.uint32(self.n_values), np.uint32(HASH_BITS)
        low_bits = np.uint32((1 << HASH_BITS) - 1)
        for start in range(0, len(keys), _BLOCK):
            block = keys[start : start + _BLOCK]
            lo, hi = _low(block), _high(block)
            x, scratch, values = np.empty_like(lo), np.empty_like(lo), np.empty(len(block), np.intp)
            for pair in range(self.n_functions // 2):
                np.bitwise_xor(lo, words[pair, 0], out=x)
                _finish(mix(x, scratch), hi, words[pair, 1], scratch)
                np.bitwise_and(x, low_bits, out=scratch)
                scratch *= g
                np.right_shift(scratch, shift, out=values, casting="unsafe")
                yield start, 2 * pair, values
                x >>= shift
                x *= g
                np.right_shift(x, shift, out=values, casting="unsafe")
                yield start, 2 * pair + 1, values


def mix(x: Words, scratch: Words) -> Words:
    """Apply the bijection of 32 bits in place.

    ``scratch`` has the shape of ``x``.
    """
    np.right_shift(x, 16, out=scratch)
    x ^= scratch
    x *= _FIRST
    np.right_shift(x, 15, out=scratch)
    x ^= scratch
    x *= _SECOND
    np.right_shift(x, 16, out=scratch)
    x ^= scratch
    return x


def _finish(x: Words, hi: Words, word: Any, scratch: Words) -> None:  # noqa: ANN401
    """Apply the second half of a hash in place."""
    x ^= hi
    x += word
    mix(x, scratch)


def _low(keys: NDArray[np.uint64]) -> Words:
    return keys.astype(np.uint32)


def _high(keys: NDArray[np.uint64]) -> Words:
    return (keys >> np.uint64(32)).astype(np.uint32)
