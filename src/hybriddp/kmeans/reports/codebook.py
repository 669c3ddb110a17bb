r"""Codebooks: public directions for reports of vectors, rows of Hadamard matrices, sixteen at a time.

With $H$ the Hadamard matrix of order $D \ge d$ (Sylvester's, the power of two from $d$ on; only its first $d$ columns
count) and $f$ a row of public signs, the directions are $u_a = H_a \circ f$, all of length $\sqrt d$. Over all rows of
$H$ the directions are orthogonal in every pair of coordinates, $\sum_a u_{ai} u_{aj} = D\,1[i = j]$, so that nothing of
one coordinate is taken for another.

A **codebook** is what a device is given: sixteen directions $u$, and their opposites; fewer in up to four dimensions,
where only $2^{d-1}$ differ. Several rows of signs make enough codebooks where $D$ is small. For second moments a
codebook holds pairs $(u_a, v_{\sigma(a) \oplus x})$ with other signs for $v$. Over all $a$ and $x$ these are all pairs
of rows, so the matrices $uv^T$ are orthogonal too. The permutation $\sigma$ makes $a \oplus \sigma(a)$ another row for
every $a$: on it depends the diagonal of $uv^T$, which must not be the same all over a codebook, or squares would be
seen only through it.

A vector is reported by the $k$ entries of its codebook, opposites included, that it agrees with most (`nearest_sets`).
"""

import hashlib
import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.grid import read_only
from hybriddp.kmeans.clustering import blocks, largest_constant_time, squared_norms
from hybriddp.kmeans.reports.base import read_array, require
from hybriddp.randomness import UniformDraws

LARGEST_CODEBOOK = 16  # directions that a device looks at, at most; with the opposite ones, twice as many
CODEBOOKS_OF_DIRECTIONS, CODEBOOKS_OF_PAIRS, CODEBOOKS_OF_SHIFTS = 4, 16, 64  # how many there are, at least
_BLOCK = 1 << 12  # vectors at a time
_VECTORS = 1 << 14  # for the mean of what agrees most


@lru_cache(maxsize=16)
def hadamard(order: int) -> FloatArray:
    r"""Make Sylvester's matrix of signs, $(-1)^{|a \wedge b|}$; the order is a power of two."""
    index = np.arange(order)
    return read_only(1.0 - 2.0 * (np.bitwise_count(index[:, None] & index) & 1))


def hadamard_products(vectors: FloatArray, order: int, rows: IntArray) -> FloatArray:
    """Multiply each vector with some rows of the matrix, shape (n, m), by the fast Walsh-Hadamard transform.

    That is sums and differences of numbers that are 1, 2, 4, ... apart, in this order. Every client adds up the same
    terms in the same order, and finds the same products to the last bit; a matrix product does not promise that.
    """
    products = np.empty(rows.shape)
    for part in blocks(len(vectors), _BLOCK):
        some = vectors[part].T
        sums = np.zeros((order, some.shape[1]))
        sums[: len(some)] = some
        step = 1
        while step < order:
            pairs = sums.reshape(-1, 2, step, some.shape[1])
            upper = pairs[:, 0] + pairs[:, 1]
            np.subtract(pairs[:, 0], pairs[:, 1], out=pairs[:, 1])
            pairs[:, 0] = upper
            step *= 2
        products[part] = np.take_along_axis(sums.T, rows[part], axis=1)
    return products


@dataclass(frozen=True, slots=True)
class Directions:
    """Directions of points of $d$ dimensions, by the public signs $f$ of each basis, ±1, shape (n_bases, d)."""

    sign_flips: IntArray

    @classmethod
    def of(cls, d: int, stream: int = 0, fewest: int = CODEBOOKS_OF_DIRECTIONS) -> "Directions":
        """Make at least ``fewest`` codebooks, the same for all in ``d`` dimensions; other signs for every stream."""
        order, codebook = order_of(d), codebook_size(d)
        sign_flips: list[IntArray] = []
        for turn in count():
            some = _hashed_signs(f"{d}/{stream}/{turn}", max(codebook // order, 1), d)
            if _all_differ(some):  # several bases in one codebook might be the same one
                sign_flips.extend(some)
            if len(sign_flips) * order >= fewest * codebook:
                break
        return cls(np.array(sign_flips))

    @property
    def order(self) -> int:
        """$D$, the number of directions of a basis."""
        return order_of(self.sign_flips.shape[1])

    @property
    def codebook(self) -> int:
        """Number of directions of a codebook."""
        return codebook_size(self.sign_flips.shape[1])

    @property
    def n_codebooks(self) -> int:
        """Number of codebooks."""
        return len(self.sign_flips) * self.order // self.codebook

    def rows(self, codebooks: IntArray) -> IntArray:
        """List the rows of each basis that a codebook holds, shape (n, at most 16)."""
        return np.arange(min(self.order, self.codebook)) + (codebooks * self.codebook % self.order)[:, None]

    def products(self, vectors: FloatArray, codebooks: IntArray, rows: IntArray | None = None) -> FloatArray:
        """Multiply each vector with the directions of its codebook, or with other rows of its bases."""
        order, codebook = self.order, self.codebook
        rows = self.rows(codebooks) if rows is None else rows
        parts = []
        for basis in range(max(codebook // order, 1)):
            flipped = vectors * self.sign_flips[codebooks * codebook // order + basis]
            parts.append(hadamard_products(flipped, order, rows))
        return np.concatenate(parts, axis=1)

    def sums(self, counts: FloatArray) -> FloatArray:
        """Add up directions, each as often as counted; leading axes of (..., n_codebooks, codebook) stay."""
        d = self.sign_flips.shape[1]
        by_row = counts.reshape(*counts.shape[:-2], len(self.sign_flips), self.order)
        sums: FloatArray = np.sum((by_row @ hadamard(self.order)[:, :d]) * self.sign_flips, axis=-2)
        return sums


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of directions: a codebook for every codebook of ``left`` and every number to move rows of ``right`` by."""

    left: Directions
    right: Directions

    @classmethod
    def of(cls, d: int) -> "Pairs":
        """Make the pairs of ``d`` dimensions, the same for all."""
        return cls(Directions.of(d, 1, CODEBOOKS_OF_PAIRS), Directions.of(d, 2, CODEBOOKS_OF_PAIRS))

    @property
    def n_codebooks(self) -> int:
        """Number of codebooks, those of ``left`` running fastest."""
        return self.left.order * self.left.n_codebooks

    def products(self, vectors: FloatArray, codebooks: IntArray) -> FloatArray:
        """Compute $(u z)(v z)$ of each vector, for the pairs of its codebook."""
        xor, codebook = np.divmod(codebooks, self.left.n_codebooks)
        others = paired_row(self.left.rows(codebook), self.left.order) ^ xor[:, None]
        return self.left.products(vectors, codebook) * self.right.products(vectors, codebook, others)

    def diagonals(self, squares: FloatArray, codebooks: IntArray) -> FloatArray:
        r"""Compute the part of the products from the diagonals, $\sum_j u_j v_j z_j^2$."""
        xor, codebook = np.divmod(codebooks, self.left.n_codebooks)
        rows = self.left.rows(codebook)
        diagonal = Directions(self.left.sign_flips * self.right.sign_flips)  # the product of two rows is a row
        return diagonal.products(squares, codebook, rows ^ paired_row(rows, self.left.order) ^ xor[:, None])

    def sums(self, counts: FloatArray) -> FloatArray:
        """Add up all $uv^T$, each as often as counted, shape (n_codebooks, codebook), and make the sum symmetric."""
        order, d = self.left.order, self.left.sign_flips.shape[1]
        signs = hadamard(order)[:, :d]
        rows = np.arange(order)
        by_row = counts.reshape(order, -1, order)  # xor, basis, row
        total = np.zeros((d, d))
        for basis, (f, g) in enumerate(zip(self.left.sign_flips, self.right.sign_flips, strict=True)):
            table = np.zeros((order, order))  # how often row a of the left met row b of the right
            for xor in range(order):
                table[rows, paired_row(rows, order) ^ xor] = by_row[xor, basis]
            total += f[:, None] * (signs.T @ table @ signs) * g
        return (total + total.T) / 2


def _hashed_signs(seed: str, rows: int, columns: int) -> IntArray:
    """Draw signs from a hash: the same on every machine, whatever the version of its random numbers."""
    raw = hashlib.shake_256(f"hybriddp directions {seed}".encode()).digest((rows * columns + 7) // 8)
    bits = np.unpackbits(np.frombuffer(raw, np.uint8), count=rows * columns)
    return 1 - 2 * bits.astype(np.int64).reshape(rows, columns)


def _all_differ(sign_flips: IntArray) -> bool:
    """Whether the directions of these bases are all different, and none is the opposite of another."""
    if len(sign_flips) == 1:
        return True
    d = sign_flips.shape[1]
    directions = (sign_flips[:, None] * hadamard(order_of(d))[:, :d]).reshape(-1, d)
    return len(np.unique(directions * directions[:, :1], axis=0)) == len(directions)


def paired_row(rows: IntArray, order: int) -> IntArray:
    r"""Permute rows by $\sigma$, so that $a$ and $\sigma(a)$ and also $a \oplus \sigma(a)$ are all rows, each once.

    Numbers of $k$ bits are polynomials over the field of two elements, modulo $x^k + x + 1$. Neither $x$ nor $1 + x$
    divides that, so multiplying by either is a permutation: $\sigma(a) = xa$. With fewer than four rows there is none.
    """
    if order < 4:
        return rows
    doubled: IntArray = rows << 1
    return np.where(doubled >= order, doubled ^ order ^ 0b11, doubled)


def codebook_size(d: int) -> int:
    """Count the directions of a codebook."""
    return min(LARGEST_CODEBOOK, 1 << (d - 1))


def order_of(d: int) -> int:
    """Return the power of two from ``d`` on."""
    return 1 << (d - 1).bit_length()


def most_bases(d: int, n_codebooks: int) -> int:
    """Count the bases of ``n_codebooks`` codebooks, at least 16: no question has more. All are powers of two."""
    return n_codebooks * codebook_size(d) // order_of(d)


def relative_lengths(vectors: FloatArray, radius: FloatArray | float) -> FloatArray:
    """Compute lengths in radii, clipped to 1."""
    lengths: FloatArray = np.minimum(np.sqrt(squared_norms(vectors)) / radius, 1.0)
    return lengths


def nearest_sets(
    products: FloatArray,
    length: FloatArray,
    sign: IntArray | int,
    chosen: int,
    rng: np.random.Generator | UniformDraws,
    *,
    constant_time: bool,
) -> IntArray:
    """Choose exactly ``chosen`` of the products and their opposites: the largest.

    Of equal ones, which points with whole coordinates have many of, a random one is taken: always the first ones would
    point somewhere. A random sign with the mean ``length``, times the public ``sign``, turns a set at the end into that
    of the opposites, where it is -1.
    """
    sign = sign * np.where(2 * rng.random(len(length)) - 1 < length, 1, -1)
    largest_product = np.abs(products).max(axis=1, keepdims=True, initial=0.0)
    scale = 1e-6 * np.where(largest_product > 0, largest_product, 1.0)
    products = products + scale * (rng.random(products.shape, np.float32) - 0.5)
    codebook = products.shape[1]
    both = np.concatenate([products, -products], axis=1)
    sets = largest_constant_time(both, chosen) if constant_time else _largest(both, chosen)
    opposite = (sets >> codebook) | (sets << codebook & ((1 << 2 * codebook) - 1))
    return np.where(sign > 0, sets, opposite)


def _largest(values: FloatArray, count: int) -> IntArray:
    """Select as `largest_constant_time`, faster for some rows than for others."""
    sets = np.zeros(len(values), np.int64)
    for place in np.argpartition(values, -count, axis=1)[:, -count:].T:  # by columns: sums of short rows are slow
        sets |= np.int64(1) << place
    return sets


def without_opposites(counts: FloatArray) -> FloatArray:
    """Subtract the reports of the opposite direction from those of each direction."""
    codebook = counts.shape[1] // 2
    return counts[:, :codebook] - counts[:, codebook:]


def unit_vectors(d: int) -> FloatArray:
    """Draw vectors that point anywhere, the same for all, by which gains are computed."""
    vectors = np.random.default_rng([d, _VECTORS]).standard_normal((_VECTORS, d))
    unit: FloatArray = vectors / np.sqrt(np.sum(vectors**2, axis=1, keepdims=True))
    return unit


def mean_gains(products: FloatArray, held: FloatArray) -> FloatArray:
    """Average what those with the largest products hold, signs included: the first, the first two, ..."""
    largest_first = np.argsort(-np.abs(products), axis=1)
    signed = np.take_along_axis(np.sign(products) * held, largest_first, axis=1)
    return read_only(np.cumsum(signed.mean(axis=0)))


def best_choice(gains: FloatArray, epsilon: float) -> tuple[int, float]:
    r"""Choose the number $k$ of entries of a codebook with the largest $g = (p - q) G_k$, what a report holds; and $g$.

    For $2m$ codes, $p - q = (e^\epsilon - 1) / (k e^\epsilon + 2m - k)$.
    """
    odds, chosen = math.exp(epsilon), np.arange(1, len(gains) + 1)
    held = (odds - 1) / (chosen * odds + 2 * len(gains) - chosen) * gains
    best = int(np.argmax(held))
    return best + 1, float(held[best])


def read_directions(d: int, fields: dict[str, Any], name: str, n_codebooks: int) -> Directions:
    """Read directions of a question, which make at most ``n_codebooks``."""
    bases, most = len(fields[name]), most_bases(d, n_codebooks)
    require(0 < bases <= most, f"it has other than 1 to {most} rows of directions")
    sign_flips = read_array(fields, name, (bases, d))
    whole = (np.abs(sign_flips) == 1).all() and bases * order_of(d) % codebook_size(d) == 0
    require(bool(whole), "its directions are malformed")
    return Directions(sign_flips.astype(np.int64))


def read_chosen(d: int, fields: dict[str, Any]) -> int:
    """Read how many entries of a codebook a question chooses."""
    chosen, most = fields["chosen"], codebook_size(d)
    require(type(chosen) is int and 1 <= chosen <= most, f"it chooses other than 1 to {most} directions")
    return int(chosen)
