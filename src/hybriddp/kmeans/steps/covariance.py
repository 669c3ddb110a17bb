"""A rough mean first, then a finer mean and the covariance about it."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.kmeans.requests import Ask, Heard, Release, Step
from hybriddp.kmeans.statistics import SecondMoments
from hybriddp.kmeans.steps.moments import (
    Moments,
    best_list_length,
    coordinate_lists,
    doubled_lists,
    moment_ask,
    moments_by_trust,
    moments_locally,
    usual_size,
)
from hybriddp.kmeans.steps.problem import Effort, Problem
from hybriddp.kmeans.symbols import symbol_variance

# The variance of a coordinate, relative to that of the box: what is assumed at least, at most and if nothing is known.
LEAST, MOST, USUAL = 0.012, 0.05, 0.03

# Where residuals are cut, in standard deviations, and matrices of the trusted group, relative to their usual size, with
# the bias that this leaves, relative to a variance: the widest cut whose noise is not too loud.
CUTS = (2.4, 1.8, 1.3)
BOUNDS = {3.0: 0.03, 2.0: 0.1, 1.2: 0.3}
_QUIET = 0.1  # noise on an entry, relative to a variance


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


def rough_shape(problem: Problem, effort: Effort) -> Generator[Step, Heard, Rough]:
    """From local users alone, and from what is usual, by their variances."""
    middle, usual = problem.widths / 2, USUAL * problem.square
    if not problem.n_local:
        return Rough(middle, np.full(problem.n_dimensions, usual), usual)
    lists = doubled_lists(problem.n_dimensions, float(problem.epsilon))
    ask = moment_ask(middle, 0.5, lists, epsilon=problem.epsilon, share=effort.share)
    heard = yield Step("rough moments", (ask,))
    moments = moments_locally(ask, heard.answers[0])
    # The square of a noisy mean is too large by its variance.
    found = float(np.mean(np.diag(moments.second) - moments.first**2 + moments.first_variance))
    doubt, before = float(np.mean(np.diag(moments.variance))) / problem.n_dimensions, (usual / 2) ** 2
    spread = usual + before / (before + doubt) * (found - usual)  # also if nobody was asked: then the doubt is infinite
    mean = np.clip(middle + moments.first, 0.0, problem.widths)
    return Rough(mean, moments.first_variance, float(np.clip(spread, LEAST * problem.square, MOST * problem.square)))


def fine_shape(problem: Problem, rough: Rough, effort: Effort) -> Generator[Step, Heard, Shape]:
    """From both groups, entry by entry weighted by the variances."""
    d, mean = problem.n_dimensions, rough.mean
    asks: tuple[Ask, ...] = ()
    lists = coordinate_lists(d, best_list_length(d, float(problem.epsilon)))
    radius = _cut(problem, lists, effort.share) * math.sqrt(rough.spread)
    if problem.n_local:
        asks = (moment_ask(mean, radius, lists, epsilon=problem.epsilon, share=effort.share),)
    bound = _bound(problem, effort.cost)
    statistic = SecondMoments(mean, bound * usual_size(d) * rough.spread)
    release = Release(statistic, effort.cost * problem.trusted_share) if problem.n_trusted else None
    heard = yield Step("finer moments", asks, release)
    # What is thought without any answer, as a faint voice among the others: round, and as wide as it looked.
    found = [Moments(np.zeros(d), np.zeros(d), rough.spread * np.eye(d), np.full((d, d), (2 * rough.spread) ** 2))]
    shift = square = np.zeros(d)
    if asks:
        local = moments_locally(asks[0], heard.answers[0])
        kept = kept_by_cutting(float(np.mean(np.diag(local.second))) / radius**2)
        factor = np.where(np.eye(d) > 0, kept.square, kept.step**2)
        doubt = local.first_variance / kept.step**2
        shift = local.first / kept.step
        square = np.outer(shift, shift) - np.diag(doubt)  # a noisy shift is too long by its variance
        shift = shift * rough.mean_variance / (rough.mean_variance + doubt)
        found.append(Moments(local.first, local.first_variance, local.second / factor, local.variance / factor**2))
    if heard.published is not None:
        found.append(moments_by_trust(statistic, heard.published, problem.n_trusted, rough.spread, BOUNDS[bound]))
    precision = np.sum([1 / m.variance for m in found], axis=0)
    second = np.sum([m.second / m.variance for m in found], axis=0) / precision
    return Shape(np.clip(mean + shift, 0.0, problem.widths), second - square)


def _cut(problem: Problem, lists: IntArray, share: Fraction) -> float:
    """Where residuals are cut."""
    d, s = problem.n_dimensions, lists.shape[1]
    if not problem.n_local:
        return CUTS[0]
    users = float(share) * problem.n_local * s * (s - 1) / (d * (d + 1))  # for each pair
    noise = math.sqrt(((1 << s) * symbol_variance(float(problem.epsilon), 1 << s) + 1) / users)
    return next((cut for cut in CUTS if cut**2 * noise < _QUIET), CUTS[-1])


def _bound(problem: Problem, cost: Fraction) -> float:
    """How far matrices of the trusted group may reach."""
    if not problem.n_trusted:
        return min(BOUNDS)
    size = usual_size(problem.n_dimensions)
    noise = math.sqrt(2) * problem.replaced * size / (problem.n_trusted * problem.trusted_epsilon * float(cost))
    return next((bound for bound in BOUNDS if bound * noise < _QUIET), min(BOUNDS))


@dataclass(frozen=True, slots=True)
class Kept:
    """What cutting a normal variable leaves.

    Attributes
    ----------
    square : float
        Of its square.
    step : float
        Of a small shift of its mean.
    """

    square: float
    step: float


def kept_by_cutting(square: float) -> Kept:
    r"""What is left of a normal variable that was cut at ±1, from the mean of its cut square.

    With standard deviation $u$ and $a = 1/u$, $E[\min(z^2, 1)] = u^2(P - 2a\varphi(a)) + 1 - P$ for $P = P[|z| < 1]$,
    which rises in $u$, is solved for $u$ by bisection. A shift keeps its part $P$.

    Examples
    --------
    >>> kept_by_cutting(0.688 / 1.3**2)
    Kept(square=0.688, step=0.806)
    """
    low, high = 0.2, 3.0
    for _ in range(40):
        u = (low + high) / 2
        low, high = (u, high) if _cut_square(u) < square else (low, u)
    return Kept(_cut_square(u) / u**2, math.erf(1 / (u * math.sqrt(2))))


def _cut_square(u: float) -> float:
    a = 1 / u
    inside = math.erf(a / math.sqrt(2))
    return u * u * (inside - 2 * a * math.exp(-a * a / 2) / math.sqrt(2 * math.pi)) + 1 - inside
