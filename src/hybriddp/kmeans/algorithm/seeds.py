"""First centers in the main directions: a grid, bumps, and K-means with more centers than are wanted."""

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.unary import symbol_channel, symbol_variance
from hybriddp.kmeans.algorithm.bumps import bump_weights
from hybriddp.kmeans.algorithm.problem import Effort, Problem
from hybriddp.kmeans.algorithm.step import Release, Step, StepResult
from hybriddp.kmeans.clustering import nearest, weighted_kmeans
from hybriddp.kmeans.reports.base import Ask, Projection
from hybriddp.kmeans.reports.grid import GridQuestion
from hybriddp.kmeans.statistics import Histogram

REACH = 2.2  # standard deviations that the grid covers to either side of the mean
FEWEST, MOST = 3, 13  # vertices in each direction
BALANCE = 6.0  # fewer vertices blur, more drown in noise
_MANY_SYMBOLS = 1000  # a grid has about that many, as far as the variance of a report is concerned


@dataclass(frozen=True, slots=True)
class Seeds:
    """Centers in the directions of a view.

    Attributes
    ----------
    centers : ndarray, shape (n, q)
        Where.
    sizes : ndarray, shape (n,)
        The share of users near each.
    size_variance : ndarray, shape (n,)
        How uncertain the shares are.
    """

    centers: FloatArray
    sizes: FloatArray
    size_variance: FloatArray


@dataclass(frozen=True, slots=True)
class Sharpness:
    """One over the standard error of a frequency, from local users and from the trusted group."""

    local: float
    trusted: float


def sharpness(problem: Problem, effort: Effort) -> Sharpness:
    """How well the groups will see a grid: known before any is asked, from public numbers."""
    variance = symbol_variance(float(problem.epsilon), _MANY_SYMBOLS)
    noise_sd = problem.changed_users * math.sqrt(2)  # times 1/ε
    return Sharpness(
        local=math.sqrt(float(effort.user_fraction) * problem.n_local / variance),
        trusted=float(effort.epsilon_fraction) * problem.n_trusted * problem.trusted_epsilon / noise_sd,
    )


def main_grid(problem: Problem, view: Projection, variances: FloatArray, effort: Effort) -> GridQuestion:
    r"""A grid on the view with $M = (\sqrt2 N/6)^{2q/(2+q)}$ vertices for the sharpness $N$, and some more."""
    q = len(variances)
    sharp = sharpness(problem, effort)
    both = math.hypot(sharp.local, sharp.trusted)
    vertices = np.clip((math.sqrt(2) * both / BALANCE) ** (2 * q / (2 + q)), 27, 2048)
    size = int(np.clip(round(1.6 * vertices ** (1 / q)), FEWEST, MOST))
    half = REACH * np.sqrt(variances)
    return GridQuestion(view, -half, 2 * half / (size - 1), (size,) * q)


def seeds(
    problem: Problem, grid: GridQuestion, n_seeds: int, bump_sd: float, effort: Effort
) -> Generator[Step, StepResult, Seeds]:
    """Ask both groups where on the grid they are, and cluster what they say."""
    asks: tuple[Ask, ...] = ()
    if problem.n_local:
        asks = (Ask(grid, symbol_channel(problem.epsilon, grid.n_symbols), effort.user_fraction),)
    release = Release(Histogram(grid), effort.epsilon_fraction * problem.epsilon_left) if problem.n_trusted else None
    heard = yield Step("a grid on the main directions", asks, release)

    m, shares, precision = grid.n_symbols, np.zeros(grid.n_symbols), 0.0
    if asks:
        n = max(int(heard.answers[0].users.sum()), 1)
        variance = symbol_variance(float(problem.epsilon), m) / n + 1 / n / m
        shares += heard.answers[0].counts(asks[0].channel)[0] / n / variance
        precision += 1 / variance
    if heard.published is not None:
        n = problem.n_trusted
        variance = heard.published.variance / n**2 + 1 / n / m
        shares += heard.published.values / n / variance
        precision += 1 / variance
    shares /= precision
    weights = bump_weights(grid, shares, precision**-0.5, bump_sd)
    return _clustered(grid, shares, weights, 1 / precision, n_seeds, problem.rng())


def _clustered(
    grid: GridQuestion,
    shares: FloatArray,
    weights: FloatArray,
    variance: float,
    n_seeds: int,
    rng: np.random.Generator,
) -> Seeds:
    vertices = grid.vertices()
    kept = np.flatnonzero(weights > 0)
    if len(kept) < n_seeds:  # hardly anything stands out of the noise: the vertices that stand out most
        kept = np.lexsort((shares, weights))[-min(4 * n_seeds, len(vertices)) :]
    mass = np.maximum(weights[kept], 1e-9)
    centers = weighted_kmeans(vertices[kept], mass, n_seeds, starts=8, generator=rng)[0].centers
    sizes: FloatArray = np.bincount(nearest(vertices[kept], centers), mass / mass.sum(), n_seeds).astype(float)
    cells = np.bincount(nearest(vertices, centers), minlength=n_seeds)
    return Seeds(centers, sizes, cells * variance + (0.1 * sizes) ** 2 + (0.02 / n_seeds) ** 2)
