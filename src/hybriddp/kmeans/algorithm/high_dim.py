r"""More than three dimensions: project, over-seed, lift, merge, refine.

1. Moments: a rough mean and total variance, then a finer covariance about that mean.
2. A grid on the three directions of largest variance; noise is told from clusters by `bump_weights`.
3. K-means in these directions with $3K$ centers: too many rather than too few.
4. Lift: users say where they are relative to the centers, in all dimensions.
5. One round in all dimensions on all of these centers, then K-means of them, weighted by the sizes of their clusters,
   merges them to $K$.
6. Refinement in three rounds.

The trusted group takes part, or does not: by a rule on public numbers (`trusted_takes_part`). Where it does, its ε goes
to few steps (`SMALL`, `LARGE`, `DOMINANT`) rather than to all: halving the ε of a release quarters what it is worth,
while a local user is worth the same in every step.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.cluster_estimate import Known, moved
from hybriddp.kmeans.algorithm.covariance import fine_shape, rough_shape
from hybriddp.kmeans.algorithm.problem import Effort, Problem
from hybriddp.kmeans.algorithm.rounds import L1_RADIUS, Radii, common_sd, measure, next_round
from hybriddp.kmeans.algorithm.seeds import Seeds, main_grid, seeds, sharpness
from hybriddp.kmeans.algorithm.step import Algorithm, Centers, Release, Step, StepResult
from hybriddp.kmeans.clustering import nearest, weighted_kmeans
from hybriddp.kmeans.reports.base import Labels, Projection
from hybriddp.kmeans.reports.label_signs import by_directions
from hybriddp.kmeans.statistics import ClusterSizes

DIRECTIONS = 3
OVER_SEED = 3  # the more, the fewer clusters share a center, and the noisier each is


@dataclass(frozen=True, slots=True)
class Plan:
    """What each step takes: all shares of local users add up to 1, and so do those of the trusted group's ε.

    Attributes
    ----------
    rough, fine : Effort
        Moments.
    grid : Effort
        The grid on the main directions.
    lift : Effort
        Centers in all dimensions.
    first, sizes : Effort
        The round with too many centers, and the sizes of their clusters.
    rounds : tuple of Effort
        Refinement.
    """

    rough: Effort
    fine: Effort
    grid: Effort
    lift: Effort
    first: Effort
    sizes: Effort
    rounds: tuple[Effort, ...]

    @classmethod
    def of(
        cls,
        local: tuple[int, ...],
        *,
        fine: int,
        grid: int,
        lift: int,
        sizes: int,
        rounds: tuple[int, ...],
    ) -> "Plan":
        """The plan with these percentages of the local users (all steps but sizes), and of the trusted group's ε."""
        rough_users, fine_users, grid_users, lift_users, first_users, *round_users = local
        return cls(
            rough=_effort(rough_users, 0),
            fine=_effort(fine_users, fine),
            grid=_effort(grid_users, grid),
            lift=_effort(lift_users, lift),
            first=_effort(first_users, 0),
            sizes=_effort(0, sizes),
            rounds=tuple(_effort(users, cost) for users, cost in zip(round_users, rounds, strict=True)),
        )

    @property
    def efforts(self) -> tuple[Effort, ...]:
        """All of them."""
        return self.rough, self.fine, self.grid, self.lift, self.first, self.sizes, *self.rounds


def _effort(local: int, trusted: int) -> Effort:
    return Effort(Fraction(local, 100), Fraction(trusted, 100))


SMALL = Plan.of((4, 14, 15, 20, 12, 12, 11, 12), fine=0, grid=45, lift=25, sizes=20, rounds=(0, 0, 10))
"""A trusted group that says no more than the local users helps most where a start is found, and a little at the end."""

LARGE = Plan.of((4, 26, 12, 18, 10, 10, 8, 12), fine=0, grid=20, lift=20, sizes=10, rounds=(15, 0, 35))
"""One that says more takes part until the end, and leaves to local users what it is worst at: moments."""

DOMINANT = Plan.of((4, 26, 12, 18, 10, 10, 8, 12), fine=10, grid=15, lift=20, sizes=10, rounds=(15, 0, 30))
"""One beside which local users hardly count does everything."""

LEAST_EPSILON_FRACTION = min(
    effort.epsilon_fraction for plan in (SMALL, LARGE, DOMINANT) for effort in plan.efforts if effort.epsilon_fraction
)

_LEAST, _LARGE, _DOMINANT = 0.3, 1.5, 15.0  # how sharp the trusted group's grid is, relative to the local users'
_LEAST_TOTAL, _MOST_TOTAL = 0.01, 0.08  # the variance of a coordinate, relative to the box
_LIFTED = 0.7  # the part of the variance outside of the view that is between clusters, before anything is known
_LIFT_SIGNS, _LIFT_LENGTH = 1.7, 0.6  # where residuals are cut in the lift, in standard deviations and lengths
_NO_DIRECTION = 1e-50  # a coordinate of a direction is 0 then: devices refuse numbers of next to nothing
_MERGED = 0.005  # the variance of a merged center, relative to the box: large enough to leave the word to the rounds


def trusted_takes_part(problem: Problem) -> bool:
    """Whether the trusted group's grid would be at least about a third as sharp as the local users'."""
    sharp = sharpness(problem, LARGE.grid)
    return sharp.trusted > _LEAST * sharp.local


def plan_for(problem: Problem) -> Plan:
    """By the same measure, what the trusted group's ε is spent on."""
    sharp = sharpness(problem, LARGE.grid)
    if sharp.trusted > _DOMINANT * sharp.local:
        return DOMINANT
    return LARGE if sharp.trusted > _LARGE * sharp.local else SMALL


def many_dimensions(problem: Problem) -> Algorithm:
    """The algorithm: hands out what it wants to know, is given what was published."""
    d, k, square = problem.n_dimensions, problem.n_clusters, problem.square
    plan = plan_for(problem)
    rough = yield from rough_shape(problem, plan.rough)
    shape = yield from fine_shape(problem, rough, plan.fine)
    total = float(np.clip(np.trace(shape.covariance), _LEAST_TOTAL * d * square, _MOST_TOTAL * d * square))
    values, vectors = np.linalg.eigh(shape.covariance)
    variances = np.clip(values[::-1][:DIRECTIONS], 0.5 * total / d, 0.1 * square)
    view = Projection(shape.mean, _oriented(vectors[:, ::-1][:, :DIRECTIONS].T))

    grid = main_grid(problem, view, variances, plan.grid)
    found = yield from seeds(problem, grid, OVER_SEED * k, 0.3 * math.sqrt(total / d), plan.grid)

    rest = max((total - float(variances.sum())) / (d - DIRECTIONS), 0.3 * total / d)
    known = yield from _lifted(problem, view, found, rest, plan.lift)
    known = yield from next_round(
        problem, "a round with too many centers", known, common_sd(known, shape, total), plan.first
    )
    known = yield from _sized(problem, known, plan.sizes)
    known = _merged(problem, known)
    for turn, effort in enumerate(plan.rounds, start=1):
        what = f"refinement, round {turn} of {len(plan.rounds)}"
        known = yield from next_round(problem, what, known, common_sd(known, shape, total), effort)
    return Centers(known.centers, known.variance, known.sizes, known.trusted_weight)


def _oriented(axes: FloatArray) -> FloatArray:
    """Directions whose largest coordinate is positive: of the two that are the same, every machine takes this one."""
    largest = np.argmax(np.abs(axes), axis=1)
    oriented: FloatArray = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    oriented[np.abs(oriented) < _NO_DIRECTION] = 0.0
    return oriented


def _lifted(
    problem: Problem, view: Projection, found: Seeds, rest: float, effort: Effort
) -> Generator[Step, StepResult, Known]:
    """Centers in all dimensions, from those in the view; ``rest`` is the variance of a direction outside of it."""
    n, d = len(found.centers), problem.n_dimensions
    flat = Known(
        centers=view.origin + found.centers @ view.axes,
        variance=np.full((n, d), _LIFTED * rest),
        sizes=found.sizes,
        size_variance=found.size_variance,
        trusted_weight=np.zeros(n),
    )
    sd = np.full(n, math.sqrt(rest))
    by_length = by_directions(n, d, float(problem.epsilon))
    radii = Radii((_LIFT_LENGTH * math.sqrt(d) if by_length else _LIFT_SIGNS) * sd, L1_RADIUS * d * sd)
    news = yield from measure(problem, "lift", Labels(found.centers, view), flat, radii, sd, effort)
    known = moved(flat, news, problem.widths)
    # In all dimensions some users are nearer to another center than in the view.
    return replace(known, size_variance=known.size_variance + (0.2 * known.sizes) ** 2)


def _sized(problem: Problem, known: Known, effort: Effort) -> Generator[Step, StepResult, Known]:
    """The sizes of the clusters as the trusted group knows them: merging depends on them."""
    if not problem.n_trusted:
        return known
    statistic = ClusterSizes(Labels(known.centers))
    heard = yield Step(
        "sizes before merging", release=Release(statistic, effort.epsilon_fraction * problem.epsilon_left)
    )
    assert heard.published is not None  # noqa: S101
    n = problem.n_trusted
    found, doubt = heard.published.values / n, heard.published.variance / n**2 + known.sizes / n
    weight = known.size_variance / (known.size_variance + doubt)
    return replace(
        known,
        sizes=np.maximum(known.sizes + weight * (found - known.sizes), 0.0),
        size_variance=known.size_variance * (1 - weight),
    )


def _merged(problem: Problem, known: Known) -> Known:
    """As many centers as are wanted, from too many: K-means of the centers, weighted by their sizes."""
    k, d = problem.n_clusters, problem.n_dimensions
    weights = np.maximum(known.sizes, 0.02 / len(known.sizes))
    best = weighted_kmeans(known.centers, weights, k, starts=20, generator=problem.rng())[0]
    label = nearest(known.centers, best.centers)
    mass = np.maximum(np.bincount(label, weights, k), 1e-9)
    sizes = mass / mass.sum()
    return Known(
        centers=best.centers,
        variance=np.full((k, d), _MERGED * problem.square),
        sizes=sizes,
        size_variance=(0.3 * sizes + 0.1 / k) ** 2,
        trusted_weight=np.bincount(label, weights * known.trusted_weight, k) / mass,
    )
