r"""More than three dimensions: project, over-seed, lift, merge, refine.

1. Moments: mean and total variance, then the covariance about that mean. From here on all coordinates are those of its
   eigenvectors (`MainAxes`), the largest variance first.
2. A grid on the first three to five of them; `bump_weights` tells clusters from noise.
3. K-means of the grid with $3K$ centers: too many rather than too few.
4. Lift: users say where they are relative to the centers, along as many axes as are worth the noise.
5. One round on all of these centers, then K-means of them, weighted by the sizes of their clusters, merges them to $K$.
6. Refinement in a few rounds, along as many axes as are worth the noise, now that there are fewer clusters.

What each step may cost is in a `BudgetPlan`, by how much the trusted group can say. The trusted group's ε goes to few
steps rather than to all: halving the ε of a release quarters what it is worth, while a local user is worth the same in
every step. All percentages were tuned on the sets called *space* in `tuning`.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.unary import symbol_variance
from hybriddp.errors import ParameterError
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.axes import MainAxes, estimate_moments, first_axes, initial_moments, with_first_axes
from hybriddp.kmeans.algorithm.problem import Algorithm, ClusterEstimate, Effort, Problem, Step, StepResult
from hybriddp.kmeans.algorithm.steps import Radii, grid_frequencies, measure_means, next_round
from hybriddp.kmeans.clustering import nearest, weighted_kmeans
from hybriddp.kmeans.reports.base import GridQuestion, Labels, Projection
from hybriddp.kmeans.statistics import CHANGED_USERS, ClusterSizes


@dataclass(frozen=True, slots=True)
class BudgetPlan:
    """What each step takes: all fractions of users add up to 1, and so do all fractions of ε."""

    initial: Effort  # moments of all points
    final: Effort  # moments about that mean
    grid: Effort  # on the main directions
    lift: Effort  # centers in all dimensions
    first: Effort  # the round with too many centers
    sizes: Effort  # of their clusters
    rounds: tuple[Effort, ...]  # refinement

    @classmethod
    def percent(cls, users: tuple[int, ...], epsilon: tuple[int, ...]) -> "BudgetPlan":
        """Make the plan with these percentages of the local users and of ε, step by step."""
        for name, percentages in (("users", users), ("epsilon", epsilon)):
            if sum(percentages) != 100 or min(percentages) < 0:
                raise ParameterError(name, "percentages that add up to 100", percentages)
        efforts = (Effort(Fraction(n, 100), Fraction(cost, 100)) for n, cost in zip(users, epsilon, strict=True))
        initial, final, grid, lift, first, sizes, *rounds = efforts
        return cls(initial, final, grid, lift, first, sizes, tuple(rounds))

    @property
    def efforts(self) -> tuple[Effort, ...]:
        """Efforts of all steps."""
        return self.initial, self.final, self.grid, self.lift, self.first, self.sizes, *self.rounds


# The steps in order: initial, final, grid, lift, first, sizes, rounds.
SMALL = BudgetPlan.percent(
    users=(4, 14, 15, 20, 11, 0, 8, 7, 7, 7, 7),
    epsilon=(0, 0, 45, 25, 0, 20, 0, 0, 0, 0, 10),
)
"""A trusted group that says no more than the local users helps most where a start is found, and a little at the end.

Local users refine in five rounds, since a round costs them nothing: with many clusters the first ones are far off.
"""

LARGE = BudgetPlan.percent(
    users=(4, 26, 12, 18, 10, 0, 10, 8, 12),
    epsilon=(0, 0, 20, 20, 0, 10, 15, 0, 35),
)
"""One that says more takes part until the end, and leaves to local users what it is worst at: moments."""

DOMINANT = BudgetPlan.percent(
    users=(4, 26, 12, 18, 10, 0, 10, 8, 12),
    epsilon=(0, 10, 15, 20, 0, 10, 15, 0, 30),
)
"""One beside which local users hardly count does everything."""

LEAST_EPSILON_FRACTION = min(
    effort.epsilon_fraction for plan in (SMALL, LARGE, DOMINANT) for effort in plan.efforts if effort.epsilon_fraction
)
"""What the cheapest release of any plan costs."""


def trusted_takes_part(problem: Problem) -> bool:
    """Whether the trusted group's grid would be at least about a third as sharp as the local users'."""
    local, trusted = root_precision(problem, LARGE.grid)
    return trusted > tuning.TAKES_PART * local


def plan_for(problem: Problem) -> BudgetPlan:
    """Choose the plan by the same measure."""
    local, trusted = root_precision(problem, LARGE.grid)
    if trusted > tuning.DOMINANT_FROM * local:
        return DOMINANT
    return LARGE if trusted > tuning.LARGE_FROM * local else SMALL


_DIGITS = 2.0**26  # of the reach of a grid


def root_precision(problem: Problem, effort: Effort) -> tuple[float, float]:
    """Compute one over the standard error of a grid frequency: of local users, and of the trusted group."""
    variance = symbol_variance(float(problem.epsilon), tuning.TYPICAL_SYMBOLS)
    noise_sd = CHANGED_USERS * math.sqrt(2)  # times 1/ε
    local = math.sqrt(float(effort.user_fraction) * problem.n_local / variance)
    return local, float(effort.epsilon_fraction) * problem.n_trusted * float(problem.epsilon) / noise_sd


def main_grid(problem: Problem, axes: Projection, variances: FloatArray, effort: Effort) -> GridQuestion:
    r"""Make a grid on the first $q$ axes with $1.6 (\sqrt2 N/6)^{2/(2+q)}$ vertices along each, for root precision $N$.

    Along as many axes as clusters may differ in, if the noise allows for so many vertices that a grid is fine.
    """
    fewest, most = tuning.DIRECTIONS
    sharpness = math.sqrt(2) * math.hypot(*root_precision(problem, effort)) / tuning.MAIN_BALANCE
    sizes = {q: tuning.MAIN_MARGIN * sharpness ** (2 / (2 + q)) for q in range(fewest, most + 1)}
    rank = min(max(problem.n_clusters - 1, fewest), len(variances))
    q = max((q for q, size in sizes.items() if q <= rank and size >= tuning.MAIN_FINE), default=fewest)
    room = math.floor(tuning.MAIN_VERTICES ** (1 / q))
    size = min(int(np.clip(round(sizes[q]), *tuning.MAIN_SIZES)), room)
    least, widest = tuning.MAIN_VARIANCE
    covered = np.clip(variances[:q], least * float(variances.mean()), widest * problem.mean_squared_width)
    # Eigenvalues differ between machines in their last digits, and vertices halfway between two centers must not.
    half = np.ceil(tuning.MAIN_REACH * np.sqrt(covered) * _DIGITS) / _DIGITS
    return GridQuestion(axes.first(q), -half, 2 * half / (size - 1), (size,) * q)


def seeds(
    problem: Problem, grid: GridQuestion, n_seeds: int, bump_sd: float, effort: Effort
) -> Generator[Step, StepResult, ClusterEstimate]:
    """Find more centers than are wanted, in the coordinates of the projection; their variance is unknown (infinite)."""
    groups = yield from grid_frequencies(problem, "a grid on the main directions", grid, effort)
    m, frequencies, precision = grid.n_symbols, np.zeros(grid.n_symbols), 0.0
    for group in groups:
        variance = group.variance + 1 / group.n_users / m  # noise and sampling
        frequencies += group.values / variance
        precision += 1 / variance
    frequencies /= precision
    weights = bump_weights(grid, frequencies, precision**-0.5, bump_sd)
    vertices = grid.vertices()
    above = np.flatnonzero(weights > 0)
    if len(above) < n_seeds:  # hardly anything stands out of the noise: the vertices that stand out most
        above = np.lexsort((frequencies, weights))[-min(4 * n_seeds, m) :]
    mass = np.maximum(weights[above], 1e-9)
    starts, rng = tuning.GRID_STARTS, problem.rng()
    centers = weighted_kmeans(vertices[above], mass, n_seeds, starts=starts, generator=rng)[0].centers
    sizes: FloatArray = np.bincount(nearest(vertices[above], centers), mass / mass.sum(), n_seeds).astype(float)
    cells = np.bincount(nearest(vertices, centers), minlength=n_seeds)
    relative, least = (tuning.GRID_SIZE_ERROR * sizes) ** 2, (tuning.LEAST_SEED_SIZE / n_seeds) ** 2
    unknown = np.full(centers.shape, np.inf)
    return ClusterEstimate(centers, unknown, sizes, cells * (1 / precision) + relative + least, np.zeros(n_seeds))


def bump_weights(grid: GridQuestion, frequencies: FloatArray, noise_sd: float, bump_sd: float) -> FloatArray:
    """Fit weights of bumps at the vertices: a non-negative lasso, by accelerated proximal gradient steps [BT09].

    Each frequency has noise of the standard deviation ``noise_sd``; rounding to the grid widens bumps of ``bump_sd``.
    """
    factors = [_bumps(size, step, bump_sd) for size, step in zip(grid.sizes, grid.step, strict=True)]
    target = frequencies.reshape(grid.sizes)
    norm = float(np.prod([np.linalg.norm(f, axis=0).mean() for f in factors]))
    penalty = tuning.BUMP_PENALTY * noise_sd * norm
    steepness = float(np.prod([np.linalg.norm(f, 2) ** 2 for f in factors]))
    weights = momentum = np.zeros(grid.sizes)
    t = 1.0
    for _ in range(tuning.BUMP_STEPS):
        slope = _apply([f.T for f in factors], _apply(factors, momentum) - target)
        better = np.maximum(momentum - (slope + penalty) / steepness, 0)
        faster = (1 + np.sqrt(1 + 4 * t * t)) / 2
        momentum = better + (t - 1) / faster * (better - weights)
        weights, t = better, faster
    return weights.ravel()


def _bumps(size: int, step: float, bump_sd: float) -> FloatArray:
    """Make a bump at each vertex of one direction (columns), as seen at all vertices; each adds up to 1 inside."""
    width = np.sqrt(bump_sd**2 + step**2 / 6)
    at = step * np.arange(size)
    bumps = np.exp(-((at[:, None] - at) ** 2) / (2 * width**2))
    columns: FloatArray = bumps / bumps.sum(axis=0)
    return columns


def _apply(factors: list[FloatArray], weights: FloatArray) -> FloatArray:
    """Multiply weights on the grid with one matrix for each direction."""
    for axis, factor in enumerate(factors):
        weights = np.moveaxis(np.tensordot(factor, weights, axes=(1, axis)), 0, axis)
    return weights


def high_dim_algorithm(problem: Problem) -> Algorithm:
    """Run K-means in more than three dimensions."""
    k, plan = problem.n_clusters, plan_for(problem)
    initial = yield from initial_moments(problem, plan.initial)
    mean, covariance = yield from estimate_moments(problem, initial, plan.final)
    axes = MainAxes.of(mean, covariance, problem.mean_squared_width)

    grid = main_grid(problem, axes.projection, axes.variances, plan.grid)
    n_seeds, bump_sd = tuning.OVER_SEED * k, tuning.BUMP_SD * math.sqrt(axes.average)
    on_grid = yield from seeds(problem, grid, n_seeds, bump_sd, plan.grid)
    m = axes.worthwhile(problem, n_seeds, (plan.lift, plan.first), len(grid.sizes))
    known = yield from _lifted(problem, axes, on_grid, m, plan.lift)
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
    problem: Problem, axes: MainAxes, on_grid: ClusterEstimate, m: int, effort: Effort
) -> Generator[Step, StepResult, ClusterEstimate]:
    """Extend centers to all axes: the grid's along the first ones, and what users say along the first ``m``."""
    (n, q), d = on_grid.centers.shape, problem.n_dimensions
    rest = float(axes.variances[q:m].mean()) if m > q else float(axes.variances[q - 1])
    centers = np.hstack([on_grid.centers, np.zeros((n, d - q))])
    known = replace(on_grid, centers=centers, variance=axes.prior(n, q, tuning.BETWEEN * rest))
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
    """Run a round of K-means along the first ``m`` axes."""
    part = first_axes(known, m)
    sd = within_cluster_sd(part, axes.variances[:m])
    part = yield from next_round(problem, purpose, part, sd, effort, projection=axes.projection.first(m))
    return with_first_axes(known, part)


def within_cluster_sd(known: ClusterEstimate, variances: FloatArray) -> FloatArray:
    """Compute the standard deviation of a coordinate within clusters: total variance less that between centers."""
    weights, total = known.sizes / max(float(known.sizes.sum()), 1e-9), float(variances.sum())
    between = float(weights @ np.sum(known.centers**2, axis=1))
    within = max(total - between, tuning.LEAST_WITHIN * total) / len(variances)
    return np.full(len(known.sizes), math.sqrt(within))


def _sized(
    problem: Problem, axes: MainAxes, known: ClusterEstimate, effort: Effort
) -> Generator[Step, StepResult, ClusterEstimate]:
    """Ask the trusted group for the sizes of the clusters: merging depends on them."""
    release = problem.release(ClusterSizes(Labels(known.centers, axes.projection)), effort)
    if release is None:
        return known
    published = (yield Step("sizes before merging", release=release)).require_release()
    n = problem.n_trusted
    sizes, variance = published.values / n, published.variance / n**2 + known.sizes / n
    weight = known.size_variance / (known.size_variance + variance)
    return replace(
        known,
        sizes=np.maximum(known.sizes + weight * (sizes - known.sizes), 0.0),
        size_variance=known.size_variance * (1 - weight),
    )


def _merged(problem: Problem, axes: MainAxes, known: ClusterEstimate, m: int) -> ClusterEstimate:
    """Merge too many centers to as many as are wanted: K-means of the centers, weighted by their sizes."""
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
    """Choose the number of starts from which seeds are merged: as many as are quick."""
    least, most = tuning.MERGE_STARTS
    return min(max(tuning.MERGE_DISTANCES // (k * n_seeds), least), most)
