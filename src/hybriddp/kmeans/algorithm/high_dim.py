r"""More than three dimensions: project, over-seed, lift, merge, refine.

1. Moments: mean and total variance, then the covariance about that mean. From here on all coordinates are those of its
   eigenvectors (`MainAxes`), the largest variance first.
2. A grid on the first three to five of them; `bump_weights` tells clusters from noise.
3. K-means of the grid with $3K$ centers: too many rather than too few.
4. Lift: users say where they are relative to the centers, along as many axes as are worth the noise.
5. One round on all of these centers, then K-means of them, weighted by the sizes of their clusters, merges them to $K$.
6. Refinement in a few rounds, along as many axes as are worth the noise, now that there are fewer clusters.

What each step may cost is in a `BudgetPlan`.
"""

import math
from collections.abc import Generator
from dataclasses import replace

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.cluster_estimate import ClusterEstimate
from hybriddp.kmeans.algorithm.covariance import estimate_moments, initial_moments
from hybriddp.kmeans.algorithm.grid_start import main_grid, seeds
from hybriddp.kmeans.algorithm.main_axes import MainAxes, first_axes, with_first_axes
from hybriddp.kmeans.algorithm.plans import plan_for
from hybriddp.kmeans.algorithm.problem import Algorithm, Effort, Problem, Step, StepResult
from hybriddp.kmeans.algorithm.rounds import Radii, measure_means, next_round
from hybriddp.kmeans.clustering import nearest, weighted_kmeans
from hybriddp.kmeans.reports.base import Labels
from hybriddp.kmeans.statistics import ClusterSizes


def high_dim_algorithm(problem: Problem) -> Algorithm:
    """K-means in more than three dimensions."""
    k, plan = problem.n_clusters, plan_for(problem)
    initial = yield from initial_moments(problem, plan.initial)
    mean, covariance = yield from estimate_moments(problem, initial, plan.final)
    axes = MainAxes.of(mean, covariance, problem.mean_squared_width)

    grid = main_grid(problem, axes.projection, axes.variances, plan.grid)
    n_seeds, bump_sd = tuning.OVER_SEED * k, tuning.BUMP_SD * math.sqrt(axes.average)
    found = yield from seeds(problem, grid, n_seeds, bump_sd, plan.grid)
    m = axes.worthwhile(problem, n_seeds, (plan.lift, plan.first), len(grid.sizes))
    known = yield from _lifted(problem, axes, found, m, plan.lift)
    known = yield from _round(problem, "a round with too many centers", axes, known, m, plan.first)
    known = yield from _sized(problem, axes, known, plan.sizes)
    known = _merged(problem, axes, known, m)
    m = axes.worthwhile(problem, k, plan.rounds, m)
    for turn, effort in enumerate(plan.rounds, start=1):
        purpose = f"refinement, round {turn} of {len(plan.rounds)}"
        known = yield from _round(problem, purpose, axes, known, m, effort)
    within = within_cluster_sd(known, axes.variances)[0] ** 2
    return axes.in_box(replace(known, cost=problem.n_dimensions * float(within)), problem.widths)


def _lifted(
    problem: Problem, axes: MainAxes, found: ClusterEstimate, m: int, effort: Effort
) -> Generator[Step, StepResult, ClusterEstimate]:
    """Centers along all axes: from the grid on the first ones, and from what users say along the first ``m``."""
    (n, q), d = found.centers.shape, problem.n_dimensions
    rest = float(axes.variances[q:m].mean()) if m > q else float(axes.variances[q - 1])
    centers = np.hstack([found.centers, np.zeros((n, d - q))])
    known = replace(found, centers=centers, variance=axes.prior(n, q, tuning.BETWEEN * rest))
    sd = np.full(n, math.sqrt(rest))
    part, radii = first_axes(known, m), Radii.of(problem, tuning.LIFT_RADIUS, sd, m)
    labels = Labels(part.centers, axes.projection.first(m))
    part = yield from measure_means(problem, "lift", labels, part, radii, sd, effort)
    # Along more axes some users are nearer to another center than before.
    size_variance = part.size_variance + (tuning.LIFT_SIZE_ERROR * part.sizes) ** 2
    return with_first_axes(known, replace(part, size_variance=size_variance))


def _round(
    problem: Problem, purpose: str, axes: MainAxes, known: ClusterEstimate, m: int, effort: Effort
) -> Generator[Step, StepResult, ClusterEstimate]:
    """A round of K-means along the first ``m`` axes."""
    part = first_axes(known, m)
    sd = within_cluster_sd(part, axes.variances[:m])
    part = yield from next_round(problem, purpose, part, sd, effort, projection=axes.projection.first(m))
    return with_first_axes(known, part)


def within_cluster_sd(known: ClusterEstimate, variances: FloatArray) -> FloatArray:
    """The standard deviation of a coordinate within clusters: the total variance without that between centers."""
    weights, total = known.sizes / max(float(known.sizes.sum()), 1e-9), float(variances.sum())
    between = float(weights @ np.sum(known.centers**2, axis=1))
    within = max(total - between, tuning.LEAST_WITHIN * total) / len(variances)
    return np.full(len(known.sizes), math.sqrt(within))


def _sized(
    problem: Problem, axes: MainAxes, known: ClusterEstimate, effort: Effort
) -> Generator[Step, StepResult, ClusterEstimate]:
    """The sizes of the clusters as the trusted group knows them: merging depends on them."""
    release = problem.release(ClusterSizes(Labels(known.centers, axes.projection)), effort)
    if release is None:
        return known
    published = (yield Step("sizes before merging", release=release)).require_release()
    n = problem.n_trusted
    found, doubt = published.values / n, published.variance / n**2 + known.sizes / n
    weight = known.size_variance / (known.size_variance + doubt)
    return replace(
        known,
        sizes=np.maximum(known.sizes + weight * (found - known.sizes), 0.0),
        size_variance=known.size_variance * (1 - weight),
    )


def _merged(problem: Problem, axes: MainAxes, known: ClusterEstimate, m: int) -> ClusterEstimate:
    """As many centers as are wanted, from too many: K-means of the centers, weighted by their sizes."""
    k = problem.n_clusters
    weights = np.maximum(known.sizes, tuning.LEAST_SEED_SIZE / len(known.sizes))
    starts, rng = merge_starts(k, len(weights)), problem.rng()
    centers = weighted_kmeans(known.centers, weights, k, starts=starts, generator=rng)[0].centers
    label = nearest(known.centers, centers)
    mass = np.maximum(np.bincount(label, weights, k), 1e-9)
    sizes = mass / mass.sum()
    relative, absolute = tuning.MERGED_SIZE_ERROR
    return ClusterEstimate(
        centers=centers,
        variance=axes.prior(k, m, tuning.MERGED_VARIANCE * axes.average),
        sizes=sizes,
        size_variance=(relative * sizes + absolute / k) ** 2,
        trusted_weight=np.bincount(label, weights * known.trusted_weight, k) / mass,
    )


def merge_starts(k: int, n_seeds: int) -> int:
    """From how many starts seeds are merged: as many as are quick."""
    least, most = tuning.MERGE_STARTS
    return min(max(tuning.MERGE_DISTANCES // (k * n_seeds), least), most)
