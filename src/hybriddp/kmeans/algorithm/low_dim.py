r"""Up to three dimensions: a grid on the box for first centers, then refinement by local users.

1. The trusted group's histogram on a grid, with noise. If a grid of local reports is the sharper one, half of the local
   users are asked for their vertex too, and both are blended.
2. The frequencies are denoised, and K-means of the vertices runs from many starts: post-processing, so that local
   optima cost nothing (`box_start`).
3. The other local users, in two rounds, say which center is nearest and on which side of it they are. What clipping
   takes from their reports is known from the grid (`density`).

The grid has $M = (n_T\epsilon/2.8h)^{2d/(2+d)}$ vertices, where noise and rounding are in balance, with $h$ = 2
for replaced users; from local reports, $n_T\epsilon/h$ becomes $\sqrt{2n/V}$.
"""

import math
from collections.abc import Generator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray
from hybriddp.channels.unary import symbol_variance
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.density import Clipping, Density, GridClusters, GridFrequencies, blended
from hybriddp.kmeans.algorithm.problem import Algorithm, ClusterEstimate, Effort, Problem, StartDoubt, Step, StepResult
from hybriddp.kmeans.algorithm.steps import Radii, grid_frequencies, measure_means
from hybriddp.kmeans.clustering import Clustering, nearest, weighted_kmeans
from hybriddp.kmeans.reports.base import GridQuestion, Labels
from hybriddp.kmeans.reports.means import mean_reports
from hybriddp.kmeans.statistics import CHANGED_USERS


def low_dim_algorithm(problem: Problem) -> Algorithm:
    """Run K-means in up to three dimensions."""
    n_grid = local_grid_users(problem)
    grid = box_grid(problem, n_grid)
    grid_users = tuning.BOX_USERS if n_grid else Fraction(0)
    effort = Effort(grid_users, Fraction(1))
    groups = yield from grid_frequencies(problem, "a grid for the first centers", grid, effort)
    frequencies = blended(*groups) if len(groups) == 2 else groups[0]
    known, density = box_start(grid, frequencies, problem.n_clusters, problem.rng())
    turns = tuning.BOX_ROUNDS
    effort = Effort((1 - grid_users) / turns, Fraction(0))
    for turn in range(1, turns + 1):
        purpose = f"refinement, round {turn} of {turns}"
        known = yield from _refined(problem, purpose, known, density, effort)
    return replace(known, cost=density.within(known.centers), step=grid.step)


def _refined(
    problem: Problem, purpose: str, known: ClusterEstimate, density: Density, effort: Effort
) -> Generator[Step, StepResult, ClusterEstimate]:
    """Move the centers to the means of their clusters, by local users' reports and what clipping takes from them."""
    if not problem.n_local:
        return known
    clusters = density.clusters(known.centers)
    clipping = best_clipping(problem, known, clusters, effort)
    radii = Radii(clipping.radii, clipping.radii)
    labels, sd = Labels(known.centers), np.sqrt(clusters.spread)
    return (yield from measure_means(problem, purpose, labels, known, radii, sd, effort, clipping))


def best_clipping(problem: Problem, known: ClusterEstimate, clusters: GridClusters, effort: Effort) -> Clipping:
    """Choose the radius of each cluster with the least variance: wider ones mean more noise, and less is missing."""
    k, d = known.centers.shape
    reports = mean_reports(k, d, float(problem.epsilon))
    by_length, noise = reports.by_length, reports.variance / max(float(effort.user_fraction) * problem.n_local, 1.0)
    usual = np.sqrt(clusters.spread + known.variance.mean(axis=1)) * (math.sqrt(d) if by_length else 1.0)
    tried = [clusters.clipping(radius * usual, by_length=by_length) for radius in tuning.BOX_RADII]
    variances = [noise * (c.radii / c.inside) ** 2 + c.variance.mean(axis=1) for c in tried]
    return Clipping.chosen(tried, np.argmin(variances, axis=0))


def local_grid_users(problem: Problem) -> int:
    """Count the local users who are asked for their vertex: half of them if theirs is the sharper grid, else none."""
    n = int(tuning.BOX_USERS * problem.n_local)
    if not problem.n_trusted:
        return max(n, 1)  # nobody else can be asked
    unary = symbol_variance(float(problem.epsilon), tuning.MAX_BOX_VERTICES)
    return n if math.sqrt(2 * n / unary) > _trusted_sharpness(problem) else 0


def box_grid(problem: Problem, n_grid: int) -> GridQuestion:
    """Make a grid on the box with about as many vertices as the noise allows, all steps alike."""
    d, epsilon = problem.n_dimensions, float(problem.epsilon)
    sharpness = _trusted_sharpness(problem)
    if n_grid:
        # V depends on M where there are few symbols: one step of iteration is enough.
        rough = math.sqrt(2 * n_grid / symbol_variance(epsilon, tuning.MAX_BOX_VERTICES))
        m = max(2, int((rough / tuning.BOX_BALANCE) ** (2 * d / (2 + d))))
        sharpness = max(sharpness, math.sqrt(2 * n_grid / symbol_variance(epsilon, m)))
    wanted = (sharpness / tuning.BOX_BALANCE) ** (2 * d / (2 + d))
    least = max(2**d, tuning.VERTICES_PER_CLUSTER * problem.n_clusters)
    sizes = _grid_sizes(problem.widths, min(max(wanted, least), tuning.MAX_BOX_VERTICES))
    return GridQuestion(None, np.zeros(d), problem.widths / (sizes - 1), tuple(int(size) for size in sizes))


def _trusted_sharpness(problem: Problem) -> float:
    return problem.n_trusted * float(problem.epsilon) / CHANGED_USERS


def _grid_sizes(widths: FloatArray, m: float) -> NDArray[np.int64]:
    """Divide about ``m`` vertices, all steps alike; but two in a direction that is thinner than two steps."""
    sizes, wide = np.full(len(widths), 2), np.ones(len(widths), bool)
    while wide.any():
        room = math.log(m) - np.count_nonzero(~wide) * math.log(2) - np.log(widths[wide]).sum()
        wanted = widths * math.exp(room / np.count_nonzero(wide))
        thin = wide & (wanted < 2 - 1e-9)
        if not thin.any():
            sizes[wide] = np.ceil(wanted[wide] - 1e-9)
            break
        wide &= ~thin
    while np.prod(sizes) > tuning.MAX_BOX_VERTICES:
        sizes[np.argmax(sizes)] -= 1
    return sizes


def box_start(
    grid: GridQuestion, frequencies: GridFrequencies, k: int, rng: np.random.Generator
) -> tuple[ClusterEstimate, Density]:
    """Find first centers, and where users are."""
    density = Density.of(grid, frequencies)
    starts = _clusterings(density, k, rng)
    clusters = density.clusters(starts[0].centers)
    mass = clusters.mass
    noise = clusters.sums(clusters.rest**2 * density.weight_noise[:, None]) / mass[:, None] ** 2
    sampling = (clusters.spread + density.rounding) / (frequencies.n_users * mass)
    sizes, size_noise = mass / mass.sum(), np.bincount(clusters.label, density.weight_noise, k)
    known = ClusterEstimate(
        centers=starts[0].centers,
        variance=noise + sampling[:, None],
        sizes=sizes,
        size_variance=size_noise + sizes / frequencies.n_users + (tuning.GRID_SIZE_ERROR * sizes) ** 2,
        trusted_weight=np.full(k, frequencies.trusted_weight),
        start=start_doubt(density, [start.centers for start in starts]),
    )
    return known, density


def _clusterings(density: Density, k: int, rng: np.random.Generator) -> list[Clustering]:
    """Run K-means of the denoised frequencies, the best first and then by cost; each cost once."""
    weights = density.weights
    chosen = np.flatnonzero(weights > 0)
    if len(chosen) < 2 * k:  # hardly anything stands out of the noise: the vertices that stand out most
        chosen = np.lexsort((density.values, weights))[-min(2 * k, len(weights)) :]
    some = np.maximum(weights[chosen], 1e-9)
    least, most = tuning.BOX_STARTS
    starts = min(max(tuning.BOX_DISTANCES // (k * len(chosen)), least), most)
    results = weighted_kmeans(density.points[chosen], some, k, starts=starts, generator=rng)
    costs = np.array([start.cost for start in results])
    new = np.diff(costs, prepend=-np.inf) > 1e-9 * costs[0]
    different = [start for start, is_new in zip(results, new, strict=True) if is_new]
    best = _best(density, different)
    return [best, *(start for start in different if start is not best)]


def _best(density: Density, starts: list[Clustering]) -> Clustering:
    """Choose the cheapest start; on a coarse grid, one that sees all of its clusters and is no worse as noise tells.

    Denoising leaves a little of what noise spreads over large blocks. Far from everybody else, that is worth a center
    to K-means, which is then missing where clusters are close.
    """
    first = starts[0]
    if len(density.points) > tuning.SEEN_VERTICES or density.sees(first.centers):
        return first
    limit = density.cost(first.centers)
    for other in starts[1:]:
        margin = tuning.SEEN_MARGIN * density.difference_sd(first.centers, other.centers)
        if density.sees(other.centers) and density.cost(other.centers) < limit + margin:
            return other
    return first


def start_doubt(density: Density, starts: list[FloatArray]) -> StartDoubt | None:
    """Compare the first start with the best one that is not the same but for small shifts, if there is any."""
    first = starts[0]
    own = np.arange(len(first))
    rivals = [other for other in starts[1:] if (nearest(other, first)[nearest(first, other)] != own).any()]
    if not rivals:
        return None
    rival = min(rivals, key=density.cost)
    difference_sd = density.difference_sd(first, rival)
    return StartDoubt(density.cost(first), density.cost(rival), difference_sd, len(density.points))
