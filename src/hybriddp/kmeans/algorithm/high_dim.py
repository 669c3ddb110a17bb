r"""More than three dimensions: project, over-seed, lift, merge, refine.

1. Moments: mean and total variance, then the covariance about that mean.
2. A grid on the three directions of largest variance; `bump_weights` tells clusters from noise.
3. K-means in these directions with $3K$ centers: too many rather than too few.
4. Lift: users say where they are relative to the centers, in all dimensions.
5. One round in all dimensions on all of these centers, then K-means of them, weighted by the sizes of their clusters,
   merges them to $K$.
6. Refinement in three rounds.

What each step may cost is in a `BudgetPlan`. The trusted group's ε goes to few steps rather than to all: halving the ε
of a release quarters what it is worth, while a local user is worth the same in every step. All percentages were tuned
on the sets called *space* in `tuning`.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.cluster_estimate import ClusterEstimate
from hybriddp.kmeans.algorithm.covariance import estimate_moments, initial_moments
from hybriddp.kmeans.algorithm.grid_start import main_grid, root_precision, seeds
from hybriddp.kmeans.algorithm.problem import Algorithm, Effort, Problem, Step, StepResult
from hybriddp.kmeans.algorithm.rounds import Radii, measure_means, next_round, shift_noise, within_cluster_sd
from hybriddp.kmeans.clustering import nearest, weighted_kmeans
from hybriddp.kmeans.reports.base import Labels, Projection
from hybriddp.kmeans.statistics import ClusterSizes

_LEAST_COORDINATE = 1e-50  # of a direction; below, it is set to 0: devices refuse tiny numbers other than 0


@dataclass(frozen=True, slots=True)
class BudgetPlan:
    """What each step takes: all fractions of users add up to 1, and so do all fractions of what is left of ε."""

    initial: Effort  # moments of all points
    final: Effort  # moments about that mean
    grid: Effort  # on the main directions
    lift: Effort  # centers in all dimensions
    first: Effort  # the round with too many centers
    sizes: Effort  # of their clusters
    rounds: tuple[Effort, ...]  # refinement

    @classmethod
    def percent(cls, users: tuple[int, ...], epsilon: tuple[int, ...]) -> "BudgetPlan":
        """The plan with these percentages of the local users and of what is left of ε, step by step."""
        for name, percentages in (("users", users), ("epsilon", epsilon)):
            if sum(percentages) != 100 or min(percentages) < 0:
                raise ParameterError(name, "percentages that add up to 100", percentages)
        efforts = (Effort(Fraction(n, 100), Fraction(cost, 100)) for n, cost in zip(users, epsilon, strict=True))
        initial, final, grid, lift, first, sizes, *rounds = efforts
        return cls(initial, final, grid, lift, first, sizes, tuple(rounds))

    @property
    def efforts(self) -> tuple[Effort, ...]:
        """The efforts of all steps."""
        return self.initial, self.final, self.grid, self.lift, self.first, self.sizes, *self.rounds


# The steps in order: initial, final, grid, lift, first, sizes, rounds.
SMALL = BudgetPlan.percent(
    users=(4, 14, 15, 20, 12, 0, 12, 11, 12),
    epsilon=(0, 0, 45, 25, 0, 20, 0, 0, 10),
)
"""A trusted group that says no more than the local users helps most where a start is found, and a little at the end."""

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

LEAST_FRACTION_OF_REST = min(
    effort.fraction_of_rest for plan in (SMALL, LARGE, DOMINANT) for effort in plan.efforts if effort.fraction_of_rest
)
"""What the cheapest release of any plan costs."""


def trusted_takes_part(problem: Problem) -> bool:
    """Whether the trusted group's grid would be at least about a third as sharp as the local users'."""
    local, trusted = root_precision(problem, LARGE.grid)
    return trusted > tuning.TAKES_PART * local


def plan_for(problem: Problem) -> BudgetPlan:
    """By the same measure, what the trusted group's ε is spent on."""
    local, trusted = root_precision(problem, LARGE.grid)
    if trusted > tuning.DOMINANT_FROM * local:
        return DOMINANT
    return LARGE if trusted > tuning.LARGE_FROM * local else SMALL


def high_dim_algorithm(problem: Problem) -> Algorithm:
    """K-means in more than three dimensions."""
    d, square, k = problem.n_dimensions, problem.mean_squared_width, problem.n_clusters
    plan = plan_for(problem)
    initial = yield from initial_moments(problem, plan.initial)
    mean, covariance = yield from estimate_moments(problem, initial, plan.final)
    trace = float(np.trace(covariance))
    total = float(np.clip(trace, tuning.LEAST_TOTAL * d * square, tuning.MOST_TOTAL * d * square))
    values, vectors = np.linalg.eigh(covariance)
    axes = Projection(mean, _oriented(vectors[:, ::-1].T))
    variances = np.clip(values[::-1], tuning.LEAST_REST * total / d, total)

    grid = main_grid(problem, axes, np.maximum(variances, tuning.MAIN_VARIANCE * total / d), plan.grid)
    q = len(grid.sizes)
    n_seeds, bump_sd = tuning.OVER_SEED * k, tuning.BUMP_SD * math.sqrt(total / d)
    found = yield from seeds(problem, grid, n_seeds, bump_sd, plan.grid)
    m = _directions(problem, n_seeds, variances, (plan.lift, plan.first), q)
    known = yield from _lifted(problem, axes, found, variances, m, plan.lift)
    known = yield from _round(problem, "a round with too many centers", axes, known, variances, m, plan.first)
    known = yield from _sized(problem, axes, known, plan.sizes)
    known = _merged(problem, known, variances, m)
    m = _directions(problem, k, variances, plan.rounds, m)
    for turn, effort in enumerate(plan.rounds, start=1):
        purpose = f"refinement, round {turn} of {len(plan.rounds)}"
        known = yield from _round(problem, purpose, axes, known, variances, m, effort)
    return replace(
        known,
        centers=np.clip(mean + known.centers @ axes.axes, 0.0, problem.widths),
        variance=known.variance @ axes.axes**2,
    )


def _oriented(axes: FloatArray) -> FloatArray:
    """Directions whose largest coordinate is positive: of the two that are the same, every machine takes this one."""
    largest = np.argmax(np.abs(axes), axis=1)
    oriented: FloatArray = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    oriented[np.abs(oriented) < _LEAST_COORDINATE] = 0.0
    return oriented


def _directions(problem: Problem, k: int, variances: FloatArray, efforts: tuple[Effort, ...], least: int) -> int:
    """How many directions."""
    effort = Effort(
        sum((e.user_fraction for e in efforts), Fraction(0)), sum((e.fraction_of_rest for e in efforts), Fraction(0))
    )
    best, most = least, -1.0
    for m in range(least, len(variances) + 1):
        between = tuning.LIFT_VARIANCE * variances[:m]
        noise = shift_noise(problem, k, m, effort) * (1 - tuning.LIFT_VARIANCE) * float(variances[:m].mean())
        worth = float(np.sum(between**2 / (between + noise)))
        if worth > most:
            best, most = m, worth
    return best


def _round(
    problem: Problem,
    purpose: str,
    axes: Projection,
    known: ClusterEstimate,
    variances: FloatArray,
    m: int,
    effort: Effort,
) -> Generator[Step, StepResult, ClusterEstimate]:
    part = replace(known, centers=known.centers[:, :m], variance=known.variance[:, :m])
    sd = within_cluster_sd(part, variances[:m])
    part = yield from next_round(problem, purpose, part, sd, effort, projection=axes.first(m))
    return _with(known, part, m)


def _with(known: ClusterEstimate, part: ClusterEstimate, m: int) -> ClusterEstimate:
    return replace(
        part,
        centers=np.hstack([part.centers, known.centers[:, m:]]),
        variance=np.hstack([part.variance, known.variance[:, m:]]),
    )


def _lifted(
    problem: Problem, axes: Projection, found: ClusterEstimate, variances: FloatArray, m: int, effort: Effort
) -> Generator[Step, StepResult, ClusterEstimate]:
    """Centers in all dimensions, from the projection."""
    (n, q), d = found.centers.shape, problem.n_dimensions
    rest = float(variances[q:m].mean()) if m > q else float(variances[q - 1])
    prior = tuning.LIFT_VARIANCE * variances
    prior[:q] = tuning.LIFT_VARIANCE * rest
    known = replace(
        found, centers=np.hstack([found.centers, np.zeros((n, d - q))]), variance=np.tile(prior, (n, 1))
    )
    part = replace(known, centers=known.centers[:, :m], variance=known.variance[:, :m])
    sd = np.full(n, math.sqrt(rest))
    radii = Radii.of(problem, tuning.LIFT_RADIUS, sd, m)
    part = yield from measure_means(problem, "lift", axes.first(m), part, radii, sd, effort)
    known = _with(known, part, m)
    # In all dimensions some users are nearer to another center than in the projection.
    return replace(known, size_variance=known.size_variance + (tuning.LIFT_SIZE_ERROR * known.sizes) ** 2)


def _sized(
    problem: Problem, axes: Projection, known: ClusterEstimate, effort: Effort
) -> Generator[Step, StepResult, ClusterEstimate]:
    """The sizes of the clusters as the trusted group knows them: merging depends on them."""
    release = problem.release(ClusterSizes(Labels(known.centers, axes)), effort)
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


def _merged(problem: Problem, known: ClusterEstimate, variances: FloatArray, m: int) -> ClusterEstimate:
    """As many centers as are wanted, from too many: K-means of the centers, weighted by their sizes."""
    k = problem.n_clusters
    weights = np.maximum(known.sizes, tuning.LEAST_SEED_SIZE / len(known.sizes))
    starts, rng = tuning.MERGE_STARTS, problem.rng()
    centers = weighted_kmeans(known.centers, weights, k, starts=starts, generator=rng)[0].centers
    label = nearest(known.centers, centers)
    mass = np.maximum(np.bincount(label, weights, k), 1e-9)
    sizes = mass / mass.sum()
    relative, least = tuning.MERGED_SIZE_ERROR
    prior = tuning.LIFT_VARIANCE * variances
    prior[:m] = tuning.MERGED_VARIANCE * problem.mean_squared_width
    return ClusterEstimate(
        centers=centers,
        variance=np.tile(prior, (k, 1)),
        sizes=sizes,
        size_variance=(relative * sizes + least / k) ** 2,
        trusted_weight=np.bincount(label, weights * known.trusted_weight, k) / mass,
    )
