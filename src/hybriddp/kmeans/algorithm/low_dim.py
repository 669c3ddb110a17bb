r"""Up to three dimensions: a grid for everybody's first guess, then refinement by local users.

1. The trusted group's histogram on a grid, with noise. If a grid of local reports is the sharper one, half of the local
   users are asked for their vertex too, and both are blended.
2. K-means of the vertices, from several starts: post-processing, so local optima cost nothing.
3. The other local users, in two rounds, say which center is nearest and on which side of it they are.

The grid has $M = (n_T\epsilon/4h)^{2d/(2+d)}$ vertices, where noise and rounding are in balance, with $h$ = 2 for
replaced and 1 for added users; from local reports, $n_T\epsilon/h$ becomes $\sqrt{2n/V}$.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray
from hybriddp.channels.unary import symbol_channel, symbol_variance
from hybriddp.kmeans.algorithm.cells import Frequencies, blended, start
from hybriddp.kmeans.algorithm.cluster_estimate import Known
from hybriddp.kmeans.algorithm.problem import Effort, Problem
from hybriddp.kmeans.algorithm.rounds import ClipRadius, next_round
from hybriddp.kmeans.algorithm.step import Algorithm, Centers, Release, Step, StepResult
from hybriddp.kmeans.reports.base import Ask
from hybriddp.kmeans.reports.grid import GridQuestion
from hybriddp.kmeans.statistics import Histogram

ROUNDS = (ClipRadius(signs=2.5, lengths=1.6), ClipRadius(signs=1.7, lengths=0.7))
"""Where residuals are cut in each round: wide first, while the centers are uncertain."""

BALANCE = 4.0
"""How far the noise on a vertex stays below its share, roughly: fewer vertices blur, more drown in noise."""

_MOST_VERTICES = 4096


def few_dimensions(problem: Problem) -> Algorithm:
    """The algorithm: hands out what it wants to know, is given what was published."""
    n_grid = local_grid_users(problem)
    grid = box_grid(problem, n_grid)
    asks: tuple[Ask, ...] = ()
    grid_share = Fraction(1, 2) if n_grid else Fraction(0)
    if n_grid:
        asks = (Ask(grid, symbol_channel(problem.epsilon, grid.n_symbols), grid_share),)
    release = Release(Histogram(grid), problem.epsilon_left) if problem.n_trusted else None
    heard = yield Step("a grid for the first centers", asks, release)
    blend = blended(_trusted(heard, problem), _local(heard, asks))
    begin = start(grid, blend.frequencies, problem.n_clusters, problem.rng())
    weight = np.full(problem.n_clusters, blend.trusted_weight)
    known = Known(begin.centers, begin.variance, begin.sizes, begin.size_variance, weight)
    sd = np.sqrt(begin.spread)
    effort = Effort((1 - grid_share) / len(ROUNDS), Fraction(0))
    for turn, cut in enumerate(ROUNDS if problem.n_local else (), start=1):
        what = f"refinement, round {turn} of {len(ROUNDS)}"
        known = yield from next_round(problem, what, known, sd, effort, cut)
    return Centers(known.centers, known.variance, known.sizes, known.trusted_weight)


def local_grid_users(problem: Problem) -> int:
    """How many local users are asked for their vertex: half of them if theirs is the sharper grid, else none."""
    n = problem.n_local // 2
    if not problem.n_trusted:
        return max(n, 1)  # nobody else can be asked
    unary = symbol_variance(float(problem.epsilon), _MOST_VERTICES)
    trusted = problem.n_trusted * problem.trusted_epsilon / problem.changed_users
    return n if math.sqrt(2 * n / unary) > trusted else 0


def box_grid(problem: Problem, n_grid: int) -> GridQuestion:
    """A grid of the box with about as many vertices as the noise allows, all steps alike."""
    d, epsilon = problem.n_dimensions, float(problem.epsilon)
    sharpness = [problem.n_trusted * problem.trusted_epsilon / problem.changed_users]
    if n_grid:
        # V depends on M where there are few symbols: one step of iteration is enough.
        rough = math.sqrt(2 * n_grid / symbol_variance(epsilon, _MOST_VERTICES))
        m = max(2, int((rough / BALANCE) ** (2 * d / (2 + d))))
        sharpness.append(math.sqrt(2 * n_grid / symbol_variance(epsilon, m)))
    m = (max(sharpness) / BALANCE) ** (2 * d / (2 + d))
    m = min(max(m, 2**d, 4 * problem.n_clusters), _MOST_VERTICES)
    sizes = _grid_sizes(problem.widths, m)
    step = problem.widths / (sizes - 1)
    return GridQuestion(None, np.zeros(d), step, tuple(int(size) for size in sizes))


def _grid_sizes(widths: FloatArray, m: float) -> NDArray[np.int64]:
    """About ``m`` vertices, all steps alike; but two in a direction that is thinner than two steps."""
    sizes, wide = np.full(len(widths), 2), np.ones(len(widths), bool)
    while wide.any():
        room = math.log(m) - np.count_nonzero(~wide) * math.log(2) - np.log(widths[wide]).sum()
        wanted = widths * math.exp(room / np.count_nonzero(wide))
        thin = wide & (wanted < 2 - 1e-9)
        if not thin.any():
            sizes[wide] = np.ceil(wanted[wide] - 1e-9)
            break
        wide &= ~thin
    while np.prod(sizes) > _MOST_VERTICES:
        sizes[np.argmax(sizes)] -= 1
    return sizes


def _trusted(heard: StepResult, problem: Problem) -> Frequencies | None:
    published = heard.published
    if published is None:
        return None
    n, m = problem.n_trusted, len(published.values)
    threshold = problem.changed_users / problem.trusted_epsilon * math.log(m) / n
    return Frequencies(published.values / n, published.variance / n**2, n, threshold)


def _local(heard: StepResult, asks: tuple[Ask, ...]) -> Frequencies | None:
    if not asks:
        return None
    (answers,), (ask,) = heard.answers, asks
    n, m = max(int(answers.users.sum()), 1), ask.question.n_symbols  # nobody may have answered
    variance = symbol_variance(float(ask.channel.epsilon), m) / n
    shares = answers.counts(ask.channel)[0] / n
    return Frequencies(shares, variance, n, math.sqrt(2 * math.log(m) * variance))
