r"""Reports of the label of a point and of signs of its residual; and which way to ask for the means of clusters.

Local users are asked for means with all of ε in one report. One of two ways, whichever promises less variance:

1. the label and $s$ signs as one of $K 2^s$ symbols; per user and coordinate $(d/s)(2^s V(K2^s) + 1/K)$ in units of
   $r^2$: better where ε is large;
2. a part of the users (15 %) report their label, the others where their residual points to (`DirectionQuestion`): for a
   radius of $r$ that is $r^2 / (.85\,g^2)$, with $g = (p - q) G_k$ what a report holds of a direction.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.unary import symbol_channel, symbol_variance
from hybriddp.kmeans.reports.base import (
    MOST_SIGNS,
    Ask,
    Labels,
    ReportTally,
    ResidualQuestion,
    ResidualSums,
    Rng,
    require,
)
from hybriddp.kmeans.reports.clipping import clipping_factor_lengths, clipping_factor_signs
from hybriddp.kmeans.reports.codebook import best_choice
from hybriddp.kmeans.reports.direction import direction_ask, direction_gains, direction_means

LABEL_FRACTION = Fraction(15, 100)  # of the users report only their label where the others report a direction
_MOST_SYMBOLS = 4096


@dataclass(frozen=True, slots=True)
class LabelSignsQuestion(ResidualQuestion):
    r"""Which center, and to which side of it? One symbol for a label and the signs of some coordinates.

    Coordinate $j$ of the residual $z = (x - c)/r$, clipped to $[-1, 1]$, becomes $\pm 1$ at random so that its mean is
    $z_j$.
    """

    kind: ClassVar[str] = "label_signs"

    coordinates: IntArray  # which ones each variant is about, shape (n_variants, s); none for the label alone

    @property
    def n_variants(self) -> int:
        return len(self.coordinates)

    @property
    def n_signs(self) -> int:
        """How many signs a symbol holds."""
        return int(self.coordinates.shape[1])

    @property
    def n_symbols(self) -> int:
        return len(self.centers) << self.n_signs

    def symbols(self, points: FloatArray, variants: IntArray, rng: Rng, *, constant_time: bool = True) -> IntArray:
        """The label and the signs of each point: sign *i* is bit *i*."""
        seen = self.labels.seen(points)
        label = self.labels.nearest_seen(seen, constant_time=constant_time)
        symbol = label.astype(np.int64) << self.n_signs
        if not self.n_signs:
            return symbol
        users = np.arange(len(points))
        if constant_time:
            residuals, radii = self.residuals(seen, label, constant_time=True)
        for bit, column in enumerate(self.coordinates.T):
            at = column[variants]
            if constant_time:
                z = residuals[users, at] / radii
            else:  # only the coordinates that are asked for
                z = (seen[users, at] - self.centers[label, at]) / self.radii[label]
            # The sign is +1 with probability (1 + z)/2; beyond ±1 it is sure.
            symbol += (2 * rng.random(len(points), np.float32) - 1 < z).astype(np.int64) << bit
        return symbol

    def sums(self, counts: FloatArray, users: IntArray) -> tuple[FloatArray, FloatArray]:
        """Sums of signs, shape (K, d), from counts, shape (n_variants, K, 2^s); how many users each is a sum over."""
        (k, d), s = self.centers.shape, self.n_signs
        signs = 2 * (np.arange(1 << s)[:, None] >> np.arange(s) & 1) - 1
        per_variant = counts @ signs  # (variants, k, s)
        sums, asked = np.zeros((d, k)), np.zeros(d)
        np.add.at(sums, self.coordinates.ravel(), np.swapaxes(per_variant, 1, 2).reshape(-1, k))
        np.add.at(asked, self.coordinates.ravel(), np.repeat(users, s))
        return sums.T, np.maximum(asked, 1)

    def fields(self) -> dict[str, Any]:
        return {**ResidualQuestion.fields(self), "coordinates": self.coordinates}

    @classmethod
    def from_fields(cls, d: int, fields: dict[str, Any]) -> "LabelSignsQuestion":
        labels, radii = cls.read_residuals(d, fields)
        q, variants = labels.centers.shape[1], len(fields["coordinates"])
        require(0 < variants <= q, f"it comes in other than 1 to {q} variants")
        coordinates = np.array(fields["coordinates"], np.int64).reshape(variants, -1)
        signs = coordinates.shape[1]
        twice = any(len(set(row)) < signs for row in coordinates.tolist())
        outside = ((coordinates < 0) | (coordinates >= q)).any()
        require(signs <= min(q, MOST_SIGNS) and not twice and not outside, "its coordinates are malformed")
        return cls(labels, radii, coordinates)


def sign_variance(k: int, d: int, signs: int, epsilon: float) -> float:
    """The variance that a user with that many signs adds to a coordinate of a sum, in squared radii."""
    return d / signs * ((1 << signs) * symbol_variance(epsilon, k << signs) + 1 / k)


def direction_variance(d: int, epsilon: float) -> float:
    """The same if a direction is reported, by all but those who report a label; the radius is that of the length."""
    return 1 / best_choice(direction_gains(d), epsilon)[1] ** 2 / float(1 - LABEL_FRACTION)


def best_signs(k: int, d: int, epsilon: float) -> int:
    """How many signs in one symbol give the least variance."""
    possible = [s for s in range(1, min(d, MOST_SIGNS) + 1) if k << s <= _MOST_SYMBOLS]
    return min(possible, key=lambda s: sign_variance(k, d, s, epsilon))


def by_directions(k: int, d: int, epsilon: float) -> bool:
    """Whether directions promise less variance than signs, each with a usual radius, for normal clusters."""
    if k << 1 > _MOST_SYMBOLS:
        return True  # not even one sign fits beside the label
    signs = sign_variance(k, d, best_signs(k, d, epsilon), epsilon) * (1.2 / clipping_factor_signs(1.2)) ** 2
    usual = math.sqrt(d)
    return direction_variance(d, epsilon) * (usual / clipping_factor_lengths(usual, d)) ** 2 < signs


def report_variance(k: int, d: int, epsilon: float) -> tuple[bool, float]:
    """Whether directions are reported, and the variance that a user adds to a coordinate of a sum, in squared radii."""
    if by_directions(k, d, epsilon):
        return True, direction_variance(d, epsilon)
    return False, sign_variance(k, d, best_signs(k, d, epsilon), epsilon)


def mean_asks(labels: Labels, radii: FloatArray, *, epsilon: str, user_fraction: Fraction) -> tuple[Ask, ...]:
    """What to ask some of the local users; radii are of lengths if `by_directions`, of coordinates if not."""
    k, d = labels.centers.shape
    if by_directions(k, d, float(epsilon)):
        label = LabelSignsQuestion(labels, radii, np.empty((1, 0), np.int64))
        return (
            Ask(label, symbol_channel(epsilon, max(k, 2)), user_fraction * LABEL_FRACTION),
            direction_ask(labels, radii, epsilon=epsilon, user_fraction=user_fraction * (1 - LABEL_FRACTION)),
        )
    question = LabelSignsQuestion(labels, radii, cyclic(d, best_signs(k, d, float(epsilon))))
    return (Ask(question, symbol_channel(epsilon, question.n_symbols), user_fraction),)


def cyclic(d: int, signs: int) -> IntArray:
    """Lists of coordinates in which all occur equally often."""
    if signs == d:
        return np.arange(d)[None, :]
    return (np.arange(d)[:, None] + np.arange(signs)) % d


def local_sums(asks: Sequence[Ask], answers: Sequence[ReportTally]) -> ResidualSums:
    """What the answers to `mean_asks` say."""
    question, channel, tally = asks[0].question_as(LabelSignsQuestion), asks[0].channel, answers[0]
    (k, d), s = question.centers.shape, question.n_signs
    counts = tally.counts(channel)[:, : k << s].reshape(-1, k, 1 << s)
    total = max(tally.n_users, 1)
    sizes = counts.sum(axis=(0, 2)) / total
    size_noise = (1 << s) * channel.count_variance / total
    radii = question.radii[:, None]
    if len(asks) == 1:
        sums, users = question.sums(counts, tally.users)
        noise = channel.signed_variance(1 << s, np.maximum(sizes, 0)[:, None]) / users
        return ResidualSums(sizes, size_noise, radii * sums / users, radii**2 * noise)
    means, noise_of_all = direction_means(asks[1], answers[1])
    return ResidualSums(sizes, size_noise, radii * means, radii**2 * np.full((k, d), noise_of_all))
