r"""Moments: what clipping leaves of those of a normal cluster, and reports of squares.

**Clipping.** Let $z$ be normal with mean $\delta$ and standard deviation 1 in each of $d$ coordinates, clipped to
$z \min(1, r/|z|)$ in some norm. For small $\delta$ the mean of that is $\delta$ times

$$
E\Big[1[|z| < r] + 1[|z| \ge r]\,\frac{r}{|z|}\Big(1 - \frac1d\Big)\Big]:
$$

inside of the radius a shift stays what it is, outside it moves only across the direction of $z$.

**Second moments** are reported as directions are (`means`), with $zz^T$ for the vector, $(uz)(vz)$ for the product, and
$|z|^2$ for the length. For points $z$ whose squared length is that of a normal vector with variance $v$ in each of $d$
coordinates, $|z|^2 = v\chi^2$, what clipping leaves is known,

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
from statistics import NormalDist
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.response import ChoiceResponse
from hybriddp.channels.unary import symbol_channel
from hybriddp.grid import read_only
from hybriddp.kmeans.reports import codebook
from hybriddp.kmeans.reports.base import Ask, Question, ReportTally, Rng, read_ball, require

_Value = TypeVar("_Value", float, FloatArray)
_CENTILES = (np.arange(200) + 0.5) / 200
_HALVINGS = 100  # of an interval that holds a quantile: past the last digit


@dataclass(frozen=True, slots=True)
class Measured(Generic[_Value]):
    """Estimate and the variance of each of its numbers; infinite where nothing is known."""

    value: _Value
    variance: _Value


# Chi-square quantiles -------------------------------------------------------------------------------------------------
# With ν degrees of freedom, a whole number, the probability to exceed x is a finite sum:
#
#     Q_1(x) = erfc √(x/2),    Q_2(x) = exp(-x/2),    Q_{ν+2}(x) = Q_ν(x) + (x/2)^{ν/2} exp(-x/2) / Γ(ν/2 + 1).
#
# scipy has these too. But to import it takes longer than to cluster a hundred thousand users.


def erfc(values: FloatArray) -> FloatArray:
    """Compute the complementary error function of each value."""
    return np.array([math.erfc(value) for value in values.tolist()])


def chi_square_above(x: FloatArray, degrees: int) -> FloatArray:
    """Compute the probabilities that a chi-square variable exceeds numbers above 0.

    Examples
    --------
    >>> chi_square_above(np.array([5.991, 7.824]), 2).round(3).tolist()
    [0.05, 0.02]
    """
    half = x / 2
    first = 2 - degrees % 2
    above = np.exp(-half) if first == 2 else erfc(np.sqrt(half))
    logs = np.log(half)
    for nu in range(first, degrees, 2):
        above += np.exp(nu / 2 * logs - half - math.lgamma(nu / 2 + 1))
    return above


def chi_square_limits(degrees: int, levels: FloatArray) -> FloatArray:
    """Find what a chi-square variable exceeds with probabilities between 0 and 1, by bisection."""
    low, high = np.zeros(levels.shape), np.full(levels.shape, float(degrees))
    while (short := chi_square_above(high, degrees) > levels).any():
        high[short] *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        short = chi_square_above(middle, degrees) > levels
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return high


@lru_cache(maxsize=1024)
def chi_square_limit(degrees: int, level: float) -> float:
    """Find what a chi-square variable exceeds with one probability.

    Examples
    --------
    >>> round(chi_square_limit(3, 0.05), 3)
    7.815
    """
    return float(chi_square_limits(degrees, np.array([level]))[0])


# Clipping of normal clusters ------------------------------------------------------------------------------------------


def clipping_factor_signs(radius: float) -> float:
    """Compute the factor if each coordinate is clipped on its own: the chance to be inside."""
    return math.erf(radius / math.sqrt(2))


def clipping_factor_lengths(radius: float, d: int) -> float:
    """Compute the factor if the Euclidean length is clipped."""
    return _mean_factor(np.sqrt(squared_lengths(d)), radius, d)


def clipping_factor_sums(radius: float, d: int) -> float:
    """Compute the factor if the sum of absolute values is clipped, nearly normal in more than three dimensions."""
    lengths = d * math.sqrt(2 / math.pi) + math.sqrt(d * (1 - 2 / math.pi)) * _normal_centiles()
    return _mean_factor(np.maximum(lengths, 1e-3), radius, d)


def _mean_factor(lengths: FloatArray, radius: float, d: int) -> float:
    return float(np.mean(np.where(lengths < radius, 1.0, (1 - 1 / d) * radius / lengths)))


@lru_cache(maxsize=64)
def squared_lengths(d: int) -> FloatArray:
    """List two hundred squared lengths of a normal vector, equally likely."""
    return read_only(chi_square_limits(d, 1 - _CENTILES))


@lru_cache(maxsize=1)
def _normal_centiles() -> FloatArray:
    return read_only(np.array([NormalDist().inv_cdf(centile) for centile in _CENTILES.tolist()]))


def undo_clipping(mean: float, d: int) -> tuple[float, float]:
    r"""Find the mean square before it was clipped at 1: the $s$ with $E \min(1, s\chi^2/d)$ = ``mean``; and the slope.

    By bisection; noise beyond what can be is taken for the nearest.
    """
    squares = squared_lengths(d) / d
    mean, low, high = min(max(mean, 0.02), 0.95), 1e-3, 50.0
    for _ in range(50):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if np.minimum(1, middle * squares).mean() < mean else (low, middle)
    return middle, float(np.mean(np.where(middle * squares < 1, squares, 0.0)))


def usual_size(d: int) -> float:
    r"""Compute the mean size of the upper triangle of $zz^T$ in $L_1$, for normal $z$ with variance 1.

    $\sum_{i \le j} |z_i z_j| = (|z|_1^2 + |z|_2^2)/2$, with the mean $d + d(d-1)/\pi$.
    """
    return d + d * (d - 1) / math.pi


# Second moments -------------------------------------------------------------------------------------------------------


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
        """Add up clipped $zz^T$, in squared radii, by unbiased counts, shape (n_variants, n_symbols).

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
        names = ("left_sign_flips", "right_sign_flips")
        left, right = (codebook.read_directions(d, fields, name, codebook.CODEBOOKS_OF_PAIRS) for name in names)
        require(left.sign_flips.shape == right.sign_flips.shape, "its pairs of directions do not match")
        return cls(center, radius, codebook.Pairs(left, right), codebook.read_chosen(d, fields))


@dataclass(frozen=True, slots=True)
class PairGains:
    r"""Part of $zz^T$ that the matrices nearest to it hold, on average over unit vectors, for each number of them.

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
    """Compute the gains of matrices, for more than one dimension, as `direction_gains`."""
    pairs, vectors = codebook.Pairs.of(d), codebook.unit_vectors(d)
    codebooks = np.arange(len(vectors)) % pairs.n_codebooks
    products = pairs.products(vectors, codebooks)
    squares = pairs.diagonals(vectors**2, codebooks)
    without_trace = pairs.diagonals(vectors**2 - 1 / d, codebooks)
    off_diagonal, diagonal = (d - 1) / (d + 2), 2 * (d - 1) / (d * (d + 2))
    return PairGains(
        all=codebook.mean_gains(products, products),
        off_diagonal=codebook.mean_gains(products, (products - squares) / off_diagonal),
        diagonal=codebook.mean_gains(products, without_trace / diagonal),
    )


def deviatoric(matrix: FloatArray) -> FloatArray:
    """Subtract the trace of a matrix."""
    d = len(matrix)
    return matrix - float(np.trace(matrix)) / d * np.eye(d)


def pair_ask(center: FloatArray, radius: float, *, epsilon: str, user_fraction: Fraction) -> Ask:
    """Ask where $zz^T$ points to."""
    d = len(center)
    chosen = codebook.best_choice(pair_gains(d).all, float(epsilon))[0]
    question = SecondMomentQuestion(center, radius, codebook.Pairs.of(d), chosen)
    return Ask(question, ChoiceResponse(epsilon=epsilon, n_codes=question.n_symbols, n_chosen=chosen), user_fraction)


def pair_variance(d: int, epsilon: float) -> float:
    """Compute the variance that a user adds to an off-diagonal entry, in $r^4$; on the diagonal, twice as much."""
    return 0.5 / codebook.best_choice(pair_gains(d).all, epsilon)[1] ** 2


def second_moments(ask: Ask, answers: ReportTally, spread: float) -> Measured[FloatArray]:
    """Estimate the mean of $zz^T$ without its trace, clipping undone, for points of variance ``spread``."""
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


# The trace ------------------------------------------------------------------------------------------------------------


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
    """Estimate the mean squared length, clipping undone; a bit has a variance of at most 1/4."""
    question, n = ask.question_as(LengthQuestion), answers.n_users
    clipped = float(answers.counts(ask.channel)[0, 1]) / max(n, 1)
    relative, slope = undo_clipping(clipped, len(question.center))
    square = question.radius**2
    variance = (square / (2 * ask.channel.gap * slope)) ** 2 / n if n else math.inf
    return Measured(relative * square, variance)
