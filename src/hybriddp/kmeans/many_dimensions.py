r"""More than three dimensions: project, over-seed, lift, merge, refine.

1. Moments: a rough mean and total variance, then a finer covariance about that mean.
2. A grid on the three directions of largest variance; noise is told from clusters by `bump_weights`.
3. K-means in these directions with $2K$ centres: too many rather than too few.
4. Lift: local users say where they are relative to the centres, in all dimensions.
5. One round in all dimensions on the $2K$ centres, then K-means of these $2K$ points merges them to $K$.
6. Refinement in three rounds.

The trusted group takes part in every step, or in none: by a rule on public numbers (`trusted_takes_part`).
"""

import math
from collections.abc import Generator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.bumps import bump_weights
from hybriddp.kmeans.lloyd import nearest, weighted_kmeans
from hybriddp.kmeans.measure import (
    Measured,
    best_signs,
    bit_variance,
    sign_variance,
    local_sums,
    mean_asks,
    mean_release,
    measured,
    trusted_sums,
)
from hybriddp.kmeans.moments import Moments, l1_bound, moment_ask, moments_by_trust, moments_locally
from hybriddp.kmeans.problem import Problem
from hybriddp.kmeans.questions import GridQuestion, Labels, View
from hybriddp.kmeans.refine import Known, half_distances, moved
from hybriddp.kmeans.requests import Ask, Centres, Heard, Release, Step, Talk
from hybriddp.kmeans.statistics import Histogram, SecondMoments
from hybriddp.kmeans.symbols import symbol_channel, symbol_variance

DIRECTIONS = 3
ROUNDS = 3
# Shares of the local users and, in brackets, of the trusted group's ε.
ROUGH, FINE, GRID, LIFT, FIRST, ROUND = (Fraction(x, 10000) for x in (625, 1875, 1500, 1500, 1000, 1166))
FINE_COST, GRID_COST, LIFT_COST, FIRST_COST = (Fraction(x, 1000) for x in (250, 200, 125, 125))
ROUND_COSTS = (Fraction(1, 10),) * 3

_CUT_AT = 1.3  # standard deviations, in the finer moments
_CUT_DIAGONAL, _CUT_OTHERS = 0.688, 0.650  # what cutting a normal variable there leaves of z² and of z z'


def trusted_takes_part(problem: Problem) -> bool:
    """Whether the trusted group's grid would be at least about a third as sharp as the local users'."""
    if not problem.n_trusted:
        return False
    n_grid = float(GRID) * problem.n_local
    local = math.sqrt(n_grid / symbol_variance(float(problem.epsilon), 1000))
    trusted = float(GRID_COST) * problem.n_trusted * problem.trusted_epsilon / (problem.replaced * math.sqrt(2))
    return trusted > 0.3 * local


def _measure(
    problem: Problem,
    what: str,
    labels: Labels,
    known: Known,
    radii: FloatArray,
    l1_radii: FloatArray,
    spread: float,
    share: Fraction,
    cost: Fraction,
) -> Generator[Step, Heard, Measured]:
    """Both groups are asked where the means are."""
    asks = mean_asks(labels, known.centres, radii, epsilon=problem.epsilon, share=share) if problem.n_local else ()
    release = None
    if problem.n_trusted and cost:
        release = mean_release(labels, known.centres, l1_radii, cost * problem.trusted_share)
    heard = yield Step(what, asks, release)
    local = local_sums(asks, heard.answers) if asks else None
    trusted = None
    if release is not None and heard.published is not None:
        trusted = trusted_sums(release, heard.published, problem.n_trusted, spread)
    return measured(local, trusted, known.sizes, known.size_variance, 1.5 * radii)


def many_dimensions(problem: Problem) -> Talk:
    """The algorithm: hands out what it wants to know, is given what was published."""
    d, k = problem.n_dimensions, problem.n_clusters
    square = float(np.mean(problem.widths**2))  # bounds on variances are relative to the box
    middle = problem.widths / 2

    mu, spread = yield from _rough_moments(problem, middle, square)
    mu, covariance = yield from _fine_moments(problem, mu, spread)
    total = float(np.clip(np.trace(covariance), 0.01 * d * square, 0.08 * d * square))

    values, vectors = np.linalg.eigh(covariance)
    values, axes = values[::-1][:DIRECTIONS], vectors[:, ::-1][:, :DIRECTIONS].T
    values = np.clip(values, 0.5 * total / d, 0.1 * square)
    view = View(mu, axes)
    seeds, sizes, size_variance = yield from _seeds(problem, view, values, total, OVER * k)
    kk = len(seeds)

    # Lift
    rest = max((total - float(values.sum())) / max(d - DIRECTIONS, 1), RESTFLOOR * total / d)
    radius = min(1.5 * math.sqrt(rest) + 0.03, 0.5)
    l1 = L1 * d * math.sqrt(rest)
    known = Known(mu + seeds @ axes, np.full((kk, d), 0.7 * rest), sizes, size_variance, np.zeros(kk))
    news = yield from _measure(
        problem, "lift", Labels(seeds, view), known, np.full(kk, radius), np.full(kk, l1), rest, LIFT, LIFT_COST
    )
    known = moved(known, news, problem.widths)
    known = replace(known, size_variance=known.size_variance + (REL2 * known.sizes) ** 2)
    # One round in all dimensions
    known = yield from _round(problem, "first round", known, mu, total, FIRST, FIRST_COST)

    # Merge
    weights = np.maximum(known.sizes, WFLOOR / kk)
    best = weighted_kmeans(known.centres, weights, k, starts=20, generator=problem.dice())[0]
    label = nearest(known.centres, best.centres)
    mass = np.maximum(np.bincount(label, weights, k), 1e-9)
    tw = np.bincount(label, weights * known.trusted_weight, k) / mass
    sizes = mass / mass.sum()
    known = Known(best.centres, _merged_variance(known, best.centres, label, weights, square), sizes, (0.3 * sizes + 0.1 / k) ** 2, tw)
    for turn in range(ROUNDS):
        known = yield from _round(
            problem, f"refinement, round {turn + 1} of {ROUNDS}", known, mu, total, ROUND, ROUND_COSTS[turn]
        )
    return Centres(known.centres, known.variance, known.sizes, known.trusted_weight)


def _merged_variance(known: Known, centres: FloatArray, label: np.ndarray, weights: FloatArray, square: float) -> FloatArray:
    k, d = centres.shape
    if CARRY == 0:
        return np.full((k, d), V0 * square)
    mass = np.bincount(label, weights, k)
    out = np.zeros((k, d))
    np.add.at(out, label, weights[:, None] ** 2 * known.variance)
    return np.minimum(CARRY * out / mass[:, None] ** 2, V0 * square)


L1 = 0.92
RESTFLOOR = 0.3
OVER = 2
CELLS = 1.0
REL = 0.1
REL2 = 0.2
WFLOOR = 0.02
V0 = 0.01


def _round(
    problem: Problem, what: str, known: Known, mu: FloatArray, total: float, share: Fraction, cost: Fraction
) -> Generator[Step, Heard, Known]:
    from scipy.special import erf

    sd = _within_sd(known, mu, total)
    radii, l1s = _radii(problem, known, sd, float(share))
    news = yield from _measure(problem, what, Labels(known.centres), known, radii, l1s, sd**2, share, cost)
    back = erf(radii / (sd * math.sqrt(2)))[:, None]  # what cutting residuals took from the step
    news = replace(news, step=news.step / back, variance=news.variance / back**2)
    return moved(known, news, problem.widths)


def _rough_moments(
    problem: Problem, middle: FloatArray, square: float
) -> Generator[Step, Heard, tuple[FloatArray, float]]:
    """A first mean, and the variance of an average coordinate."""
    if not problem.n_local:
        return middle, 0.03 * square
    ask = moment_ask(middle, 0.5, epsilon=problem.epsilon, share=ROUGH)
    heard = yield Step("rough moments", (ask,))
    moments = moments_locally(ask, heard.answers[0])
    variance = float(np.mean(np.diag(moments.second) - moments.first**2))
    return middle + moments.first, float(np.clip(variance, 0.012 * square, 0.05 * square))


def _fine_moments(
    problem: Problem, mu: FloatArray, spread: float
) -> Generator[Step, Heard, tuple[FloatArray, FloatArray]]:
    """A better mean and the covariance."""
    d = problem.n_dimensions
    asks: tuple[Ask, ...] = ()
    if problem.n_local:
        asks = (moment_ask(mu, _CUT_AT * math.sqrt(spread), epsilon=problem.epsilon, share=FINE),)
    statistic = SecondMoments(mu, l1_bound(d, spread))
    release = Release(statistic, FINE_COST * problem.trusted_share) if problem.n_trusted and FINE_COST else None
    heard = yield Step("finer moments", asks, release)
    found: list[Moments] = []
    shift = np.zeros(d)
    if asks:
        local = moments_locally(asks[0], heard.answers[0])
        factor = np.where(np.eye(d) > 0, _CUT_DIAGONAL, _CUT_OTHERS)
        shift = local.first / math.erf(_CUT_AT / math.sqrt(2))
        found.append(Moments(local.first, local.second / factor, local.variance / factor**2))
    if heard.published is not None:
        found.append(moments_by_trust(statistic, heard.published, problem.n_trusted, spread))
    precision = sum(1 / m.variance for m in found)
    second = sum(m.second / m.variance for m in found) / precision
    return mu + shift, second - np.outer(shift, shift)


def _seeds(
    problem: Problem, view: View, values: FloatArray, total: float, n_seeds: int
) -> Generator[Step, Heard, tuple[FloatArray, FloatArray, FloatArray]]:
    """Centres in the directions of the view, and the weight of each."""
    q, d = DIRECTIONS, problem.n_dimensions
    epsilon = float(problem.epsilon)
    half = 2.2 * np.sqrt(values)
    n_grid = float(GRID) * problem.n_local
    sharp = math.sqrt(n_grid / symbol_variance(epsilon, 1000))
    if problem.n_trusted:
        sharp = math.hypot(
            sharp, problem.n_trusted * float(GRID_COST) * problem.trusted_epsilon / (problem.replaced * math.sqrt(2))
        )
    m = np.clip((math.sqrt(2) * sharp / 10) ** (2 * q / (2 + q)), 27, 2048)
    size = int(np.clip(round(1.6 * m ** (1 / q)), 3, 13))
    grid = GridQuestion(view, -half, 2 * half / (size - 1), (size,) * q)
    asks: tuple[Ask, ...] = ()
    if problem.n_local:
        asks = (Ask(grid, symbol_channel(problem.epsilon, grid.n_symbols), GRID),)
    release = Release(Histogram(grid), GRID_COST * problem.trusted_share) if problem.n_trusted else None
    heard = yield Step("a grid on the main directions", asks, release)
    shares, precision = np.zeros(grid.n_symbols), 0.0
    if asks:
        n = max(int(heard.answers[0].users.sum()), 1)
        variance = symbol_variance(epsilon, grid.n_symbols) / n + 1 / n / grid.n_symbols
        shares += heard.answers[0].counts(asks[0].channel)[0] / n / variance
        precision += 1 / variance
    if heard.published is not None:
        n = problem.n_trusted
        variance = heard.published.variance / n**2 + 1 / n / grid.n_symbols
        shares += heard.published.values / n / variance
        precision += 1 / variance
    weights = bump_weights(grid, shares / precision, precision**-0.5, 0.3 * math.sqrt(total / d))
    kept = weights > 1e-6 * max(weights.max(), 1e-12)
    if np.count_nonzero(kept) < n_seeds:
        kept = np.argsort(weights + 1e-9 * shares)[-min(4 * n_seeds, len(weights)) :]
        weights = np.maximum(weights, 1e-9)
    points, weights = grid.vertices()[kept], weights[kept]
    centres = weighted_kmeans(points, weights, n_seeds, starts=8, generator=problem.dice())[0].centres
    label = nearest(points, centres)
    mass = np.bincount(label, weights, n_seeds)
    cells = np.bincount(nearest(grid.vertices(), centres), minlength=n_seeds)
    sizes = mass / mass.sum()
    return centres, sizes, CELLS * cells / precision + (REL * sizes) ** 2 + (0.02 / n_seeds) ** 2


def _within_sd(known: Known, mu: FloatArray, total: float) -> float:
    """The standard deviation of a coordinate within clusters: the total variance without that between centres."""
    d = len(mu)
    weights = known.sizes / max(known.sizes.sum(), 1e-9)
    between = float(weights @ np.sum((known.centres - mu) ** 2 - known.variance * NOISE, axis=1))
    return math.sqrt(max(total - between, FLOOR * total) / d)


MULTIPLES = (2.5, 1.7, 1.2, 0.8)
LIMIT = 0.01
CARRY = 0.0
NOISE = 0.5
FLOOR = 0.08
DOUBT = 1.0


def _radii(problem: Problem, known: Known, sd: float, share: float) -> tuple[FloatArray, FloatArray]:
    """How far residuals may reach: for signs in each coordinate, for sums in all together."""
    k, d = known.centres.shape
    doubt = np.minimum(known.variance.mean(axis=1), DOUBT * sd**2)
    width = np.sqrt(sd**2 + doubt)
    cap = np.maximum(half_distances(known.centres), 1.2 * sd)
    multiple = 2.5
    if problem.n_local:
        eps = float(problem.epsilon)
        per_user = min(bit_variance(d, eps), sign_variance(k, d, best_signs(k, d, eps), eps))
        for multiple in MULTIPLES:
            noise = per_user * (multiple * sd) ** 2 * k**2 / (share * problem.n_local)
            if noise < LIMIT * sd**2:
                break
    return np.minimum(multiple * width, cap), L1 * d * width
