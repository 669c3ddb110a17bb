r"""Reports of where the square of a residual points to: second moments.

As in `direction`, with $zz^T$ for the vector, $(uz)(vz)$ for the product, and $|z|^2$ for the length. For points $z$
whose squared length is that of a normal vector with variance $v$ in each of $d$ coordinates, $|z|^2 = v\chi^2$, what
clipping leaves is known,

$$
E \min\Big(1, \frac{|z|^2}{r^2}\Big) \frac{z_i z_j}{|z|^2} = \Sigma_{ij}\,
\frac{1}{d(d + 2)} E\Big[\chi^4 \min\Big(\frac{1}{r^2}, \frac{1}{v\chi^2}\Big)\Big] \quad (i \ne j),
$$

for small covariances $\Sigma_{ij}$. The trace of $zz^T$, the squared length, is asked for on its own, in one bit.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.response import ChoiceResponse
from hybriddp.channels.unary import symbol_channel
from hybriddp.kmeans.reports import codebook
from hybriddp.kmeans.reports.base import Ask, Measured, Question, ReportTally, Rng, read_ball, require
from hybriddp.kmeans.reports.clipping import squared_lengths, undo_clipping
from hybriddp.kmeans.reports.direction import read_chosen, read_directions


@dataclass(frozen=True, slots=True)
class SecondMomentQuestion(Question):
    """Which matrices $uv^T$ is $zz^T$ nearest to, for $z = x - c$? A set of them."""

    kind: ClassVar[str] = "second_moment"

    center: FloatArray  # c, shape (d,)
    radius: float  # r: matrices of longer vectors count as r²
    pairs: codebook.Pairs  # the matrices
    chosen: int  # how many of a codebook

    @property
    def n_variants(self) -> int:
        return self.pairs.n_codebooks

    @property
    def n_symbols(self) -> int:
        return 2 * self.pairs.left.codebook  # with the opposite matrices

    @property
    def n_chosen(self) -> int:
        return self.chosen

    def symbols(self, points: FloatArray, variants: IntArray, rng: Rng, *, constant_time: bool = True) -> IntArray:
        residuals = points - self.center
        products, lengths = self.pairs.products(residuals, variants), codebook.relative_lengths(residuals, self.radius)
        return codebook.nearest_sets(products, lengths**2, 1, self.chosen, rng, constant_time=constant_time)

    def sums(self, counts: FloatArray) -> FloatArray:
        """From unbiased counts, shape (n_variants, n_symbols): the sum of clipped $zz^T$, in squared radii.

        Off-diagonal entries, the diagonal without its trace, and the trace each have a gain of their own.
        """
        d, gains = len(self.center), pair_gains(len(self.center))
        raw, k = self.pairs.sums(codebook.without_opposites(counts)), self.chosen - 1
        trace = float(np.trace(raw)) / d
        sums: FloatArray = raw / gains.off_diagonal[k]
        sums[np.diag_indices(d)] = (np.diag(raw) - trace) / gains.diagonal[k] + trace / gains.all[k]
        return sums

    def fields(self) -> dict[str, Any]:
        return {
            "center": self.center,
            "radius": self.radius,
            "left_sign_flips": self.pairs.left.sign_flips,
            "right_sign_flips": self.pairs.right.sign_flips,
            "chosen": self.chosen,
        }

    @classmethod
    def from_fields(cls, d: int, fields: dict[str, Any]) -> "SecondMomentQuestion":
        center, radius = read_ball(d, fields)
        most = codebook.most_bases(d, codebook.CODEBOOKS_OF_PAIRS)
        left, right = (read_directions(d, fields, f"{side}_sign_flips", most) for side in ("left", "right"))
        require(left.sign_flips.shape == right.sign_flips.shape, "its pairs of directions do not match")
        return cls(center, radius, codebook.Pairs(left, right), read_chosen(d, fields))


@dataclass(frozen=True, slots=True)
class PairGains:
    r"""How much of $zz^T$ the matrices nearest to it hold, on average over unit vectors, for each number of them.

    The public matrices are no more than a few of all there are, so that it is not the same for all entries. What a
    chosen matrix holds of the off-diagonal entries is compared with their own sum of squares,
    $E \sum_{i \ne j} z_i^2 z_j^2 = (d - 1)/(d + 2)$; of the diagonal without its trace,
    $E \sum_j (z_j^2 - 1/d)^2 = 2(d - 1)/d(d + 2)$.
    """

    all: FloatArray  # of all entries together, shape (m,)
    off_diagonal: FloatArray
    diagonal: FloatArray  # without the trace


@lru_cache(maxsize=64)
def pair_gains(d: int) -> PairGains:
    """The gains of matrices, for more than one dimension, as `direction_gains`."""
    pairs, vectors = codebook.Pairs.of(d), codebook.unit_vectors(d)
    codebooks = np.arange(len(vectors)) % pairs.n_codebooks
    products = pairs.products(vectors, codebooks)
    squares = pairs.diagonals(vectors**2, codebooks)
    deviatoric = pairs.diagonals(vectors**2 - 1 / d, codebooks)
    off_diagonal, diagonal = (d - 1) / (d + 2), 2 * (d - 1) / (d * (d + 2))
    return PairGains(
        all=codebook.mean_gains(products, products),
        off_diagonal=codebook.mean_gains(products, (products - squares) / off_diagonal),
        diagonal=codebook.mean_gains(products, deviatoric / diagonal),
    )


def deviatoric(matrix: FloatArray) -> FloatArray:
    """The matrix without its trace."""
    d = len(matrix)
    return matrix - float(np.trace(matrix)) / d * np.eye(d)


def pair_ask(center: FloatArray, radius: float, *, epsilon: str, user_fraction: Fraction) -> Ask:
    """Ask where $zz^T$ points to."""
    d = len(center)
    chosen = codebook.best_choice(pair_gains(d).all, float(epsilon))[0]
    question = SecondMomentQuestion(center, radius, codebook.Pairs.of(d), chosen)
    return Ask(question, ChoiceResponse(epsilon=epsilon, n_codes=question.n_symbols, n_chosen=chosen), user_fraction)


def pair_variance(d: int, epsilon: float) -> float:
    """The variance that one user adds to an off-diagonal entry, in units of $r^4$; on the diagonal, twice as much."""
    return 0.5 / codebook.best_choice(pair_gains(d).all, epsilon)[1] ** 2


def second_moments(ask: Ask, answers: ReportTally, spread: float) -> Measured[FloatArray]:
    """The mean of $zz^T$ without its trace, clipping undone; ``spread`` is the variance of an average coordinate."""
    question, n = ask.question_as(SecondMomentQuestion), answers.n_users
    d = len(question.center)
    gains, k = pair_gains(d), question.chosen - 1
    each = np.where(np.eye(d) > 0, 1 / gains.diagonal[k] ** 2, 0.5 / gains.off_diagonal[k] ** 2)
    entries = each / (ask.channel.gap**2 * n) if n else np.full((d, d), math.inf)
    squares = squared_lengths(d)
    weights = np.minimum(1 / question.radius**2, 1 / (spread * squares))
    factor = float(np.mean(squares**2 * weights)) / (d * (d + 2))
    mean = question.sums(answers.counts(ask.channel)) / max(n, 1)
    return Measured(deviatoric(mean) / factor, entries / factor**2)


# The trace: how long? -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LengthQuestion(Question):
    r"""How long? One bit, which is 1 with probability $\min(1, |x - c|^2 / r^2)$."""

    kind: ClassVar[str] = "length"
    n_symbols: ClassVar[int] = 2

    center: FloatArray  # c, shape (d,)
    radius: float  # r

    def symbols(self, points: FloatArray, variants: IntArray, rng: Rng, *, constant_time: bool = True) -> IntArray:
        square = codebook.relative_lengths(points - self.center, self.radius) ** 2
        return (rng.random(len(points)) < square).astype(np.int64)

    def fields(self) -> dict[str, Any]:
        return {"center": self.center, "radius": self.radius}

    @classmethod
    def from_fields(cls, d: int, fields: dict[str, Any]) -> "LengthQuestion":
        return cls(*read_ball(d, fields))


def length_ask(center: FloatArray, radius: float, *, epsilon: str, user_fraction: Fraction) -> Ask:
    """Ask how long $z = x - c$ is."""
    return Ask(LengthQuestion(center, radius), symbol_channel(epsilon, 2), user_fraction)


def mean_square(ask: Ask, answers: ReportTally) -> Measured[float]:
    """The mean squared length that the bits say, clipping undone; a bit has a variance of at most 1/4."""
    question, n = ask.question_as(LengthQuestion), answers.n_users
    clipped = float(answers.counts(ask.channel)[0, 1]) / max(n, 1)
    relative, slope = undo_clipping(clipped, len(question.center))
    square = question.radius**2
    variance = (square / (2 * ask.channel.gap * slope)) ** 2 / n if n else math.inf
    return Measured(relative * square, variance)
