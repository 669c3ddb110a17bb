"""Mean and covariance of all points: a first estimate about the middle of the box, then a finer one about that mean."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.problem import Effort, Problem, PublishedVector, Step, StepResult
from hybriddp.kmeans.reports import second_moment
from hybriddp.kmeans.reports.base import Ask, Measured
from hybriddp.kmeans.reports.clipping import usual_size
from hybriddp.kmeans.reports.codebook import best_choice
from hybriddp.kmeans.reports.direction import direction_gains, mean_shift, shift_ask
from hybriddp.kmeans.statistics import CHANGED_USERS, L1_UNIT, SecondMoments

_SECOND_MOMENTS = 1 - tuning.FINAL_LENGTHS - tuning.FINAL_SHIFTS


@dataclass(frozen=True, slots=True)
class InitialMoments:
    """Mean of all points, the variance of that in each coordinate, and the points' own variance in an average one."""

    mean: FloatArray
    mean_variance: FloatArray
    coordinate_variance: float


def initial_moments(problem: Problem, effort: Effort) -> Generator[Step, StepResult, InitialMoments]:
    """First estimate about the middle of the box: from local users and a usual variance, weighted by precision."""
    d, middle, usual = problem.n_dimensions, problem.widths / 2, tuning.USUAL_VARIANCE * problem.mean_squared_width
    if not problem.n_local:
        return InitialMoments(middle, np.full(d, usual), usual)
    epsilon, users = problem.epsilon, effort.user_fraction
    radius = math.sqrt(_shift_radius(problem, users) * d * usual)
    far = math.sqrt(tuning.INITIAL_LENGTH_RADIUS * d * usual)
    lengths = second_moment.length_ask(middle, far, epsilon=epsilon, user_fraction=users * tuning.INITIAL_LENGTHS)
    shifts = shift_ask(middle, radius, epsilon=epsilon, user_fraction=users * (1 - tuning.INITIAL_LENGTHS))
    result = yield Step("rough moments", (lengths, shifts))
    square = second_moment.mean_square(lengths, result.answers[0])
    shift, shift_variance = mean_shift(shifts, result.answers[1], radius, math.sqrt(square.value / d))
    # The square of a noisy mean is too large by its variance.
    moved = float(shift @ shift)
    found = (square.value - max(moved - d * shift_variance, 0.0)) / d
    doubt, before = (square.variance + 4 * moved * shift_variance) / d**2, (tuning.USUAL_ERROR * usual) ** 2
    spread = usual + before / (before + doubt) * (found - usual)  # also if nobody was asked: then the doubt is infinite
    least, most = tuning.LEAST_VARIANCE * problem.mean_squared_width, tuning.MOST_VARIANCE * problem.mean_squared_width
    return InitialMoments(
        mean=np.clip(middle + shift, 0.0, problem.widths),
        mean_variance=np.full(d, shift_variance),
        coordinate_variance=float(np.clip(spread, least, most)),
    )


def estimate_moments(
    problem: Problem, initial: InitialMoments, effort: Effort
) -> Generator[Step, StepResult, tuple[FloatArray, FloatArray]]:
    """Mean and covariance from both groups, weighted by precision; noise may have made the covariance indefinite.

    The trace is estimated on its own; then, entry by entry, how far the covariance is from isotropic.
    """
    d, mean, trace = problem.n_dimensions, initial.mean, problem.n_dimensions * initial.coordinate_variance
    asks: tuple[Ask, ...] = ()
    statistic = release = None
    radius = math.sqrt(tuning.SHIFT_RADIUS * trace)
    if problem.n_local:
        epsilon, users = problem.epsilon, effort.user_fraction
        far = math.sqrt(tuning.LENGTH_RADIUS * trace)
        squares = math.sqrt(_square_radius(problem, users) * trace)
        asks = (
            second_moment.length_ask(mean, far, epsilon=epsilon, user_fraction=users * tuning.FINAL_LENGTHS),
            shift_ask(mean, radius, epsilon=epsilon, user_fraction=users * tuning.FINAL_SHIFTS),
            second_moment.pair_ask(mean, squares, epsilon=epsilon, user_fraction=users * _SECOND_MOMENTS),
        )
    if problem.n_trusted and effort.epsilon_fraction:
        bound = _matrix_radius(problem, effort.epsilon_fraction)
        statistic = SecondMoments(mean, bound * usual_size(d) * initial.coordinate_variance)
        release = problem.release(statistic, effort)
    result = yield Step("finer moments", asks, release)
    # Weak prior: isotropic, with the rough variance.
    totals = [Measured(trace, (tuning.TOTAL_ERROR * trace) ** 2)]
    shapes = [Measured(np.zeros((d, d)), np.full((d, d), (tuning.ENTRY_ERROR * initial.coordinate_variance) ** 2))]
    shift = np.zeros(d)
    if asks:
        totals.append(second_moment.mean_square(asks[0], result.answers[0]))
        spread = float(
            np.clip(_blended(totals) / d, 0.3 * initial.coordinate_variance, 3 * initial.coordinate_variance)
        )
        found, variance = mean_shift(asks[1], result.answers[1], radius, math.sqrt(spread))
        shift = found * initial.mean_variance / (initial.mean_variance + variance)
        shapes.append(second_moment.second_moments(asks[2], result.answers[2], spread))
    if statistic is not None and result.release is not None:
        bias = tuning.MATRIX_RADII[bound]
        shape, total = released_moments(statistic, result.release, problem.n_trusted, initial.coordinate_variance, bias)
        shapes.append(shape)
        totals.append(total)
    precision = np.sum([1 / shape.variance for shape in shapes], axis=0)
    second = np.sum([shape.value / shape.variance for shape in shapes], axis=0) / precision
    second *= _shrinkage(second, 1 / precision)
    second += (_blended(totals) - np.trace(second)) / d * np.eye(d)
    return np.clip(mean + shift, 0.0, problem.widths), second - np.outer(shift, shift)


def released_moments(
    statistic: SecondMoments, published: PublishedVector, n_users: int, spread: float, bias: float
) -> tuple[Measured[FloatArray], Measured[float]]:
    """What the release says of the covariance, and of its trace.

    ``spread`` is the variance of a coordinate, for the error of sampling. Clipping makes points far from the mean count
    too little: a ``bias``, relative to the spread, which is no noise but an error all the same.
    """
    d = len(statistic.center)
    unit = statistic.bound / L1_UNIT / max(n_users, 1)
    second = np.zeros((d, d))
    second[np.triu_indices(d)] = published.values * unit
    second = second + np.triu(second, 1).T
    noise = published.variance * unit**2 + spread**2 / max(n_users, 1)
    shape = Measured(second_moment.deviatoric(second), np.full((d, d), noise + (bias * spread) ** 2))
    return shape, Measured(float(np.trace(second)), d * noise + (d * bias * spread) ** 2)


def _blended(totals: list[Measured[float]]) -> float:
    return sum(t.value / t.variance for t in totals) / sum(1 / t.variance for t in totals)


def _shrinkage(entries: FloatArray, variance: FloatArray) -> float:
    """How much of noisy entries is left, at best, so that their sum of squares is not too large by the noise [LW04].

    Else eigenvalues would be too far apart.
    """
    noise, size = float(np.sum(variance)), float(np.sum(entries**2))
    return max(1 - noise / size, tuning.LEAST_SHAPE) if size else 1.0


def _shift_radius(problem: Problem, user_fraction: Fraction) -> float:
    """Where first shifts are clipped: as far out as their noise allows."""
    d, users = problem.n_dimensions, float(user_fraction * (1 - tuning.INITIAL_LENGTHS)) * problem.n_local
    noise = d / best_choice(direction_gains(d), float(problem.epsilon))[1] ** 2 / users
    radii = tuning.INITIAL_SHIFT_RADII
    return next((radius for radius in radii if radius * noise < tuning.INITIAL_SHIFT_NOISE), radii[-1])


def _square_radius(problem: Problem, user_fraction: Fraction) -> float:
    """Where second moments of local users are clipped: as far out as their noise allows."""
    d, users = problem.n_dimensions, float(user_fraction * _SECOND_MOMENTS) * problem.n_local
    noise = d * math.sqrt(second_moment.pair_variance(d, float(problem.epsilon)) / users)
    radii = tuning.SQUARE_RADII
    return next((radius for radius in radii if radius * noise < tuning.MOMENT_NOISE), radii[-1])


def _matrix_radius(problem: Problem, epsilon_fraction: Fraction) -> float:
    """Where second moments of the trusted group are clipped: as far out as their noise allows."""
    noise_sd = math.sqrt(2) * CHANGED_USERS * usual_size(problem.n_dimensions)  # times 1/ε
    noise = noise_sd / (problem.n_trusted * float(problem.epsilon) * float(epsilon_fraction))
    radii = tuning.MATRIX_RADII
    return next((radius for radius in radii if radius * noise < tuning.MOMENT_NOISE), min(radii))
