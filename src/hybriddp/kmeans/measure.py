r"""Where the means of the clusters are, relative to given centres: asked of local users, released of the trusted group.

**Local**, with all of ε in one report, one of two ways, whichever promises less variance:

1. the label and $s$ signs as one of $K 2^s$ symbols; per user and coordinate $(d/s)(2^s V(K2^s) + 1/K)$ in units of
   $r^2$;
2. a part of the users (15 %) report their label, the others one bit, $h_k s_j$ (`BitQuestion`):
   $d\,c^2/.85$ with $c = (e^\epsilon + 1)/(e^\epsilon - 1)$, less for small ε.

**Trusted**: counts and sums of residuals, the latter cut to a radius in $L_1$, all in one release.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.questions import BitQuestion, Labels, ResidualQuestion
from hybriddp.kmeans.requests import Answers, Ask, Published, Release
from hybriddp.kmeans.statistics import UNIT, ClusterSums
from hybriddp.kmeans.symbols import support, symbol_channel, symbol_variance

LABELS = Fraction(15, 100)
"""The share of users who report only their label where the others report a bit."""

COUNT_WEIGHT = UNIT // 9
"""A tenth of a release's budget for counts, nine for sums."""

_MOST_SIGNS = 8
_MOST_SYMBOLS = 4096
_SEEN = 4.0  # a cluster counts as seen if its size is this many standard errors above zero


@dataclass(frozen=True, slots=True)
class Measured:
    """How far the mean of each cluster is from its centre.

    Attributes
    ----------
    sizes : ndarray, shape (K,)
        The share of users in each cluster; may be slightly negative.
    step : ndarray, shape (K, d)
        From the centre to the mean; 0 where the cluster was not seen.
    variance : ndarray, shape (K, d)
        The variance of the step; infinite where the cluster was not seen.
    """

    sizes: FloatArray
    step: FloatArray
    variance: FloatArray


# Local ----------------------------------------------------------------------------------------------------------------


def mean_asks(
    labels: Labels, centres: FloatArray, radii: FloatArray, *, epsilon: str, share: Fraction
) -> tuple[Ask, ...]:
    """What to ask a share of the local users."""
    k, d = centres.shape
    eps = float(epsilon)
    signs = best_signs(k, d, eps)
    if bit_variance(d, eps) < sign_variance(k, d, signs, eps):
        label = ResidualQuestion(labels, centres, radii, np.empty((1, 0), np.int64))
        bit = BitQuestion(labels, centres, radii)
        return (
            Ask(label, symbol_channel(epsilon, max(k, 2)), share * LABELS),
            Ask(bit, symbol_channel(epsilon, 2), share * (1 - LABELS)),
        )
    question = ResidualQuestion(labels, centres, radii, cyclic(d, signs))
    return (Ask(question, symbol_channel(epsilon, question.n_symbols), share),)


def sign_variance(k: int, d: int, signs: int, epsilon: float) -> float:
    """The variance that one user adds to a coordinate of a sum, in squared radii, if she reports that many signs."""
    return d / signs * (2**signs * symbol_variance(epsilon, k << signs) + 1 / k)


def bit_variance(d: int, epsilon: float) -> float:
    """The same if she reports one bit."""
    return d / math.tanh(epsilon / 2) ** 2 / float(1 - LABELS)


def best_signs(k: int, d: int, epsilon: float) -> int:
    """How many signs in one symbol give the least variance."""
    possible = [s for s in range(1, min(d, _MOST_SIGNS) + 1) if k << s <= _MOST_SYMBOLS]
    return min(possible, key=lambda s: sign_variance(k, d, s, epsilon))


def cyclic(d: int, signs: int) -> np.ndarray:
    """Lists of coordinates in which all occur equally often."""
    if signs == d:
        return np.arange(d)[None, :]
    return (np.arange(d)[:, None] + np.arange(signs)) % d


def measured_locally(asks: Sequence[Ask], answers: Sequence[Answers]) -> Measured:
    """What the answers to `mean_asks` say."""
    question = asks[0].question
    assert isinstance(question, ResidualQuestion)  # noqa: S101
    (k, d), s = question.centres.shape, question.n_signs
    counts = answers[0].counts(asks[0].channel)[:, : k << s].reshape(-1, k, 1 << s)
    users = answers[0].users
    total = max(int(users.sum()), 1)
    sizes = counts.sum(axis=(0, 2)) / total
    size_noise = (1 << s) * _variance(asks[0]) / total
    if len(asks) == 1:
        sums, coordinate_users = _sign_sums(question, counts, users)
        noise = ((1 << s) * _variance(asks[0]) + np.maximum(sizes, 0)[:, None]) / coordinate_users
    else:
        sums, coordinate_users = _bit_sums(asks[1], answers[1], k, d)
        p, q = support(asks[1].channel)
        noise = np.full((k, 1), 1 / (p - q) ** 2) / coordinate_users
    return _measured(sizes, sums / coordinate_users, noise, question.radii, size_noise)


def _variance(ask: Ask) -> float:
    p, q = support(ask.channel)
    return q * (1 - q) / (p - q) ** 2


def _sign_sums(question: ResidualQuestion, counts: FloatArray, users: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Sums of signs per cluster and coordinate, and how many users were asked for that coordinate."""
    k, d = question.centres.shape
    s = question.n_signs
    signs = 2 * (np.arange(1 << s)[:, None] >> np.arange(s) & 1) - 1
    per_variant = counts @ signs  # (variants, k, s)
    sums, asked = np.zeros((d, k)), np.zeros(d)
    np.add.at(sums, question.coordinates.ravel(), np.swapaxes(per_variant, 1, 2).reshape(-1, k))
    np.add.at(asked, question.coordinates.ravel(), np.repeat(users, s))
    return sums.T, np.maximum(asked, 1)


def _bit_sums(ask: Ask, answers: Answers, k: int, d: int) -> tuple[FloatArray, FloatArray]:
    question = ask.question
    assert isinstance(question, BitQuestion)  # noqa: S101
    counts = answers.counts(ask.channel)
    bits = (counts[:, 1] - counts[:, 0]).reshape(-1, d)
    sums = question.public_signs().T @ bits
    return sums.reshape(k, d), np.maximum(answers.users.reshape(-1, d).sum(axis=0), 1)


# Trusted --------------------------------------------------------------------------------------------------------------


def mean_release(labels: Labels, centres: FloatArray, radii: FloatArray, share: Fraction) -> Release:
    """What to release of the trusted group; radii are of sums of absolute values."""
    return Release(ClusterSums(labels, centres, radii, COUNT_WEIGHT), share)


def measured_by_trust(release: Release, published: Published, n_users: int, spread: FloatArray) -> Measured:
    """What the release says; ``spread`` is the variance of one user's coordinate about her cluster's mean."""
    statistic = release.statistic
    assert isinstance(statistic, ClusterSums)  # noqa: S101
    k, d = statistic.centres.shape
    n = max(n_users, 1)
    sizes = published.values[:k] / COUNT_WEIGHT / n
    sums = published.values[k:].reshape(k, d) / UNIT / n
    noise = (
        published.variance / UNIT**2 / n**2 + spread / statistic.radii[:, None] ** 2 * np.maximum(sizes, 0)[:, None] / n
    )
    size_noise = published.variance / COUNT_WEIGHT**2 / n**2
    return _measured(sizes, sums, noise, statistic.radii, size_noise)


# Both -----------------------------------------------------------------------------------------------------------------


def _measured(sizes: FloatArray, sums: FloatArray, noise: FloatArray, radii: FloatArray, size_noise: float) -> Measured:
    """Steps from sums per user: a ratio of sums to sizes, cut to the radius."""
    seen = sizes > _SEEN * math.sqrt(size_noise)
    size = np.where(seen, sizes, 1.0)[:, None]
    radius = radii[:, None]
    step = np.where(seen[:, None], np.clip(sums / size, -1, 1) * radius, 0.0)
    variance = np.where(seen[:, None], radius**2 * noise / size**2, np.inf)
    return Measured(sizes, step, np.broadcast_to(variance, step.shape).copy())


@dataclass(frozen=True, slots=True)
class Joined:
    """Two measurements in one, and how much of it is the second one's."""

    measured: Measured
    weight: FloatArray


def joined(local: Measured | None, trusted: Measured | None, n_local: int, n_trusted: int) -> Joined:
    """Both groups' measurements, weighted by their variances."""
    if trusted is None or local is None:
        only = local if local is not None else trusted
        assert only is not None  # noqa: S101
        return Joined(only, np.full(len(only.sizes), 0.0 if trusted is None else 1.0))
    precision, more = 1 / local.variance, 1 / trusted.variance
    total = np.maximum(precision + more, 1e-300)
    weight = more / total
    step = (1 - weight) * local.step + weight * trusted.step
    variance = np.where(precision + more > 0, 1 / total, np.inf)
    sizes = (n_local * local.sizes + n_trusted * trusted.sizes) / (n_local + n_trusted)
    return Joined(Measured(sizes, step, variance), weight.mean(axis=1))
