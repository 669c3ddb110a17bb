r"""The mean and the covariance of all points, from signs of pairs of coordinates.

A local user reports the dithered signs of $s$ coordinates as one symbol. The product of two signs has the mean
$z_i z_j$; a coordinate may be in a list twice, with independent dice, which gives $z_j^2$. The trusted group releases
the sum of $zz^T$ directly, if it is large enough.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.kmeans.questions import Labels, ResidualQuestion
from hybriddp.kmeans.requests import Answers, Ask, Published
from hybriddp.kmeans.statistics import UNIT, SecondMoments
from hybriddp.kmeans.symbols import signed_variance, symbol_channel, symbol_variance

_OFTEN = 3  # every pair of coordinates is in at least this many lists
_MOST_LISTS = 1024


@dataclass(frozen=True, slots=True)
class Moments:
    """First and second moments about a public centre.

    Attributes
    ----------
    first : ndarray, shape (d,)
        The mean of $z$.
    second : ndarray, shape (d, d)
        The mean of $zz^T$.
    first_variance : ndarray, shape (d,)
        The variance of each first moment.
    variance : ndarray, shape (d, d)
        The variance of each second moment; infinite where nothing is known.
    """

    first: FloatArray
    first_variance: FloatArray
    second: FloatArray
    variance: FloatArray


def moment_ask(centre: FloatArray, radius: float, lists: IntArray, *, epsilon: str, share: Fraction) -> Ask:
    """Ask for the signs of lists of coordinates."""
    centres = centre[None, :]
    question = ResidualQuestion(Labels(centres), centres, np.array([radius]), lists)
    return Ask(question, symbol_channel(epsilon, question.n_symbols), share)


def best_list_length(d: int, epsilon: float) -> int:
    """How many signs give the least variance of a second moment: pairs grow as fast as symbols do."""
    lengths = range(2, min(10, 2 * d) + 1)
    return min(lengths, key=lambda s: (2**s * symbol_variance(epsilon, 2**s) + 1) / (s * (s - 1)))


def coordinate_lists(d: int, length: int) -> IntArray:
    """Lists of coordinates, public and always the same, in which every pair occurs, each coordinate with itself too.

    Beyond 24 dimensions there may be more pairs than room in the lists; those that do not occur stay unknown.
    """
    if length == 2:
        return np.stack(np.triu_indices(d), axis=1)
    dice = np.random.default_rng([d, length])
    pool = np.repeat(np.arange(d), 2)
    seen = np.zeros((d, d), int)
    lists: list[IntArray] = []
    while len(lists) < _MOST_LISTS and seen[np.triu_indices(d)].min() < _OFTEN:
        shuffled = dice.permutation(pool)
        for first in range(0, len(pool) - length + 1, length):
            chosen = shuffled[first : first + length]
            lists.append(chosen)
            i, j = np.triu_indices(length, 1)
            low, high = np.minimum(chosen[i], chosen[j]), np.maximum(chosen[i], chosen[j])
            np.add.at(seen, (low, high), 1)
    return np.array(lists)


def doubled_lists(d: int, epsilon: float) -> IntArray:
    """Lists in which every coordinate occurs twice, for its mean and its square alone."""
    coordinates = min(max(best_list_length(d, epsilon) // 2, 1), d)
    return np.repeat((np.arange(d)[:, None] + np.arange(coordinates)) % d, 2, axis=1)


def moments_locally(ask: Ask, answers: Answers) -> Moments:
    """What the signs say."""
    question = ask.question
    assert isinstance(question, ResidualQuestion)  # noqa: S101
    d, s, radius = question.centres.shape[1], question.n_signs, float(question.radii[0])
    signs = 2 * (np.arange(1 << s)[:, None] >> np.arange(s) & 1) - 1
    counts = answers.counts(ask.channel)
    first, asked = np.zeros(d), np.zeros(d)
    np.add.at(first, question.coordinates, counts @ signs)
    np.add.at(asked, question.coordinates, np.repeat(answers.users[:, None], s, axis=1))
    a, b = np.triu_indices(s, 1)
    left, right = question.coordinates[:, a], question.coordinates[:, b]
    second, pairs = np.zeros((d, d)), np.zeros((d, d))
    np.add.at(second, (left, right), counts @ (signs[:, a] * signs[:, b]))
    np.add.at(pairs, (left, right), np.repeat(answers.users[:, None], len(a), axis=1))
    second, pairs = _symmetric(second), _symmetric(pairs)
    noise = signed_variance(ask.channel, 1 << s, 1.0)
    known, asked = np.maximum(pairs, 1), np.maximum(asked, 1)
    variance = np.where(pairs > 0, noise / known, np.inf)
    return Moments(radius * first / asked, radius**2 * noise / asked, radius**2 * second / known, radius**4 * variance)


def _symmetric(upper: FloatArray) -> FloatArray:
    """Pairs in either order are the same pair."""
    both: FloatArray = upper + upper.T
    both[np.diag_indices_from(both)] /= 2
    return both


def moments_by_trust(
    statistic: SecondMoments, published: Published, n_users: int, spread: float, bias: float
) -> Moments:
    """What the release says.

    ``spread`` is the variance of one coordinate, for the error of sampling, and ``bias`` what cutting matrices to their
    bound may have taken from it.
    """
    d = len(statistic.centre)
    unit = statistic.bound / UNIT / max(n_users, 1)
    second = np.zeros((d, d))
    second[np.triu_indices(d)] = published.values * unit
    second = second + np.triu(second, 1).T
    # Cutting matrices to their bound makes points far from the mean count too little: a bias, which is no noise but an
    # error all the same.
    variance = published.variance * unit**2 + spread**2 / max(n_users, 1) + (bias * spread) ** 2
    return Moments(np.zeros(d), np.full(d, np.inf), second, np.full((d, d), variance))


def usual_size(d: int) -> float:
    r"""The mean size of the upper triangle of $zz^T$ in $L_1$, for normal $z$ with variance 1.

    $\sum_{i \le j} |z_i z_j| = (|z|_1^2 + |z|_2^2)/2$, with the mean $d + d(d-1)/\pi$.
    """
    return d + d * (d - 1) / math.pi
