"""One round of K-means in all dimensions: both groups say where the means of the clusters are, and the centers move.

Local users report (`label_signs`). Of the trusted group counts and sums of residuals are released, all in one release.
Residuals are clipped, each group's in its own norm, and the centers are updated as if they had not been.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.cluster_estimate import ClusterEstimate, half_distances
from hybriddp.kmeans.algorithm.density import Clipping
from hybriddp.kmeans.algorithm.problem import Effort, Problem, PublishedVector, Step, StepResult
from hybriddp.kmeans.reports import label_signs
from hybriddp.kmeans.reports.base import Ask, Labels, Projection, ResidualSums
from hybriddp.kmeans.reports.clipping import clipping_factor_lengths, clipping_factor_signs, clipping_factor_sums
from hybriddp.kmeans.statistics import CHANGED_USERS, L1_UNIT, ClusterSums


@dataclass(frozen=True, slots=True)
class Radii:
    """Where residuals are clipped, shape (K,): local users' (coordinates or lengths), and the trusted group's in L1."""

    local: FloatArray
    trusted: FloatArray

    @classmethod
    def of(cls, problem: Problem, clip: tuning.ClipRadius, width: FloatArray, d: int) -> "Radii":
        """The radii for residuals of this standard deviation of a coordinate, in so many dimensions."""
        by_length = label_signs.by_directions(len(width), d, float(problem.epsilon))
        local = (clip.lengths * math.sqrt(d) if by_length else clip.signs) * width
        return cls(local, tuning.L1_RADIUS * d * width)


def next_round(
    problem: Problem,
    purpose: str,
    known: ClusterEstimate,
    sd: FloatArray,
    effort: Effort,
    clip: tuning.ClipRadius | None = None,
    projection: Projection | None = None,
) -> Generator[Step, StepResult, ClusterEstimate]:
    """Move the centers to the means of their clusters; ``sd`` is that of a coordinate within each cluster, shape (K,).

    Residuals are clipped at ``clip``, or else as far out as the noise allows. All is in the coordinates of the
    ``projection``, if there is one.
    """
    k, d = known.centers.shape
    clip = clip or widest_clip(problem, k, d, effort.user_fraction)
    radii = Radii.of(problem, clip, _width(known, sd), d)
    if not label_signs.by_directions(k, d, float(problem.epsilon)):
        most = np.maximum(half_distances(known.centers), tuning.LEAST_SIGN_RADIUS * sd)
        radii = Radii(np.minimum(radii.local, most), radii.trusted)
    return (yield from measure_means(problem, purpose, Labels(known.centers, projection), known, radii, sd, effort))


def measure_means(
    problem: Problem,
    purpose: str,
    labels: Labels,
    known: ClusterEstimate,
    radii: Radii,
    sd: FloatArray,
    effort: Effort,
    clipping: Clipping | None = None,
) -> Generator[Step, StepResult, ClusterEstimate]:
    """Ask both groups where the means of the clusters are, undo the clipping, and update the estimate.

    What clipping does to local users' residuals is known from ``clipping``, or else that of normal clusters is assumed.
    """
    epsilon, d = problem.epsilon, known.centers.shape[1]
    asks: tuple[Ask, ...] = ()
    if problem.n_local:
        users = effort.user_fraction
        asks = label_signs.mean_asks(labels, radii.local, epsilon=epsilon, user_fraction=users)
    statistic = ClusterSums(labels, radii.trusted, tuning.COUNT_WEIGHT)
    release = problem.release(statistic, effort)
    if not asks and release is None:
        return known
    result = yield Step(purpose, asks, release)
    local = trusted = None
    if asks:
        local = label_signs.local_sums(asks, result.answers)
        if clipping is None:
            length = label_signs.by_directions(len(sd), d, float(epsilon))
            factors = [clipping_factor_lengths(r, d) if length else clipping_factor_signs(r) for r in radii.local / sd]
            local = local.undo_clipping(np.array(factors))
        else:
            local = local.undo_clipping(clipping.inside).plus(clipping.missing, clipping.variance)
    if release is not None:
        factors = [clipping_factor_sums(r, d) for r in radii.trusted / sd]
        sums = trusted_sums(statistic, result.require_release(), problem.n_trusted, sd**2)
        trusted = sums.undo_clipping(np.array(factors))
    widths = problem.widths if labels.projection is None else None
    return known.update(local, trusted, max_shift=tuning.MAX_SHIFT * _width(known, sd), widths=widths)


def trusted_sums(statistic: ClusterSums, published: PublishedVector, n_users: int, spread: FloatArray) -> ResidualSums:
    """What the release says of every cluster; ``spread`` is the variance of a coordinate within each, shape (K,)."""
    k, d = statistic.labels.centers.shape
    n = max(n_users, 1)
    sizes = published.values[:k] / statistic.count_weight / n
    unit = statistic.radii[:, None] / L1_UNIT / n
    noise = published.variance * unit**2 + (spread * np.maximum(sizes, 0) / n)[:, None]
    size_noise = published.variance / statistic.count_weight**2 / n**2
    return ResidualSums(sizes, size_noise, unit * published.values[k:].reshape(k, d), noise)


def widest_clip(problem: Problem, k: int, d: int, user_fraction: Fraction) -> tuning.ClipRadius:
    """The largest radius at which the shifts of ``k`` centers are not too noisy."""
    if not problem.n_local:
        return tuning.CLIP_RADII[0]
    epsilon = float(problem.epsilon)
    noise = k**2 / (float(user_fraction) * problem.n_local)
    if label_signs.by_directions(k, d, epsilon):
        noise *= d * label_signs.direction_variance(d, epsilon)
        quiet = (clip for clip in tuning.CLIP_RADII if noise * clip.lengths**2 < tuning.SHIFT_NOISE)
    else:
        noise *= label_signs.sign_variance(k, d, label_signs.best_signs(k, d, epsilon), epsilon)
        quiet = (clip for clip in tuning.CLIP_RADII if noise * clip.signs**2 < tuning.SHIFT_NOISE)
    return next(quiet, tuning.CLIP_RADII[-1])


def _width(known: ClusterEstimate, sd: FloatArray) -> FloatArray:
    """The standard deviation of a coordinate about where a center is thought to be."""
    width: FloatArray = np.sqrt(sd**2 + np.minimum(known.variance.mean(axis=1), tuning.MAX_DOUBT * sd**2))
    return width


def shift_noise(problem: Problem, k: int, d: int, effort: Effort) -> float:
    """The variance that noise adds to a coordinate of a shift of ``k`` centers, relative to that within a cluster.

    Of an average cluster, with the usual radii; both groups together.
    """
    n, epsilon = float(effort.user_fraction) * problem.n_local, float(problem.epsilon)
    spent = float(effort.epsilon_fraction) * problem.n_trusted * epsilon
    return k**2 / (n / _local_noise(k, d, epsilon) + (spent / (CHANGED_USERS * tuning.L1_RADIUS * d)) ** 2 / 2)


@lru_cache(maxsize=1024)
def _local_noise(k: int, d: int, epsilon: float) -> float:
    """The variance that a local user adds to a coordinate of a sum, clipping undone, in variances of a cluster."""
    if label_signs.by_directions(k, d, epsilon):
        radius = tuning.USUAL_RADIUS.lengths * math.sqrt(d)
        return label_signs.direction_variance(d, epsilon) * (radius / clipping_factor_lengths(radius, d)) ** 2
    radius = tuning.USUAL_RADIUS.signs
    noise = label_signs.sign_variance(k, d, label_signs.best_signs(k, d, epsilon), epsilon)
    return noise * (radius / clipping_factor_signs(radius)) ** 2
