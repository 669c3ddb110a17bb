"""A rough mean first, then a finer mean and the covariance about it."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.problem import Effort, Problem
from hybriddp.kmeans.algorithm.step import Published, Release, Step, StepResult
from hybriddp.kmeans.reports.base import Ask
from hybriddp.kmeans.reports.clipping import usual_size
from hybriddp.kmeans.reports.direction import mean_shift, shift_ask
from hybriddp.kmeans.reports.length import MeanSquare, length_ask, mean_square
from hybriddp.kmeans.reports.second_moment import Deviatoric, deviatoric, pair_ask, pair_variance, second_moments
from hybriddp.kmeans.statistics import UNIT, SecondMoments

# The variance of a coordinate, relative to that of the box: what is assumed at least, at most and if nothing is known.
LEAST, MOST, USUAL = 0.012, 0.05, 0.03

# Of the users who are asked for moments, how many say how long, and how many where to: all others say where squares
# point to, if asked.
ROUGH_LENGTHS = Fraction(3, 10)
FINE_LENGTHS, FINE_SHIFTS = Fraction(7, 100), Fraction(15, 100)

# Radii of squared lengths, in variances of all coordinates together.
_FAR, _ROUGH_SHIFT = 4.0, 1.3  # of what is usual, about the middle of the box
_LENGTH, _SHIFT = 1.7, 0.5
SQUARES = (3.0, 2.0, 1.2)  # the widest whose noise is not too loud

BOUNDS = {3.0: 0.03, 2.0: 0.1, 1.2: 0.3}
"""Where matrices of the trusted group are cut, relative to their usual size, and the bias of it, over a variance."""

_QUIET = 0.1  # noise on an entry, relative to a variance
_DOUBT = 0.25  # how far off a rough total may be, relative to it


@dataclass(frozen=True, slots=True)
class Rough:
    """A first guess.

    Attributes
    ----------
    mean : ndarray, shape (d,)
        The mean of all points.
    mean_variance : ndarray, shape (d,)
        How uncertain it is.
    spread : float
        The variance of an average coordinate.
    """

    mean: FloatArray
    mean_variance: FloatArray
    spread: float


@dataclass(frozen=True, slots=True)
class Shape:
    """Where the points are.

    Attributes
    ----------
    mean : ndarray, shape (d,)
        Their mean.
    covariance : ndarray, shape (d, d)
        Their covariance; noise may have made it indefinite.
    """

    mean: FloatArray
    covariance: FloatArray


def rough_shape(problem: Problem, effort: Effort) -> Generator[Step, StepResult, Rough]:
    """From local users alone, and from what is usual, by their variances."""
    d, middle, usual = problem.n_dimensions, problem.widths / 2, USUAL * problem.square
    if not problem.n_local:
        return Rough(middle, np.full(d, usual), usual)
    epsilon, radius = problem.epsilon, math.sqrt(_ROUGH_SHIFT * d * usual)
    lengths = length_ask(
        middle, math.sqrt(_FAR * d * usual), epsilon=epsilon, user_fraction=effort.user_fraction * ROUGH_LENGTHS
    )
    shifts = shift_ask(middle, radius, epsilon=epsilon, user_fraction=effort.user_fraction * (1 - ROUGH_LENGTHS))
    heard = yield Step("rough moments", (lengths, shifts))
    square = mean_square(lengths, heard.answers[0])
    shift = mean_shift(shifts, heard.answers[1], radius, math.sqrt(square.value / d))
    # The square of a noisy mean is too large by its variance.
    moved = float(shift.value @ shift.value)
    found = (square.value - max(moved - d * shift.variance, 0.0)) / d
    doubt, before = (square.variance + 4 * moved * shift.variance) / d**2, (usual / 2) ** 2
    spread = usual + before / (before + doubt) * (found - usual)  # also if nobody was asked: then the doubt is infinite
    return Rough(
        mean=np.clip(middle + shift.value, 0.0, problem.widths),
        mean_variance=np.full(d, shift.variance),
        spread=float(np.clip(spread, LEAST * problem.square, MOST * problem.square)),
    )


def fine_shape(problem: Problem, rough: Rough, effort: Effort) -> Generator[Step, StepResult, Shape]:
    """From both groups, by their variances: the total, and entry by entry how it differs between directions."""
    d, mean, usual = problem.n_dimensions, rough.mean, problem.n_dimensions * rough.spread
    asks: tuple[Ask, ...] = ()
    radius = math.sqrt(_SHIFT * usual)
    if problem.n_local:
        epsilon, squares = problem.epsilon, math.sqrt(_widest(problem, effort.user_fraction) * usual)
        asks = (
            length_ask(
                mean, math.sqrt(_LENGTH * usual), epsilon=epsilon, user_fraction=effort.user_fraction * FINE_LENGTHS
            ),
            shift_ask(mean, radius, epsilon=epsilon, user_fraction=effort.user_fraction * FINE_SHIFTS),
            pair_ask(
                mean, squares, epsilon=epsilon, user_fraction=effort.user_fraction * (1 - FINE_LENGTHS - FINE_SHIFTS)
            ),
        )
    release = None
    if problem.n_trusted and effort.epsilon_fraction:
        bound = _bound(problem, effort.epsilon_fraction)
        statistic = SecondMoments(mean, bound * usual_size(d) * rough.spread)
        release = Release(statistic, effort.epsilon_fraction * problem.epsilon_left)
    heard = yield Step("finer moments", asks, release)
    # What is thought without any answer, as a faint voice among the others: round, and as wide as it looked.
    totals = [MeanSquare(usual, (_DOUBT * usual) ** 2)]
    shapes = [Deviatoric(np.zeros((d, d)), np.full((d, d), (2 * rough.spread) ** 2))]
    shift = np.zeros(d)
    if asks:
        totals.append(mean_square(asks[0], heard.answers[0]))
        spread = float(np.clip(_blended(totals) / d, 0.3 * rough.spread, 3 * rough.spread))
        found = mean_shift(asks[1], heard.answers[1], radius, math.sqrt(spread))
        shift = found.value * rough.mean_variance / (rough.mean_variance + found.variance)
        shapes.append(second_moments(asks[2], heard.answers[2], spread))
    if release is not None and heard.published is not None:
        shape, total = released_moments(statistic, heard.published, problem.n_trusted, rough.spread, BOUNDS[bound])
        shapes.append(shape)
        totals.append(total)
    precision = np.sum([1 / shape.variance for shape in shapes], axis=0)
    second = np.sum([shape.value / shape.variance for shape in shapes], axis=0) / precision
    second += (_blended(totals) - np.trace(second)) / d * np.eye(d)
    return Shape(np.clip(mean + shift, 0.0, problem.widths), second - np.outer(shift, shift))


def released_moments(
    statistic: SecondMoments, published: Published, n_users: int, spread: float, bias: float
) -> tuple[Deviatoric, MeanSquare]:
    """What the release says.

    ``spread`` is the variance of one coordinate, for the error of sampling, and ``bias`` what clipping matrices to
    their bound may have taken from it.
    """
    d = len(statistic.center)
    unit = statistic.bound / UNIT / max(n_users, 1)
    second = np.zeros((d, d))
    second[np.triu_indices(d)] = published.values * unit
    second = second + np.triu(second, 1).T
    # Clipping matrices to their bound makes points far from the mean count too little: a bias, which is no noise but an
    # error all the same.
    noise = published.variance * unit**2 + spread**2 / max(n_users, 1)
    variance = np.full((d, d), noise + (bias * spread) ** 2)
    return Deviatoric(deviatoric(second), variance), MeanSquare(
        float(np.trace(second)), d * noise + (d * bias * spread) ** 2
    )


def _blended(totals: list[MeanSquare]) -> float:
    return sum(t.value / t.variance for t in totals) / sum(1 / t.variance for t in totals)


def _widest(problem: Problem, user_fraction: Fraction) -> float:
    """Where squares of local users are cut."""
    d, users = problem.n_dimensions, float(user_fraction * (1 - FINE_LENGTHS - FINE_SHIFTS)) * problem.n_local
    noise = d * math.sqrt(pair_variance(d, float(problem.epsilon)) / users)
    return next((cut for cut in SQUARES if cut * noise < _QUIET), SQUARES[-1])


def _bound(problem: Problem, epsilon_fraction: Fraction) -> float:
    """How far matrices of the trusted group may reach."""
    if not problem.n_trusted:
        return min(BOUNDS)
    size = usual_size(problem.n_dimensions)
    noise = (
        math.sqrt(2)
        * problem.changed_users
        * size
        / (problem.n_trusted * problem.trusted_epsilon * float(epsilon_fraction))
    )
    return next((bound for bound in BOUNDS if bound * noise < _QUIET), min(BOUNDS))
