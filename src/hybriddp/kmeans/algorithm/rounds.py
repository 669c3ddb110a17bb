"""One round in all dimensions: ask both groups where the means are, and move the centers."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.cluster_estimate import Known, half_distances, moved
from hybriddp.kmeans.algorithm.covariance import Shape
from hybriddp.kmeans.algorithm.measure import Measured, mean_release, measured, trusted_sums
from hybriddp.kmeans.algorithm.problem import Effort, Problem
from hybriddp.kmeans.algorithm.step import Step, StepResult
from hybriddp.kmeans.reports.base import Ask, Labels
from hybriddp.kmeans.reports.clipping import clipping_factor_lengths, clipping_factor_signs, clipping_factor_sums
from hybriddp.kmeans.reports.label_signs import (
    best_signs,
    by_directions,
    direction_variance,
    local_sums,
    mean_asks,
    sign_variance,
)

L1_RADIUS = 0.92
r"""Radius of a normal residual in $L_1$, per dimension and standard deviation: $1.15\sqrt{2/\pi}$."""

_QUIET = 0.01  # not too noisy: the variance of a step, relative to that within a cluster
_LEAST_WITHIN = 0.08  # the share of the variance that is within clusters, at least
_MOST_DOUBT = 3.0  # doubt about a center counts up to that many variances within a cluster
_REACH = 3.0  # no step is longer than that, in standard deviations of a coordinate


@dataclass(frozen=True, slots=True)
class ClipRadius:
    r"""Where residuals of local users are cut, in standard deviations of a coordinate.

    Attributes
    ----------
    signs : float
        Each coordinate on its own.
    lengths : float
        The length of the residual, in $\sqrt d$ standard deviations. The shorter, the less noise, and the nearer to a
        median than a mean of the cluster.
    """

    signs: float
    lengths: float


CUTS = (ClipRadius(2.5, 1.6), ClipRadius(1.7, 1.2), ClipRadius(1.2, 0.7), ClipRadius(0.8, 0.7))


@dataclass(frozen=True, slots=True)
class Radii:
    """How far residuals may reach: local users' (coordinates or lengths), and sums of a trusted user's coordinates."""

    local: FloatArray
    sums: FloatArray


def measure(
    problem: Problem, what: str, labels: Labels, known: Known, radii: Radii, sd: FloatArray, effort: Effort
) -> Generator[Step, StepResult, Measured]:
    """Ask both groups where the means of the clusters are; ``sd`` is that of a coordinate within each cluster."""
    d = problem.n_dimensions
    asks: tuple[Ask, ...] = ()
    if problem.n_local:
        asks = mean_asks(
            labels, known.centers, radii.local, epsilon=problem.epsilon, user_fraction=effort.user_fraction
        )
    release = None
    if problem.n_trusted and effort.epsilon_fraction:
        release = mean_release(labels, known.centers, radii.sums, effort.epsilon_fraction * problem.epsilon_left)
    if not asks and release is None:
        return Measured.nothing(known.sizes, known.size_variance, d)
    heard = yield Step(what, asks, release)
    local = trusted = None
    if asks:
        by_length = by_directions(len(sd), d, float(problem.epsilon))
        ratios = radii.local / sd
        kept = [clipping_factor_lengths(ratio, d) if by_length else clipping_factor_signs(ratio) for ratio in ratios]
        local = local_sums(asks, heard.answers).undo_clipping(np.array(kept))
    if release is not None and heard.published is not None:
        kept = [clipping_factor_sums(ratio, d) for ratio in radii.sums / sd]
        trusted = trusted_sums(release, heard.published, problem.n_trusted, sd**2).undo_clipping(np.array(kept))
    return measured(local, trusted, known.sizes, known.size_variance, _REACH * _width(known, sd))


def next_round(
    problem: Problem, what: str, known: Known, sd: FloatArray, effort: Effort, cut: ClipRadius | None = None
) -> Generator[Step, StepResult, Known]:
    """Move the centers to where the means are; residuals are cut there, or where the steps are not too noisy."""
    k, d = known.centers.shape
    cut = cut or quiet_cut(problem, k, effort.user_fraction)
    width = _width(known, sd)
    if by_directions(k, d, float(problem.epsilon)):
        local = cut.lengths * math.sqrt(d) * width
    else:
        local = np.minimum(cut.signs * width, np.maximum(half_distances(known.centers), 1.2 * sd))
    radii = Radii(local, L1_RADIUS * d * width)
    news = yield from measure(problem, what, Labels(known.centers), known, radii, sd, effort)
    return moved(known, news, problem.widths)


def quiet_cut(problem: Problem, k: int, user_fraction: Fraction) -> ClipRadius:
    """The widest cut with which the steps of ``k`` centers are not too noisy."""
    if not problem.n_local:
        return CUTS[0]
    d, epsilon = problem.n_dimensions, float(problem.epsilon)
    noise = k**2 / (float(user_fraction) * problem.n_local)
    if by_directions(k, d, epsilon):
        noise *= d * direction_variance(d, epsilon)
        return next((cut for cut in CUTS if noise * cut.lengths**2 < _QUIET), CUTS[-1])
    noise *= sign_variance(k, d, best_signs(k, d, epsilon), epsilon)
    return next((cut for cut in CUTS if noise * cut.signs**2 < _QUIET), CUTS[-1])


def _width(known: Known, sd: FloatArray) -> FloatArray:
    """The standard deviation of a coordinate, from where a center is thought to be."""
    width: FloatArray = np.sqrt(sd**2 + np.minimum(known.variance.mean(axis=1), _MOST_DOUBT * sd**2))
    return width


def common_sd(known: Known, shape: Shape, total: float) -> FloatArray:
    """The standard deviation of a coordinate within clusters: the total variance without that between centers."""
    weights = known.sizes / max(float(known.sizes.sum()), 1e-9)
    between = float(weights @ np.sum((known.centers - shape.mean) ** 2, axis=1))
    within = max(total - between, _LEAST_WITHIN * total) / len(shape.mean)
    return np.full(len(known.sizes), math.sqrt(within))
