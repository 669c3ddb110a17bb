r"""Where the means of the clusters are, relative to given centres: asked of local users, released of the trusted group.

**Local**, with all of ε in one report, one of two ways, whichever promises less variance:

1. the label and $s$ signs as one of $K 2^s$ symbols; per user and coordinate $(d/s)(2^s V(K2^s) + 1/K)$ in units of
   $r^2$: better where ε is large;
2. a part of the users (15 %) report their label, the others where their residual points to (`DirectionQuestion`): for a
   radius of $r$ that is $r^2 / (.85\,g^2)$, with $g = (p - q) G_k$ what a report holds of a direction.

**Trusted**: counts and sums of residuals, the latter cut to a radius in $L_1$, all in one release.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.choice import ChoiceResponse
from hybriddp.kmeans.direction_questions import N_CODES, DirectionQuestion, direction_gains
from hybriddp.kmeans.directions import Directions
from hybriddp.kmeans.questions import Labels, ResidualQuestion
from hybriddp.kmeans.requests import Answers, Ask, Published, Release
from hybriddp.kmeans.statistics import UNIT, ClusterSums
from hybriddp.kmeans.steps.kept import kept_of_lengths, kept_of_signs
from hybriddp.kmeans.symbols import signed_variance, support, symbol_channel, symbol_variance

LABELS = Fraction(15, 100)
"""The share of users who report only their label where the others report a direction."""

COUNT_WEIGHT = UNIT // 20
"""One part of a release's budget for counts, twenty for sums."""

LEAST_SIZE = 0.1
"""No cluster is taken to be smaller than this part of the average one."""

_MOST_SIGNS = 8
_MOST_SYMBOLS = 4096


@dataclass(frozen=True, slots=True)
class Sums:
    """What one group says of every cluster, per user of that group.

    Attributes
    ----------
    sizes : ndarray, shape (K,)
        The share of users in each cluster; may be slightly negative.
    size_variance : float
        The variance of each share.
    sums : ndarray, shape (K, d)
        The mean, over all users, of the residual if the user is in the cluster, and 0 if not.
    variance : ndarray, shape (K, d)
        The variance of the sums.
    """

    sizes: FloatArray
    size_variance: float
    sums: FloatArray
    variance: FloatArray

    def whole(self, kept: FloatArray) -> "Sums":
        """The sums as they would be had nobody been cut: that left a part of each cluster's, shape (K,)."""
        part = kept[:, None]
        return replace(self, sums=self.sums / part, variance=self.variance / part**2)


@dataclass(frozen=True, slots=True)
class Measured:
    """How far the mean of each cluster is from its centre.

    Attributes
    ----------
    sizes : ndarray, shape (K,)
        The share of users in each cluster.
    size_variance : ndarray, shape (K,)
        The variance of each share.
    step : ndarray, shape (K, d)
        From the centre to the mean.
    variance : ndarray, shape (K, d)
        The variance of the step.
    trusted_weight : ndarray, shape (K,)
        How much of the step the trusted group decided.
    """

    sizes: FloatArray
    size_variance: FloatArray
    step: FloatArray
    variance: FloatArray
    trusted_weight: FloatArray

    @classmethod
    def nothing(cls, sizes: FloatArray, size_variance: FloatArray, d: int) -> "Measured":
        """What is known if nobody was asked."""
        k = len(sizes)
        return cls(sizes, size_variance, np.zeros((k, d)), np.full((k, d), np.inf), np.zeros(k))


# Local ----------------------------------------------------------------------------------------------------------------


def mean_asks(
    labels: Labels, centres: FloatArray, radii: FloatArray, *, epsilon: str, share: Fraction
) -> tuple[Ask, ...]:
    """What to ask a share of the local users; radii are of lengths if `by_directions`, of coordinates if not."""
    k, d = centres.shape
    if by_directions(k, d, float(epsilon)):
        label = ResidualQuestion(labels, centres, radii, np.empty((1, 0), np.int64))
        return (
            Ask(label, symbol_channel(epsilon, max(k, 2)), share * LABELS),
            direction_ask(labels, centres, radii, epsilon=epsilon, share=share * (1 - LABELS)),
        )
    question = ResidualQuestion(labels, centres, radii, cyclic(d, best_signs(k, d, float(epsilon))))
    return (Ask(question, symbol_channel(epsilon, question.n_symbols), share),)


def direction_ask(labels: Labels, centres: FloatArray, radii: FloatArray, *, epsilon: str, share: Fraction) -> Ask:
    """Ask where residuals point to."""
    d = centres.shape[1]
    chosen = best_choice(direction_gains(d), float(epsilon)).chosen
    question = DirectionQuestion(labels, centres, radii, Directions.of(d), chosen)
    return Ask(question, ChoiceResponse(epsilon=epsilon, n_codes=N_CODES, n_chosen=chosen), share)


@dataclass(frozen=True, slots=True)
class Choice:
    """How many of the directions are best chosen, and what a report then holds of the true one.

    Attributes
    ----------
    chosen : int
        $k$.
    gain : float
        $g = (p - q) G_k$.
    """

    chosen: int
    gain: float


def best_choice(gains: FloatArray, epsilon: float) -> Choice:
    r"""The $k$ with the largest $(p - q) G_k$, where $p - q = (e^\epsilon - 1) / (k e^\epsilon + 32 - k)$."""
    odds = math.exp(epsilon)
    choices = [
        Choice(chosen, (odds - 1) / (chosen * odds + N_CODES - chosen) * float(gain))
        for chosen, gain in enumerate(gains, start=1)
    ]
    return max(choices, key=lambda choice: choice.gain)


def by_directions(k: int, d: int, epsilon: float) -> bool:
    """Whether directions promise less variance than signs, each with a usual radius, for normal clusters."""
    signs = sign_variance(k, d, best_signs(k, d, epsilon), epsilon) * (1.2 / kept_of_signs(1.2)) ** 2
    usual = math.sqrt(d)
    return direction_variance(d, epsilon) * (usual / kept_of_lengths(usual, d)) ** 2 < signs


def sign_variance(k: int, d: int, signs: int, epsilon: float) -> float:
    """The variance that one user adds to a coordinate of a sum, in squared radii, if she reports that many signs."""
    return d / signs * ((1 << signs) * symbol_variance(epsilon, k << signs) + 1 / k)


def direction_variance(d: int, epsilon: float) -> float:
    """The same if she reports a direction; the radius is that of the length."""
    return 1 / best_choice(direction_gains(d), epsilon).gain ** 2 / float(1 - LABELS)


def best_signs(k: int, d: int, epsilon: float) -> int:
    """How many signs in one symbol give the least variance."""
    possible = [s for s in range(1, min(d, _MOST_SIGNS) + 1) if k << s <= _MOST_SYMBOLS]
    return min(possible, key=lambda s: sign_variance(k, d, s, epsilon))


def cyclic(d: int, signs: int) -> np.ndarray:
    """Lists of coordinates in which all occur equally often."""
    if signs == d:
        return np.arange(d)[None, :]
    return (np.arange(d)[:, None] + np.arange(signs)) % d


def local_sums(asks: Sequence[Ask], answers: Sequence[Answers]) -> Sums:
    """What the answers to `mean_asks` say."""
    question = asks[0].question
    assert isinstance(question, ResidualQuestion)  # noqa: S101
    (k, d), s = question.centres.shape, question.n_signs
    counts = answers[0].counts(asks[0].channel)[:, : k << s].reshape(-1, k, 1 << s)
    users = answers[0].users
    total = max(int(users.sum()), 1)
    sizes = counts.sum(axis=(0, 2)) / total
    size_noise = (1 << s) * _variance(asks[0]) / total
    radii = question.radii[:, None]
    if len(asks) == 1:
        sums, coordinate_users = _sign_sums(question, counts, users)
        noise = signed_variance(asks[0].channel, 1 << s, np.maximum(sizes, 0)[:, None]) / coordinate_users
        return Sums(sizes, size_noise, radii * sums / coordinate_users, radii**2 * noise)
    means, noise_of_all = direction_means(asks[1], answers[1])
    return Sums(sizes, size_noise, radii * means, radii**2 * np.full((k, d), noise_of_all))


def direction_means(ask: Ask, answers: Answers) -> tuple[FloatArray, float]:
    """The mean over all users of the cut residual, in radii, in each cluster; and the variance of each number."""
    question = ask.question
    assert isinstance(question, DirectionQuestion)  # noqa: S101
    n = max(int(answers.users.sum()), 1)
    p, q = support(ask.channel)
    gain = (p - q) * float(direction_gains(question.centres.shape[1])[question.chosen - 1])
    return question.sums(answers.counts(ask.channel)) / n, 1 / gain**2 / n


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


# Trusted --------------------------------------------------------------------------------------------------------------


def mean_release(labels: Labels, centres: FloatArray, radii: FloatArray, share: Fraction) -> Release:
    """What to release of the trusted group; radii are of sums of absolute values."""
    return Release(ClusterSums(labels, centres, radii, COUNT_WEIGHT), share)


def trusted_sums(release: Release, published: Published, n_users: int, spread: FloatArray) -> Sums:
    """What the release says; ``spread`` is the variance of a coordinate within each cluster."""
    statistic = release.statistic
    assert isinstance(statistic, ClusterSums)  # noqa: S101
    k, d = statistic.centres.shape
    n = max(n_users, 1)
    sizes = published.values[:k] / COUNT_WEIGHT / n
    unit = statistic.radii[:, None] / UNIT / n
    noise = published.variance * unit**2 + (spread * np.maximum(sizes, 0) / n)[:, None]
    size_noise = published.variance / COUNT_WEIGHT**2 / n**2
    return Sums(sizes, size_noise, unit * published.values[k:].reshape(k, d), noise)


# Both -----------------------------------------------------------------------------------------------------------------


def measured(
    local: Sums | None, trusted: Sums | None, sizes: FloatArray, size_variance: FloatArray, reach: FloatArray
) -> Measured:
    """Steps from sums: a ratio of sums to sizes.

    Parameters
    ----------
    local, trusted : Sums or None
        What the groups say.
    sizes, size_variance : ndarray, shape (K,)
        What was thought of the sizes before.
    reach : ndarray, shape (K,)
        No step is longer than this in a coordinate.
    """
    said = [sums for sums in (local, trusted) if sums is not None]
    size_precision = 1 / size_variance + sum(1 / (s.size_variance + 1e-12) for s in said)
    size = (sizes / size_variance + sum(s.sizes / (s.size_variance + 1e-12) for s in said)) / size_precision
    safe = np.maximum(size, LEAST_SIZE / len(sizes))[:, None]
    precision = sum(1 / s.variance for s in said)
    total = sum(s.sums / s.variance for s in said) / precision
    weight = np.zeros(len(sizes)) if trusted is None else np.mean(1 / trusted.variance / precision, axis=1)
    step = np.clip(total / safe, -reach[:, None], reach[:, None])
    return Measured(np.maximum(size, 0), 1 / size_precision, step, 1 / precision / safe**2, weight)
