r"""Where the means of the clusters are, asked of local users with all of ε in one report.

One of two ways, whichever promises less variance:

1. the label and $s$ signs as one of $K 2^s$ symbols; per user and coordinate $(d/s)(2^s V(K2^s) + 1/K)$ in units of
   $r^2$: better where ε is large;
2. a part of the users (15 %) report their label, the others where their residual points to (`DirectionQuestion`): for a
   radius of $r$ that is $r^2 / (.85\,g^2)$, with $g = (p - q) G_k$ what a report holds of a direction.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.choice import ChoiceResponse
from hybriddp.kmeans.reports.clipping import ResidualSums, clipping_factor_lengths, clipping_factor_signs
from hybriddp.kmeans.reports.codebook import Directions
from hybriddp.kmeans.reports.direction import DirectionQuestion, direction_gains
from hybriddp.kmeans.reports.questions import Labels, ResidualQuestion
from hybriddp.kmeans.reports.symbols import signed_variance, support, symbol_channel, symbol_variance
from hybriddp.kmeans.reports.tally import Ask, ReportTally

LABEL_FRACTION = Fraction(15, 100)
"""The share of users who report only their label where the others report a direction."""

_MOST_SIGNS = 8
_MOST_SYMBOLS = 4096


def mean_asks(
    labels: Labels, centers: FloatArray, radii: FloatArray, *, epsilon: str, user_fraction: Fraction
) -> tuple[Ask, ...]:
    """What to ask a share of the local users; radii are of lengths if `by_directions`, of coordinates if not."""
    k, d = centers.shape
    if by_directions(k, d, float(epsilon)):
        label = ResidualQuestion(labels, centers, radii, np.empty((1, 0), np.int64))
        return (
            Ask(label, symbol_channel(epsilon, max(k, 2)), user_fraction * LABEL_FRACTION),
            direction_ask(labels, centers, radii, epsilon=epsilon, user_fraction=user_fraction * (1 - LABEL_FRACTION)),
        )
    question = ResidualQuestion(labels, centers, radii, cyclic(d, best_signs(k, d, float(epsilon))))
    return (Ask(question, symbol_channel(epsilon, question.n_symbols), user_fraction),)


def direction_ask(
    labels: Labels, centers: FloatArray, radii: FloatArray, *, epsilon: str, user_fraction: Fraction
) -> Ask:
    """Ask where residuals point to."""
    d = centers.shape[1]
    chosen = best_choice(direction_gains(d), float(epsilon)).chosen
    question = DirectionQuestion(labels, centers, radii, Directions.of(d), chosen)
    return Ask(question, ChoiceResponse(epsilon=epsilon, n_codes=question.n_symbols, n_chosen=chosen), user_fraction)


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
    r"""The $k$ with the largest $(p - q) G_k$, where $p - q = (e^\epsilon - 1) / (k e^\epsilon + 2m - k)$."""
    odds, codes = math.exp(epsilon), 2 * len(gains)
    choices = [
        Choice(chosen, (odds - 1) / (chosen * odds + codes - chosen) * float(gain))
        for chosen, gain in enumerate(gains, start=1)
    ]
    return max(choices, key=lambda choice: choice.gain)


def by_directions(k: int, d: int, epsilon: float) -> bool:
    """Whether directions promise less variance than signs, each with a usual radius, for normal clusters."""
    if k << 1 > _MOST_SYMBOLS:
        return True  # not even one sign fits beside the label
    signs = sign_variance(k, d, best_signs(k, d, epsilon), epsilon) * (1.2 / clipping_factor_signs(1.2)) ** 2
    usual = math.sqrt(d)
    return direction_variance(d, epsilon) * (usual / clipping_factor_lengths(usual, d)) ** 2 < signs


def sign_variance(k: int, d: int, signs: int, epsilon: float) -> float:
    """The variance that one user adds to a coordinate of a sum, in squared radii, if she reports that many signs."""
    return d / signs * ((1 << signs) * symbol_variance(epsilon, k << signs) + 1 / k)


def direction_variance(d: int, epsilon: float) -> float:
    """The same if she reports a direction; the radius is that of the length."""
    return 1 / best_choice(direction_gains(d), epsilon).gain ** 2 / float(1 - LABEL_FRACTION)


def best_signs(k: int, d: int, epsilon: float) -> int:
    """How many signs in one symbol give the least variance."""
    possible = [s for s in range(1, min(d, _MOST_SIGNS) + 1) if k << s <= _MOST_SYMBOLS]
    return min(possible, key=lambda s: sign_variance(k, d, s, epsilon))


def cyclic(d: int, signs: int) -> np.ndarray:
    """Lists of coordinates in which all occur equally often."""
    if signs == d:
        return np.arange(d)[None, :]
    return (np.arange(d)[:, None] + np.arange(signs)) % d


def local_sums(asks: Sequence[Ask], answers: Sequence[ReportTally]) -> ResidualSums:
    """What the answers to `mean_asks` say."""
    question = asks[0].question
    assert isinstance(question, ResidualQuestion)  # noqa: S101
    (k, d), s = question.centers.shape, question.n_signs
    counts = answers[0].counts(asks[0].channel)[:, : k << s].reshape(-1, k, 1 << s)
    users = answers[0].users
    total = max(int(users.sum()), 1)
    sizes = counts.sum(axis=(0, 2)) / total
    size_noise = (1 << s) * _variance(asks[0]) / total
    radii = question.radii[:, None]
    if len(asks) == 1:
        sums, coordinate_users = _sign_sums(question, counts, users)
        noise = signed_variance(asks[0].channel, 1 << s, np.maximum(sizes, 0)[:, None]) / coordinate_users
        return ResidualSums(sizes, size_noise, radii * sums / coordinate_users, radii**2 * noise)
    means, noise_of_all = direction_means(asks[1], answers[1])
    return ResidualSums(sizes, size_noise, radii * means, radii**2 * np.full((k, d), noise_of_all))


def direction_means(ask: Ask, answers: ReportTally) -> tuple[FloatArray, float]:
    """The mean over all users of the cut residual, in radii, in each cluster; and the variance of each number."""
    question = ask.question
    assert isinstance(question, DirectionQuestion)  # noqa: S101
    n = max(int(answers.users.sum()), 1)
    p, q = support(ask.channel)
    gain = (p - q) * float(direction_gains(question.centers.shape[1])[question.chosen - 1])
    return question.sums(answers.counts(ask.channel)) / n, 1 / gain**2 / n


def _variance(ask: Ask) -> float:
    p, q = support(ask.channel)
    return q * (1 - q) / (p - q) ** 2


def _sign_sums(question: ResidualQuestion, counts: FloatArray, users: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Sums of signs per cluster and coordinate, and how many users were asked for that coordinate."""
    k, d = question.centers.shape
    s = question.n_signs
    signs = 2 * (np.arange(1 << s)[:, None] >> np.arange(s) & 1) - 1
    per_variant = counts @ signs  # (variants, k, s)
    sums, asked = np.zeros((d, k)), np.zeros(d)
    np.add.at(sums, question.coordinates.ravel(), np.swapaxes(per_variant, 1, 2).reshape(-1, k))
    np.add.at(asked, question.coordinates.ravel(), np.repeat(users, s))
    return sums.T, np.maximum(asked, 1)
