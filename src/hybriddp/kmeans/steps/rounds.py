"""One round in all dimensions: ask both groups where the means are, and move the centres."""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.questions import Labels
from hybriddp.kmeans.requests import Ask, Heard, Step
from hybriddp.kmeans.steps.covariance import Shape
from hybriddp.kmeans.steps.measure import (
    Measured,
    best_signs,
    bit_variance,
    local_sums,
    mean_asks,
    mean_release,
    measured,
    sign_variance,
    trusted_sums,
)
from hybriddp.kmeans.steps.problem import Effort, Problem
from hybriddp.kmeans.steps.refine import Known, half_distances, moved

L1_RADIUS = 0.92
r"""Radius of a normal residual in $L_1$, per dimension and standard deviation: $1.15\sqrt{2/\pi}$."""

_MULTIPLES = (2.5, 1.7, 1.2, 0.8)  # radii of signs, in standard deviations: the largest that is not too noisy
_QUIET = 0.01  # not too noisy: the variance of a step, relative to that within a cluster
_LEAST_WITHIN = 0.08  # the share of the variance that is within clusters, at least
_MOST_DOUBT = 3.0  # doubt about a centre counts up to that many variances within a cluster


@dataclass(frozen=True, slots=True)
class Radii:
    """How far residuals may reach: each coordinate of a local user, all of a trusted user's together."""

    signs: FloatArray
    sums: FloatArray


def measure(
    problem: Problem, what: str, labels: Labels, known: Known, radii: Radii, sd: FloatArray, effort: Effort
) -> Generator[Step, Heard, Measured]:
    """Ask both groups where the means of the clusters are; ``sd`` is that of a coordinate within each cluster."""
    asks: tuple[Ask, ...] = ()
    if problem.n_local:
        asks = mean_asks(labels, known.centres, radii.signs, epsilon=problem.epsilon, share=effort.share)
    release = None
    if problem.n_trusted and effort.cost:
        release = mean_release(labels, known.centres, radii.sums, effort.cost * problem.trusted_share)
    if not asks and release is None:
        return Measured.nothing(known.sizes, known.size_variance, problem.n_dimensions)
    heard = yield Step(what, asks, release)
    local = local_sums(asks, heard.answers) if asks else None
    trusted = None
    if release is not None and heard.published is not None:
        trusted = trusted_sums(release, heard.published, problem.n_trusted, sd**2)
    return measured(local, trusted, known.sizes, known.size_variance, 1.5 * radii.signs)


def next_round(
    problem: Problem, what: str, known: Known, sd: FloatArray, effort: Effort, multiple: float | None = None
) -> Generator[Step, Heard, Known]:
    """Move the centres to where the means are.

    Signs are cut at ``multiple`` standard deviations, or at the largest that is not too noisy.
    """
    radii = _radii(problem, known, sd, multiple or quiet_multiple(problem, len(sd), effort.share))
    news = yield from measure(problem, what, Labels(known.centres), known, radii, sd, effort)
    # Cutting residuals at r takes a part of a small step: P[|z| < r] remains of it, for normal z.
    kept = np.array([math.erf(r / (s * math.sqrt(2))) for r, s in zip(radii.signs, sd, strict=True)])[:, None]
    news = replace(news, step=news.step / kept, variance=news.variance / kept**2)
    return moved(known, news, problem.widths)


def quiet_multiple(problem: Problem, k: int, share: Fraction) -> float:
    """The largest radius, in standard deviations, with which the steps of ``k`` centres are not too noisy."""
    if not problem.n_local:
        return _MULTIPLES[0]
    d, epsilon = problem.n_dimensions, float(problem.epsilon)
    per_user = min(bit_variance(d, epsilon), sign_variance(k, d, best_signs(k, d, epsilon), epsilon))
    noise = per_user * k**2 / (float(share) * problem.n_local)
    return next((multiple for multiple in _MULTIPLES if noise * multiple**2 < _QUIET), _MULTIPLES[-1])


def _radii(problem: Problem, known: Known, sd: FloatArray, multiple: float) -> Radii:
    width = np.sqrt(sd**2 + np.minimum(known.variance.mean(axis=1), _MOST_DOUBT * sd**2))
    cap = np.maximum(half_distances(known.centres), 1.2 * sd)
    return Radii(np.minimum(multiple * width, cap), L1_RADIUS * problem.n_dimensions * width)


def common_sd(known: Known, shape: Shape, total: float) -> FloatArray:
    """The standard deviation of a coordinate within clusters: the total variance without that between centres."""
    weights = known.sizes / max(float(known.sizes.sum()), 1e-9)
    between = float(weights @ np.sum((known.centres - shape.mean) ** 2, axis=1))
    within = max(total - between, _LEAST_WITHIN * total) / len(shape.mean)
    return np.full(len(known.sizes), math.sqrt(within))
