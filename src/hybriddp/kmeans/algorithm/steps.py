"""The two measurements that both algorithms make: frequencies on a grid, and means of clusters.

**Frequencies.** Both groups say near which vertex their users are.

**Means.** A round of K-means: both groups say where the means of the clusters are, and the centers move. Local users
report (`means`). Of the trusted group counts and sums of residuals are released, all in one release. Residuals are
clipped, each group's in its own norm, and the centers are updated as if they had not been.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.unary import symbol_channel, symbol_variance
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.density import Clipping, GridFrequencies
from hybriddp.kmeans.algorithm.problem import (
    ClusterEstimate,
    Effort,
    Problem,
    PublishedVector,
    Step,
    StepResult,
    half_distances,
)
from hybriddp.kmeans.reports.base import Ask, GridQuestion, Labels, Projection
from hybriddp.kmeans.reports.means import MeanReports, ResidualSums, local_sums, mean_asks, mean_reports
from hybriddp.kmeans.reports.moments import clipping_factor_sums
from hybriddp.kmeans.statistics import CHANGED_USERS, L1_UNIT, ClusterSums, Histogram


def grid_frequencies(
    problem: Problem, purpose: str, grid: GridQuestion, effort: Effort
) -> Generator[Step, StepResult, list[GridFrequencies]]:
    """Ask for the vertex of everybody's point; the trusted group's frequencies come before the local users'."""
    m, frequencies = grid.n_symbols, []
    asks: tuple[Ask, ...] = ()
    if problem.n_local and effort.user_fraction:
        asks = (Ask(grid, symbol_channel(problem.epsilon, m), effort.user_fraction),)
    result = yield Step(purpose, asks, problem.release(Histogram(grid), effort))
    if result.release is not None:
        n, published = problem.n_trusted, result.release
        frequencies.append(GridFrequencies(published.values / n, published.variance / n**2, n, 1.0))
    if asks:
        n = max(result.answers[0].n_users, 1)  # nobody may have answered
        variance = symbol_variance(float(problem.epsilon), m) / n
        values = result.answers[0].counts(asks[0].channel)[0] / n
        frequencies.append(GridFrequencies(values, variance, n, 0.0))
    return frequencies


@dataclass(frozen=True, slots=True)
class Radii:
    """Where residuals are clipped, shape (K,): local users' (coordinates or lengths), and the trusted group's in L1."""

    local: FloatArray
    trusted: FloatArray

    @classmethod
    def of(cls, problem: Problem, clip: tuning.ClipRadius, width: FloatArray, d: int) -> "Radii":
        """Compute the radii for residuals of the standard deviation ``width`` of a coordinate, in ``d`` dimensions."""
        reports = mean_reports(len(width), d, float(problem.epsilon))
        return cls(_radius(clip, reports) * width, tuning.L1_RADIUS * d * width)


def _radius(clip: tuning.ClipRadius, reports: MeanReports) -> float:
    """Return a radius in standard deviations of a coordinate: of lengths, or of coordinates."""
    return clip.lengths * math.sqrt(reports.d) if reports.by_length else clip.signs


def next_round(
    problem: Problem,
    purpose: str,
    known: ClusterEstimate,
    sd: FloatArray,
    effort: Effort,
    projection: Projection | None = None,
) -> Generator[Step, StepResult, ClusterEstimate]:
    """Move the centers to the means of their clusters; ``sd`` is that of a coordinate within each cluster, shape (K,).

    Residuals are clipped as far out as the noise allows. All is in the coordinates of the ``projection``, if there is
    one.
    """
    k, d = known.centers.shape
    radii = Radii.of(problem, widest_clip(problem, k, d, effort.user_fraction), _width(known, sd), d)
    if not mean_reports(k, d, float(problem.epsilon)).by_length:
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
    d = known.centers.shape[1]
    asks: tuple[Ask, ...] = ()
    if problem.n_local:
        asks = mean_asks(labels, radii.local, epsilon=problem.epsilon, user_fraction=effort.user_fraction)
    statistic = ClusterSums(labels, radii.trusted, tuning.COUNT_WEIGHT)
    release = problem.release(statistic, effort)
    if not asks and release is None:
        return known
    result = yield Step(purpose, asks, release)
    local = trusted = None
    if asks:
        local = local_sums(asks, result.answers)
        if clipping is None:
            reports = mean_reports(len(sd), d, float(problem.epsilon))
            local = local.undo_clipping(np.array([reports.clipping_factor(r) for r in radii.local / sd]))
        else:
            local = local.undo_clipping(clipping.inside).plus(clipping.missing, clipping.variance)
    if release is not None:
        sums = trusted_sums(statistic, result.require_release(), problem.n_trusted, sd**2)
        trusted = sums.undo_clipping(np.array([clipping_factor_sums(r, d) for r in radii.trusted / sd]))
    widths = problem.widths if labels.projection is None else None
    return known.update(local, trusted, max_shift=tuning.MAX_SHIFT * _width(known, sd), widths=widths)


def trusted_sums(statistic: ClusterSums, published: PublishedVector, n_users: int, spread: FloatArray) -> ResidualSums:
    """Decode the release; ``spread`` is the variance of a coordinate within each cluster, shape (K,)."""
    k, d = statistic.labels.centers.shape
    n = max(n_users, 1)
    sizes = published.values[:k] / statistic.count_weight / n
    unit = statistic.radii[:, None] / L1_UNIT / n
    noise = published.variance * unit**2 + (spread * np.maximum(sizes, 0) / n)[:, None]
    size_noise = published.variance / statistic.count_weight**2 / n**2
    return ResidualSums(sizes, size_noise, unit * published.values[k:].reshape(k, d), noise)


def widest_clip(problem: Problem, k: int, d: int, user_fraction: Fraction) -> tuning.ClipRadius:
    """Find the largest radius at which the shifts of ``k`` centers are not too noisy."""
    if not problem.n_local:
        return tuning.CLIP_RADII[0]
    reports = mean_reports(k, d, float(problem.epsilon))
    noise = k**2 / (float(user_fraction) * problem.n_local) * reports.variance
    quiet = (clip for clip in tuning.CLIP_RADII if noise * _radius(clip, reports) ** 2 < tuning.SHIFT_NOISE)
    return next(quiet, tuning.CLIP_RADII[-1])


def _width(known: ClusterEstimate, sd: FloatArray) -> FloatArray:
    """Compute the standard deviation of a coordinate about where a center is thought to be."""
    width: FloatArray = np.sqrt(sd**2 + np.minimum(known.variance.mean(axis=1), tuning.MAX_DOUBT * sd**2))
    return width


def shift_noise(problem: Problem, k: int, d: int, effort: Effort) -> float:
    """Compute the variance of noise on a coordinate of a shift of ``k`` centers, relative to that within a cluster.

    Of an average cluster, with the usual radii; both groups together.
    """
    n, epsilon = float(effort.user_fraction) * problem.n_local, float(problem.epsilon)
    reports = mean_reports(k, d, epsilon)
    noise = reports.noise(_radius(tuning.USUAL_RADIUS, reports))
    spent = float(effort.epsilon_fraction) * problem.n_trusted * epsilon
    return k**2 / (n / noise + (spent / (CHANGED_USERS * tuning.L1_RADIUS * d)) ** 2 / 2)
