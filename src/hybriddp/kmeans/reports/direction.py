r"""What a device is asked about a vector as a whole: where it points, where its square points, how long it is.

A vector $z$ that points somewhere in $d$ dimensions is reported best not coordinate by coordinate but as one of many
public directions that it agrees with [BDF+18, AFT22]. The device takes those $k$ of the directions
$\pm u_1, \dots, \pm u_m$ of its codebook (`Directions`) which $z$ agrees with most, and the channel (`ChoiceResponse`)
reports one of these or another one. Averages of reports point where $z$ does:

$$
E \sum_{i \in S} \pm u_i = G_k \frac{z}{|z|}, \qquad G_k = E \sum_{i \in S} \frac{|u_i z|}{|z|},
$$

on average over the bases. Lengths are kept up to a radius $r$: $z$ is taken as $-z$ with probability $(1 - \rho)/2$,
$\rho = \min(1, |z|/r)$, which leaves $\rho$ of the average.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.kmeans.reports.codebook import Directions, Pairs
from hybriddp.kmeans.reports.questions import Labels, Question, residual_fields, residuals
from hybriddp.kmeans.reports.steady import largest_steadily

_VECTORS = 1 << 14  # for the mean of what agrees most


@dataclass(frozen=True, slots=True)
class DirectionQuestion(Question):
    r"""Which directions is the residual nearest to, times a public sign of its center? A set of them.

    With $h$ a row of a Hadamard matrix, the vector of a user with label $k$ is $h_k (x - c_k)$. Rows are orthogonal, so
    that the sum of $h_k$ times reports over all rows keeps cluster $k$ and cancels the others: the label stays hidden.

    Attributes
    ----------
    labels : Labels
        Which center is meant.
    centers : ndarray, shape (K, d)
        $c$: where residuals are measured from.
    radii : ndarray, shape (K,)
        $r$: longer residuals count as that long.
    directions : Directions
        The directions.
    chosen : int
        How many are chosen.
    """

    kind: ClassVar[str] = "direction"

    labels: Labels
    centers: FloatArray
    radii: FloatArray
    directions: Directions
    chosen: int

    @property
    def n_rows(self) -> int:
        """The order of the Hadamard matrix: the power of two from the number of centers on."""
        return 1 << (len(self.centers) - 1).bit_length()

    @property
    def n_variants(self) -> int:
        """One for each row and codebook, the codebook running fastest."""
        return self.n_rows * self.directions.n_codebooks

    @property
    def n_symbols(self) -> int:
        """The directions of a codebook and their opposites."""
        return 2 * self.directions.codebook

    @property
    def n_chosen(self) -> int:
        """An answer is a set of so many directions."""
        return self.chosen

    def public_signs(self) -> IntArray:
        """The signs of each row (Sylvester's construction), shape (n_rows, K)."""
        rows, columns = np.arange(self.n_rows)[:, None], np.arange(len(self.centers))
        signs: IntArray = 1 - 2 * (np.bitwise_count(rows & columns) & 1).astype(np.int64)
        return signs

    def symbols(
        self, points: FloatArray, variants: IntArray, rng: np.random.Generator, *, steady: bool = True
    ) -> IntArray:
        """The set of each point."""
        label = self.labels.of(points, steady=steady)
        row, codebook = np.divmod(variants, self.directions.n_codebooks)
        rest = residuals(self, points, label, steady=steady)
        public = 1 - 2 * (np.bitwise_count(row & label) & 1).astype(np.int64)  # as `public_signs`, without all of them
        sign = _signs(_lengths(rest.vectors, rest.radii), rng) * public
        return _nearest(self.directions.products(rest.vectors, codebook), sign, self.chosen, rng, steady=steady)

    def sums(self, counts: FloatArray) -> FloatArray:
        """From unbiased counts of codes, shape (n_variants, n_symbols): the sum of $z / |z|$ cut, of each cluster."""
        signed = _opposites(counts).reshape(self.n_rows, self.directions.n_codebooks, -1)
        gain = float(direction_gains(self.centers.shape[1])[self.chosen - 1])
        sums: FloatArray = self.public_signs().T @ self.directions.sums(signed) / gain
        return sums

    def fields(self) -> dict[str, Any]:
        """What its text holds."""
        return {**residual_fields(self), "flips": self.directions.sign_flips, "chosen": self.chosen}


@dataclass(frozen=True, slots=True)
class SecondMomentQuestion(Question):
    r"""Which matrices $uv^T$ is $zz^T$ nearest to, for $z = x - c$? A set of them.

    As `DirectionQuestion`, with $zz^T$ for the vector, $(uz)(vz)$ for the product, and $|z|^2$ for the length.

    Attributes
    ----------
    center : ndarray, shape (d,)
        $c$.
    radius : float
        $r$: matrices of longer vectors count as $r^2$.
    pairs : Pairs
        The matrices.
    chosen : int
        How many are chosen.
    """

    kind: ClassVar[str] = "pair"

    center: FloatArray
    radius: float
    pairs: Pairs
    chosen: int

    @property
    def n_variants(self) -> int:
        """One for each codebook."""
        return self.pairs.n_codebooks

    @property
    def n_symbols(self) -> int:
        """The matrices of a codebook and their opposites."""
        return 2 * self.pairs.left.codebook

    @property
    def n_chosen(self) -> int:
        """An answer is a set of so many matrices."""
        return self.chosen

    def symbols(
        self, points: FloatArray, variants: IntArray, rng: np.random.Generator, *, steady: bool = True
    ) -> IntArray:
        """The set of each point."""
        rest = points - self.center
        sign = _signs(_lengths(rest, self.radius) ** 2, rng)
        return _nearest(self.pairs.products(rest, variants), sign, self.chosen, rng, steady=steady)

    def sums(self, counts: FloatArray) -> FloatArray:
        """From unbiased counts of the codes, shape (n_variants, n_symbols): the sum of $zz^T / |z|^2$ cut.

        Off-diagonal entries, the diagonal, the diagonal and the trace each have a gain of their own.
        """
        d, gains = len(self.center), pair_gains(len(self.center))
        raw, k = self.pairs.sums(_opposites(counts)), self.chosen - 1
        trace = float(np.trace(raw)) / d
        diagonal = (np.diag(raw) - trace) / gains.diagonal[k] + trace / gains.all[k]
        sums: FloatArray = raw / gains.off_diagonal[k]
        sums[np.diag_indices(d)] = diagonal
        return sums

    def fields(self) -> dict[str, Any]:
        """What its text holds."""
        return {
            "center": self.center,
            "radius": self.radius,
            "left": self.pairs.left.sign_flips,
            "right": self.pairs.right.sign_flips,
            "chosen": self.chosen,
        }


@dataclass(frozen=True, slots=True)
class LengthQuestion(Question):
    r"""How long? One bit, which is 1 with probability $\min(1, |x - c|^2 / r^2)$.

    Attributes
    ----------
    center : ndarray, shape (d,)
        $c$.
    radius : float
        $r$.
    """

    kind: ClassVar[str] = "length"

    center: FloatArray
    radius: float

    @property
    def n_variants(self) -> int:
        """One."""
        return 1

    @property
    def n_symbols(self) -> int:
        """Two."""
        return 2

    def symbols(
        self,
        points: FloatArray,
        variants: IntArray,  # noqa: ARG002
        rng: np.random.Generator,
        *,
        steady: bool = True,  # noqa: ARG002  (there is one way)
    ) -> IntArray:
        """The bit of each point."""
        square = _lengths(points - self.center, self.radius) ** 2
        bits: IntArray = (rng.random(len(points)) < square).astype(np.int64)
        return bits

    def fields(self) -> dict[str, Any]:
        """What its text holds."""
        return {"center": self.center, "radius": self.radius}


@lru_cache(maxsize=64)
def direction_gains(d: int) -> FloatArray:
    r"""$G_1, \dots, G_m$: how much of a unit vector the directions nearest to it hold, on average.

    Over vectors that point anywhere, always the same ones; all machines get the same numbers but for rounding.
    """
    directions = Directions.of(d)
    products = directions.products(_unit_vectors(d), np.arange(_VECTORS) % directions.n_codebooks)
    return _gains(products, products)


@dataclass(frozen=True, slots=True)
class PairGains:
    r"""How much of $zz^T$ the matrices nearest to it hold, on average over unit vectors, for each number of them.

    The public matrices are no more than a few of all there are, so that it is not the same for all entries. What a
    chosen matrix holds of the off-diagonal entries is compared with their own sum of squares,
    $E \sum_{i \ne j} z_i^2 z_j^2 = (d - 1)/(d + 2)$; of the diagonal without its trace,
    $E \sum_j (z_j^2 - 1/d)^2 = 2(d - 1)/d(d + 2)$.

    Attributes
    ----------
    all, off_diagonal, diagonal : ndarray, shape (m,)
        Of all entries together, of off-diagonal ones, of those on it without the trace.
    """

    all: FloatArray
    off_diagonal: FloatArray
    diagonal: FloatArray


@lru_cache(maxsize=64)
def pair_gains(d: int) -> PairGains:
    """The gains of matrices, for more than one dimension, as `direction_gains`."""
    pairs, vectors = Pairs.of(d), _unit_vectors(d)
    codebooks = np.arange(len(vectors)) % pairs.n_codebooks
    products = pairs.products(vectors, codebooks)
    squares = pairs.diagonals(vectors**2, codebooks)
    deviatoric = pairs.diagonals(vectors**2 - 1 / d, codebooks)
    off_diagonal, diagonal = (d - 1) / (d + 2), 2 * (d - 1) / (d * (d + 2))
    return PairGains(
        all=_gains(products, products),
        off_diagonal=_gains(products, (products - squares) / off_diagonal),
        diagonal=_gains(products, deviatoric / diagonal),
    )


def _unit_vectors(d: int) -> FloatArray:
    vectors = np.random.default_rng([d, _VECTORS]).standard_normal((_VECTORS, d))
    unit: FloatArray = vectors / np.sqrt(np.sum(vectors**2, axis=1, keepdims=True))
    return unit


def _gains(products: FloatArray, held: FloatArray) -> FloatArray:
    """The mean of what is held by those with the largest products, signs included: by the first, the first two, ..."""
    largest_first = np.argsort(-np.abs(products), axis=1)
    signed = np.take_along_axis(np.sign(products) * held, largest_first, axis=1)
    gains: FloatArray = np.cumsum(signed.mean(axis=0))
    gains.flags.writeable = False
    return gains


def _lengths(vectors: FloatArray, radius: FloatArray | float) -> FloatArray:
    """Lengths in radii, 1 at most."""
    lengths: FloatArray = np.minimum(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) / radius, 1.0)
    return lengths


def _signs(length: FloatArray, rng: np.random.Generator) -> FloatArray:
    """+1 with probability (1 + length)/2, else -1."""
    return np.where(2 * rng.random(len(length)) - 1 < length, 1.0, -1.0)


def _nearest(
    products: FloatArray, sign: FloatArray, chosen: int, rng: np.random.Generator, *, steady: bool
) -> IntArray:
    """The ``chosen`` largest of the products and their opposites: exactly so many, whatever the products are.

    Of equal ones, which points with whole coordinates have many of, the dice choose: always the first ones would point
    somewhere. The sign comes last, and turns a set into that of the opposites.
    """
    largest_product = np.abs(products).max(axis=1, keepdims=True, initial=0.0)
    scale = 1e-6 * np.where(largest_product > 0, largest_product, 1.0)
    products = products + scale * (rng.random(products.shape, np.float32) - 0.5)
    codebook = products.shape[1]
    both = np.concatenate([products, -products], axis=1)
    sets = largest_steadily(both, chosen) if steady else _largest(both, chosen)
    opposite = (sets >> codebook) | (sets << codebook & ((1 << 2 * codebook) - 1))
    return np.where(sign > 0, sets, opposite)


def _largest(values: FloatArray, count: int) -> IntArray:
    """What `largest_steadily` finds, by a selection that is faster for some rows than for others."""
    sets = np.zeros(len(values), np.int64)
    for place in np.argpartition(values, -count, axis=1)[:, -count:].T:  # by columns: sums of short rows are slow
        sets |= np.int64(1) << place
    return sets


def _opposites(counts: FloatArray) -> FloatArray:
    """Of each direction, how many more reports there are than of its opposite."""
    codebook = counts.shape[1] // 2
    signed: FloatArray = counts[:, :codebook] - counts[:, codebook:]
    return signed
