r"""First centers from noisy frequencies on a grid.

Both groups say near which vertex their users are (`grid_frequencies`). What follows is post-processing, so that K-means
may begin from as many starts as it likes:

- on the box (`box_start`): both groups' frequencies are blended and denoised, and K-means runs on the vertices;
- on the directions of largest variance (`seeds`), where there is more noise: clusters are wider than a step of the
  grid, so that a frequency that stands alone is noise. The frequencies are fitted by few bumps of the width of a
  cluster (`bump_weights`), and K-means runs on the weights of the bumps.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.unary import symbol_channel, symbol_variance
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.cluster_estimate import ClusterEstimate
from hybriddp.kmeans.algorithm.problem import Effort, Problem, Step, StepResult
from hybriddp.kmeans.clustering import nearest, weighted_kmeans
from hybriddp.kmeans.reports.base import Ask, Projection
from hybriddp.kmeans.reports.grid import GridQuestion
from hybriddp.kmeans.statistics import CHANGED_USERS, Histogram

_DIGITS = 2.0**26  # of the reach of a grid


@dataclass(frozen=True, slots=True)
class GridFrequencies:
    """The fraction of users at each vertex, with noise."""

    values: FloatArray  # shape (M,); some are negative
    variance: float  # of the noise on each
    n_users: float  # of a blend, as many as would have the same sampling error
    trusted_weight: float  # how much of it the trusted group says


def grid_frequencies(
    problem: Problem, purpose: str, grid: GridQuestion, effort: Effort
) -> Generator[Step, StepResult, list[GridFrequencies]]:
    """Ask for the vertex of everybody's point; what the trusted group says comes before what local users say."""
    m, found = grid.n_symbols, []
    asks: tuple[Ask, ...] = ()
    if problem.n_local and effort.user_fraction:
        asks = (Ask(grid, symbol_channel(problem.epsilon, m), effort.user_fraction),)
    result = yield Step(purpose, asks, problem.release(Histogram(grid), effort))
    if result.release is not None:
        n, published = problem.n_trusted, result.release
        found.append(GridFrequencies(published.values / n, published.variance / n**2, n, 1.0))
    if asks:
        n = max(result.answers[0].n_users, 1)  # nobody may have answered
        variance = symbol_variance(float(problem.epsilon), m) / n
        values = result.answers[0].counts(asks[0].channel)[0] / n
        found.append(GridFrequencies(values, variance, n, 0.0))
    return found


def root_precision(problem: Problem, effort: Effort) -> tuple[float, float]:
    """One over the standard error of a grid frequency, per group: of local users, and of the trusted group."""
    variance = symbol_variance(float(problem.epsilon), tuning.TYPICAL_SYMBOLS)
    noise_sd = CHANGED_USERS * math.sqrt(2)  # times 1/ε
    local = math.sqrt(float(effort.user_fraction) * problem.n_local / variance)
    return local, float(effort.epsilon_fraction) * problem.n_trusted * float(problem.epsilon) / noise_sd


def blended(trusted: GridFrequencies, local: GridFrequencies) -> GridFrequencies:
    r"""Both groups' frequencies by inverse variance, noise and sampling together, at the vertex of an average user.

    The frequency there is $\sum_v f_v^2$. Noise is independent in the two groups, so that the product of what they say
    is right on average. It is at least $1/M$, that of users who are spread evenly.
    """
    m = len(trusted.values)
    usual = float(np.clip(np.sum(trusted.values * local.values), 1 / m, 1.0))  # not BLAS: the same everywhere
    a, b = trusted.variance + usual / trusted.n_users, local.variance + usual / local.n_users
    weight = b / (a + b)
    variance = weight**2 * trusted.variance + (1 - weight) ** 2 * local.variance
    return GridFrequencies(
        values=weight * trusted.values + (1 - weight) * local.values,
        variance=variance,
        n_users=1 / (weight**2 / trusted.n_users + (1 - weight) ** 2 / local.n_users),
        trusted_weight=weight,
    )


def main_grid(problem: Problem, axes: Projection, variances: FloatArray, effort: Effort) -> GridQuestion:
    r"""A grid on the first $q$ axes with $1.6 (\sqrt2 N/6)^{2/(2+q)}$ vertices along each, for the root precision $N$.

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
    """More centers than are wanted, in the coordinates of the projection; their variance is not known (infinite)."""
    found = yield from grid_frequencies(problem, "a grid on the main directions", grid, effort)
    m, frequencies, precision = grid.n_symbols, np.zeros(grid.n_symbols), 0.0
    for group in found:
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
    """Weights of bumps at the vertices: a non-negative lasso, by accelerated proximal gradient steps [BT09].

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
    """A bump at each vertex of one direction (columns), as seen at all vertices; each adds up to 1 inside."""
    width = np.sqrt(bump_sd**2 + step**2 / 6)
    at = step * np.arange(size)
    bumps = np.exp(-((at[:, None] - at) ** 2) / (2 * width**2))
    columns: FloatArray = bumps / bumps.sum(axis=0)
    return columns


def _apply(factors: list[FloatArray], weights: FloatArray) -> FloatArray:
    """The product of weights on the grid with one matrix for each direction."""
    for axis, factor in enumerate(factors):
        weights = np.moveaxis(np.tensordot(factor, weights, axes=(1, axis)), 0, axis)
    return weights
