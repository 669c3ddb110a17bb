"""A rough mean first, then a finer mean and the covariance about it."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.requests import Ask, Heard, Release, Step
from hybriddp.kmeans.statistics import SecondMoments
from hybriddp.kmeans.steps.moments import Moments, l1_bound, moment_ask, moments_by_trust, moments_locally
from hybriddp.kmeans.steps.problem import Problem

# The variance of a coordinate, relative to that of the box: what is assumed at least, at most and if nothing is known.
LEAST, MOST, USUAL = 0.012, 0.05, 0.03

CUT_AT = 1.3  # standard deviations at which residuals are cut
_KEPT_SQUARE, _KEPT_PRODUCT, _KEPT_STEP = 0.688, 0.650, 0.806  # what that leaves of z², zz' and a small shift of z


@dataclass(frozen=True, slots=True)
class Rough:
    """A first guess.

    Attributes
    ----------
    mean : ndarray, shape (d,)
        The mean of all points.
    spread : float
        The variance of an average coordinate.
    """

    mean: FloatArray
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


def rough_shape(problem: Problem, share: Fraction) -> Generator[Step, Heard, Rough]:
    """From local users alone; without them, the middle of the box and a usual variance."""
    middle, square = problem.widths / 2, problem.square
    if not problem.n_local:
        return Rough(middle, USUAL * square)
    ask = moment_ask(middle, 0.5, epsilon=problem.epsilon, share=share)
    heard = yield Step("rough moments", (ask,))
    moments = moments_locally(ask, heard.answers[0])
    known = np.isfinite(np.diag(moments.variance))  # in very many dimensions, not everyone's square is asked for
    squares = (np.diag(moments.second) - moments.first**2)[known]
    variance = float(squares.mean()) if known.any() else USUAL * square
    return Rough(middle + moments.first, float(np.clip(variance, LEAST * square, MOST * square)))


def fine_shape(problem: Problem, rough: Rough, share: Fraction, cost: Fraction) -> Generator[Step, Heard, Shape]:
    """From both groups, entry by entry weighted by the variances."""
    d, mean = problem.n_dimensions, rough.mean
    asks: tuple[Ask, ...] = ()
    if problem.n_local:
        asks = (moment_ask(mean, CUT_AT * math.sqrt(rough.spread), epsilon=problem.epsilon, share=share),)
    statistic = SecondMoments(mean, l1_bound(d, rough.spread))
    release = Release(statistic, cost * problem.trusted_share) if problem.n_trusted else None
    heard = yield Step("finer moments", asks, release)
    # What is thought without any answer, as a faint voice among the others: round, and as wide as it looked.
    found = [Moments(np.zeros(d), rough.spread * np.eye(d), np.full((d, d), (2 * rough.spread) ** 2))]
    shift = np.zeros(d)
    if asks:
        local = moments_locally(asks[0], heard.answers[0])
        kept = np.where(np.eye(d) > 0, _KEPT_SQUARE, _KEPT_PRODUCT)
        shift = local.first / _KEPT_STEP
        found.append(Moments(local.first, local.second / kept, local.variance / kept**2))
    if heard.published is not None:
        found.append(moments_by_trust(statistic, heard.published, problem.n_trusted, rough.spread))
    precision = np.sum([1 / m.variance for m in found], axis=0)
    second = np.sum([m.second / m.variance for m in found], axis=0) / precision
    return Shape(np.clip(mean + shift, 0.0, problem.widths), second - np.outer(shift, shift))
