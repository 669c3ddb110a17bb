r"""Mean and covariance of all points, and the main directions that they give.

Moments are estimated about the middle of the box, then finer ones about that mean. The main directions are coordinates
of which the first few say nearly everything about clusters: the eigenvectors of the covariance, by falling variance
$\lambda_j$, about the mean. A center that is known only in the first $m$ coordinates is at 0 in the others, and the
nearest of such centers is the same in $m$ dimensions as in all.

**How many of them to ask for.** A report of a residual in $m$ dimensions is clipped to a length that grows like
$\sqrt m$, and so does its noise: in each coordinate, a variance of $v_m$ for a shift. Of the variance between clusters,
$\beta_j = .7 \lambda_j$ a priori, the best linear estimate explains $\beta_j^2 / (\beta_j + v_m)$. So $m$ is where

$$
\sum_{j \le m} \frac{\beta_j^2}{\beta_j + v_m}
$$

is largest: all dimensions where there is little noise, fewer where ε is small, or clusters and dimensions are many.
"""

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.problem import ClusterEstimate, Effort, Problem, PublishedVector, Step, StepResult
from hybriddp.kmeans.algorithm.steps import shift_noise
from hybriddp.kmeans.reports import moments
from hybriddp.kmeans.reports.base import Ask, Projection
from hybriddp.kmeans.reports.codebook import best_choice
from hybriddp.kmeans.reports.means import direction_gains, mean_shift, shift_ask
from hybriddp.kmeans.reports.moments import Measured, usual_size
from hybriddp.kmeans.statistics import CHANGED_USERS, L1_UNIT, SecondMoments

_SECOND_MOMENTS = 1 - tuning.FINAL_LENGTHS - tuning.FINAL_SHIFTS


@dataclass(frozen=True, slots=True)
class InitialMoments:
    """Mean of all points, the variance of that in each coordinate, and the points' own variance in an average one."""

    mean: FloatArray
    mean_variance: FloatArray
    coordinate_variance: float


def initial_moments(problem: Problem, effort: Effort) -> Generator[Step, StepResult, InitialMoments]:
    """Estimate moments about the middle of the box, from local users and a usual variance, by precision."""
    d, middle, usual = problem.n_dimensions, problem.widths / 2, tuning.USUAL_VARIANCE * problem.mean_squared_width
    if not problem.n_local:
        return InitialMoments(middle, np.full(d, usual), usual)
    epsilon, users = problem.epsilon, effort.user_fraction
    radius = math.sqrt(_shift_radius(problem, users) * d * usual)
    far = math.sqrt(tuning.INITIAL_LENGTH_RADIUS * d * usual)
    lengths = moments.length_ask(middle, far, epsilon=epsilon, user_fraction=users * tuning.INITIAL_LENGTHS)
    shifts = shift_ask(middle, radius, epsilon=epsilon, user_fraction=users * (1 - tuning.INITIAL_LENGTHS))
    result = yield Step("rough moments", (lengths, shifts))
    square = moments.mean_square(lengths, result.answers[0])
    shift, shift_variance = mean_shift(shifts, result.answers[1], radius, math.sqrt(square.value / d))
    # The square of a noisy mean is too large by its variance.
    moved = float(shift @ shift)
    measured = (square.value - max(moved - d * shift_variance, 0.0)) / d
    variance, before = (square.variance + 4 * moved * shift_variance) / d**2, (tuning.USUAL_ERROR * usual) ** 2
    spread = usual + before / (before + variance) * (
        measured - usual
    )  # also if nobody was asked: then the variance is infinite
    least, most = tuning.LEAST_VARIANCE * problem.mean_squared_width, tuning.MOST_VARIANCE * problem.mean_squared_width
    return InitialMoments(
        mean=np.clip(middle + shift, 0.0, problem.widths),
        mean_variance=np.full(d, shift_variance),
        coordinate_variance=float(np.clip(spread, least, most)),
    )


def estimate_moments(
    problem: Problem, initial: InitialMoments, effort: Effort
) -> Generator[Step, StepResult, tuple[FloatArray, FloatArray]]:
    """Estimate mean and covariance from both groups by precision; noise may make the covariance indefinite.

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
            moments.length_ask(mean, far, epsilon=epsilon, user_fraction=users * tuning.FINAL_LENGTHS),
            shift_ask(mean, radius, epsilon=epsilon, user_fraction=users * tuning.FINAL_SHIFTS),
            moments.pair_ask(mean, squares, epsilon=epsilon, user_fraction=users * _SECOND_MOMENTS),
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
        totals.append(moments.mean_square(asks[0], result.answers[0]))
        spread = float(
            np.clip(_blended(totals) / d, 0.3 * initial.coordinate_variance, 3 * initial.coordinate_variance)
        )
        measured, variance = mean_shift(asks[1], result.answers[1], radius, math.sqrt(spread))
        shift = measured * initial.mean_variance / (initial.mean_variance + variance)
        shapes.append(moments.second_moments(asks[2], result.answers[2], spread))
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
    """Decode the release: the covariance without its trace, and the trace.

    ``spread`` is the variance of a coordinate, for the error of sampling. Clipping makes points far from the mean count
    too little: a ``bias``, relative to the spread, which is no noise but an error all the same.
    """
    d = len(statistic.center)
    unit = statistic.bound / L1_UNIT / max(n_users, 1)
    second = np.zeros((d, d))
    second[np.triu_indices(d)] = published.values * unit
    second = second + np.triu(second, 1).T
    noise = published.variance * unit**2 + spread**2 / max(n_users, 1)
    shape = Measured(moments.deviatoric(second), np.full((d, d), noise + (bias * spread) ** 2))
    return shape, Measured(float(np.trace(second)), d * noise + (d * bias * spread) ** 2)


def _blended(totals: list[Measured[float]]) -> float:
    return sum(t.value / t.variance for t in totals) / sum(1 / t.variance for t in totals)


def _shrinkage(entries: FloatArray, variance: FloatArray) -> float:
    """Compute the part of noisy entries that is left, so that their sum of squares is not too large by noise [LW04].

    Else eigenvalues would be too far apart.
    """
    noise, size = float(np.sum(variance)), float(np.sum(entries**2))
    return max(1 - noise / size, tuning.LEAST_SHAPE) if size else 1.0


def _shift_radius(problem: Problem, user_fraction: Fraction) -> float:
    """Return the clipping radius of first shifts, as far out as noise allows."""
    d, users = problem.n_dimensions, float(user_fraction * (1 - tuning.INITIAL_LENGTHS)) * problem.n_local
    noise = d / best_choice(direction_gains(d), float(problem.epsilon))[1] ** 2 / users
    radii = tuning.INITIAL_SHIFT_RADII
    return next((radius for radius in radii if radius * noise < tuning.INITIAL_SHIFT_NOISE), radii[-1])


def _square_radius(problem: Problem, user_fraction: Fraction) -> float:
    """Return the clipping radius of local users' second moments.

    It is as far out as their noise allows.
    """
    d, users = problem.n_dimensions, float(user_fraction * _SECOND_MOMENTS) * problem.n_local
    noise = d * math.sqrt(moments.pair_variance(d, float(problem.epsilon)) / users)
    radii = tuning.SQUARE_RADII
    return next((radius for radius in radii if radius * noise < tuning.MOMENT_NOISE), radii[-1])


def _matrix_radius(problem: Problem, epsilon_fraction: Fraction) -> float:
    """Return the clipping radius of the trusted group's second moments.

    It is as far out as their noise allows.
    """
    noise_sd = math.sqrt(2) * CHANGED_USERS * usual_size(problem.n_dimensions)  # times 1/ε
    noise = noise_sd / (problem.n_trusted * float(problem.epsilon) * float(epsilon_fraction))
    radii = tuning.MATRIX_RADII
    return next((radius for radius in radii if radius * noise < tuning.MOMENT_NOISE), min(radii))


_LEAST_COORDINATE = 1e-50  # of a direction; below, it is set to 0: devices refuse tiny numbers other than 0


@dataclass(frozen=True, slots=True)
class MainAxes:
    """All eigenvectors of the covariance, and the variance of the points along each; the largest first."""

    projection: Projection
    variances: FloatArray  # shape (d,), positive

    @classmethod
    def of(cls, mean: FloatArray, covariance: FloatArray, square: float) -> "MainAxes":
        """Find the axes of a covariance that may be indefinite; ``square`` is the box's mean squared width."""
        d = len(mean)
        average = float(np.clip(np.trace(covariance) / d, tuning.LEAST_TOTAL * square, tuning.MOST_TOTAL * square))
        values, vectors = np.linalg.eigh(covariance)
        variances = np.clip(values[::-1], tuning.LEAST_REST * average, d * average)
        return cls(Projection(mean, _oriented(vectors[:, ::-1].T)), variances)

    @property
    def average(self) -> float:
        """Variance along an average axis."""
        return float(self.variances.mean())

    def worthwhile(self, problem: Problem, k: int, efforts: Sequence[Effort], at_least: int) -> int:
        """Choose the number of axes along which these efforts measure the means of ``k`` clusters best."""
        users = sum((effort.user_fraction for effort in efforts), Fraction(0))
        effort = Effort(users, sum((effort.epsilon_fraction for effort in efforts), Fraction(0)))
        between = tuning.BETWEEN * self.variances

        def explained(m: int) -> float:
            within = (1 - tuning.BETWEEN) * float(self.variances[:m].mean())
            noise = shift_noise(problem, k, m, effort) * within
            return float(np.sum(between[:m] ** 2 / (between[:m] + noise)))

        return max(range(at_least, len(self.variances) + 1), key=explained)

    def prior(self, n: int, m: int, variance: float) -> FloatArray:
        """Make variances of ``n`` centers: this one along the first ``m`` axes, that between clusters along others."""
        known = np.full((n, m), variance)
        return np.hstack([known, np.tile(tuning.BETWEEN * self.variances[m:], (n, 1))])

    def in_box(self, known: ClusterEstimate, widths: FloatArray) -> ClusterEstimate:
        """Convert an estimate to the coordinates of the box, which no center leaves."""
        axes = self.projection.axes
        centers = np.clip(self.projection.origin + known.centers @ axes, 0.0, widths)
        return replace(known, centers=centers, variance=known.variance @ axes**2)


def _oriented(axes: FloatArray) -> FloatArray:
    """Orient directions so that the largest coordinate is positive: of both, every machine takes this one."""
    largest = np.argmax(np.abs(axes), axis=1)
    oriented: FloatArray = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    oriented[np.abs(oriented) < _LEAST_COORDINATE] = 0.0
    return oriented


def first_axes(known: ClusterEstimate, m: int) -> ClusterEstimate:
    """Restrict an estimate to the first ``m`` axes."""
    return replace(known, centers=known.centers[:, :m], variance=known.variance[:, :m])


def with_first_axes(known: ClusterEstimate, part: ClusterEstimate) -> ClusterEstimate:
    """Replace what is known along the first axes by ``part``."""
    m = part.centers.shape[1]
    return replace(
        part,
        centers=np.hstack([part.centers, known.centers[:, m:]]),
        variance=np.hstack([part.variance, known.variance[:, m:]]),
    )
