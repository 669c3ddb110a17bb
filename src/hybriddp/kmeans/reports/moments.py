r"""Moments of all points: how long they are, where they point to, and where their squares point to.

Local users say one of the three. Lengths and directions are cut at a radius $r$; for points $z$ whose squared length is
that of a normal vector with variance $v$ in each of $d$ coordinates, $|z|^2 = v\chi^2$, what is left is known:

$$
E \min(1, |z|^2/r^2), \qquad
E \min\Big(1, \frac{|z|^2}{r^2}\Big) \frac{z_i z_j}{|z|^2} = \Sigma_{ij}\,
\frac{1}{d(d + 2)} E\Big[\chi^4 \min\Big(\frac{1}{r^2}, \frac{1}{v\chi^2}\Big)\Big] \quad (i \ne j),
$$

the latter for small covariances $\Sigma_{ij}$. The trusted group releases the sum of $zz^T$ directly.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.choice import ChoiceResponse
from hybriddp.kmeans.reports.clipping import clipping_factor_lengths, squared_lengths
from hybriddp.kmeans.reports.codebook import Pairs
from hybriddp.kmeans.reports.direction import LengthQuestion, SecondMomentQuestion, pair_gains
from hybriddp.kmeans.reports.local_means import best_choice, direction_ask, direction_means
from hybriddp.kmeans.reports.questions import Labels
from hybriddp.kmeans.reports.symbols import support, symbol_channel
from hybriddp.kmeans.reports.tally import Ask, ReportTally


@dataclass(frozen=True, slots=True)
class MeanSquare:
    """The mean squared length, and its variance."""

    value: float
    variance: float


@dataclass(frozen=True, slots=True)
class MeanShift:
    """The mean of $z$, and the variance of each coordinate of it."""

    value: FloatArray
    variance: float


@dataclass(frozen=True, slots=True)
class Deviatoric:
    """The mean of $zz^T$ without its trace, and the variance of each entry; infinite where nothing is known."""

    value: FloatArray
    variance: FloatArray


# How long -------------------------------------------------------------------------------------------------------------


def length_ask(center: FloatArray, radius: float, *, epsilon: str, user_fraction: Fraction) -> Ask:
    """Ask how long $z = x - c$ is."""
    return Ask(LengthQuestion(center, radius), symbol_channel(epsilon, 2), user_fraction)


def mean_square(ask: Ask, answers: ReportTally) -> MeanSquare:
    """What the bits say, cutting undone."""
    question, n = ask.question, int(answers.users.sum())
    assert isinstance(question, LengthQuestion)  # noqa: S101
    p, q = support(ask.channel)
    found = float(answers.counts(ask.channel)[0, 1]) / max(n, 1)
    cut = undo_clipping(found, len(question.center))
    square = question.radius**2
    variance = (square / (2 * (p - q) * cut.slope)) ** 2 / n if n else math.inf
    return MeanSquare(cut.value * square, variance)


@dataclass(frozen=True, slots=True)
class Uncut:
    """A mean squared length before it was cut at 1, and how fast the cut one rises with it."""

    value: float
    slope: float


def undo_clipping(mean: float, d: int) -> Uncut:
    r"""The $s$ with $E \min(1, s\chi^2/d)$ = ``mean``, by bisection; noise beyond what can be is taken for the nearest.

    Examples
    --------
    >>> undo_clipping(0.5, 8)
    Uncut(value=0.5083, slope=0.8952)
    """
    squares = squared_lengths(d) / d
    mean, low, high = min(max(mean, 0.02), 0.95), 1e-3, 50.0
    for _ in range(50):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if np.minimum(1, middle * squares).mean() < mean else (low, middle)
    return Uncut(middle, float(np.mean(np.where(middle * squares < 1, squares, 0.0))))


# Where to -------------------------------------------------------------------------------------------------------------


def shift_ask(center: FloatArray, radius: float, *, epsilon: str, user_fraction: Fraction) -> Ask:
    """Ask where $z = x - c$ points to."""
    centers = center[None, :]
    return direction_ask(Labels(centers), centers, np.array([radius]), epsilon=epsilon, user_fraction=user_fraction)


def mean_shift(ask: Ask, answers: ReportTally, radius: float, sd: float) -> MeanShift:
    """What the directions say, for a standard deviation of a coordinate."""
    means, variance = direction_means(ask, answers)
    whole = radius / clipping_factor_lengths(radius / sd, means.shape[1])
    return MeanShift(whole * means[0], whole**2 * variance)


# Where squares point to -----------------------------------------------------------------------------------------------


def pair_ask(center: FloatArray, radius: float, *, epsilon: str, user_fraction: Fraction) -> Ask:
    """Ask where $zz^T$ points to."""
    d = len(center)
    chosen = best_choice(pair_gains(d).all, float(epsilon)).chosen
    question = SecondMomentQuestion(center, radius, Pairs.of(d), chosen)
    return Ask(question, ChoiceResponse(epsilon=epsilon, n_codes=question.n_symbols, n_chosen=chosen), user_fraction)


def pair_variance(d: int, epsilon: float) -> float:
    """The variance that one user adds to an off-diagonal entry, in units of $r^4$; on it, twice as much."""
    return 0.5 / best_choice(pair_gains(d).all, epsilon).gain ** 2


def second_moments(ask: Ask, answers: ReportTally, spread: float) -> Deviatoric:
    """What the matrices say; ``spread`` is the variance of an average coordinate."""
    question, n = ask.question, int(answers.users.sum())
    assert isinstance(question, SecondMomentQuestion)  # noqa: S101
    d = len(question.center)
    p, q = support(ask.channel)
    gains, k = pair_gains(d), question.chosen - 1
    each = np.where(np.eye(d) > 0, 1 / gains.diagonal[k] ** 2, 0.5 / gains.off_diagonal[k] ** 2)
    entries = each / ((p - q) ** 2 * n) if n else np.full((d, d), math.inf)
    squares = squared_lengths(d)
    weights = np.minimum(1 / question.radius**2, 1 / (spread * squares))
    kept = float(np.mean(squares**2 * weights)) / (d * (d + 2))
    return Deviatoric(deviatoric(question.sums(answers.counts(ask.channel)) / max(n, 1)) / kept, entries / kept**2)


def deviatoric(matrix: FloatArray) -> FloatArray:
    """The matrix without its trace."""
    d = len(matrix)
    rest: FloatArray = matrix - np.trace(matrix) / d * np.eye(d)
    return rest


def usual_size(d: int) -> float:
    r"""The mean size of the upper triangle of $zz^T$ in $L_1$, for normal $z$ with variance 1.

    $\sum_{i \le j} |z_i z_j| = (|z|_1^2 + |z|_2^2)/2$, with the mean $d + d(d-1)/\pi$.
    """
    return d + d * (d - 1) / math.pi
