r"""Reports of the means of clusters: labels with signs of residuals, or where residuals point to.

Local users are asked for means with all of ε in one report. One of two ways, whichever promises less variance:

1. the label and $s$ signs as one of $K 2^s$ symbols (`LabelSignsQuestion`); per user and coordinate
   $(d/s)(2^s V(K2^s) + 1/K)$ in units of $r^2$: better where ε is large;
2. a part of the users (15 %) report their label, the others where their residual points to (`DirectionQuestion`): for a
   radius of $r$ that is $r^2 / (.85\,g^2)$, with $g = (p - q) G_k$ what a report holds of a direction.

A vector $z$ that points somewhere in $d$ dimensions is reported best not coordinate by coordinate but as one of many
public directions that it agrees with [BDF+18, AFT22]. The device takes those $k$ of the directions
$\pm u_1, \dots, \pm u_m$ of its codebook (`Directions`) which $z$ agrees with most, and the channel (`ChoiceResponse`)
reports one of these or another one. Averages of reports point where $z$ does:

$$
E \sum_{i \in S} \pm u_i = G_k \frac{z}{|z|}, \qquad G_k = E \sum_{i \in S} \frac{|u_i z|}{|z|},
$$

on average over the bases. Lengths are clipped to a radius $r$: $z$ is taken as $-z$ with probability $(1 - \rho)/2$,
$\rho = \min(1, |z|/r)$, which leaves $\rho$ of the average.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.response import ChoiceResponse
from hybriddp.channels.unary import symbol_channel, symbol_variance
from hybriddp.kmeans.reports import codebook
from hybriddp.kmeans.reports.base import MOST_SIGNS, Ask, Labels, ReportTally, ResidualQuestion, Rng, require
from hybriddp.kmeans.reports.moments import clipping_factor_lengths, clipping_factor_signs

LABEL_FRACTION = Fraction(15, 100)  # of the users report only their label where the others report a direction
_MOST_SYMBOLS = 4096


@dataclass(frozen=True, slots=True)
class ResidualSums:
    """Sizes and residuals of every cluster, per user of one group."""

    sizes: FloatArray  # the fraction of users in each cluster, shape (K,); may be slightly negative
    size_variance: float  # of each size
    sums: FloatArray  # mean over all users of the residual if they are in the cluster, 0 if not, shape (K, d)
    variance: FloatArray  # of the sums, shape (K, d)

    def undo_clipping(self, factors: FloatArray) -> "ResidualSums":
        """Divide by the factor by which clipping shrinks a small mean shift of each cluster, shape (K,)."""
        factor = factors[:, None]
        return replace(self, sums=self.sums / factor, variance=self.variance / factor**2)

    def plus(self, sums: FloatArray, variance: FloatArray) -> "ResidualSums":
        """Add sums that are known from elsewhere, and their variance, both of shape (K, d)."""
        return replace(self, sums=self.sums + sums, variance=self.variance + variance)


# Labels and signs -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LabelSignsQuestion(ResidualQuestion):
    r"""Which center, and to which side of it? One symbol for a label and the signs of some coordinates.

    Coordinate $j$ of the residual $z = (x - c)/r$, clipped to $[-1, 1]$, becomes $\pm 1$ at random so that its mean is
    $z_j$. Sign *i* is bit *i* of the symbol.
    """

    kind: ClassVar[str] = "label_signs"

    coordinates: IntArray  # which ones each variant is about, shape (n_variants, s); none for the label alone

    @property
    def n_variants(self) -> int:
        return len(self.coordinates)

    @property
    def n_signs(self) -> int:
        """Number of signs in a symbol."""
        return int(self.coordinates.shape[1])

    @property
    def n_symbols(self) -> int:
        return len(self.centers) << self.n_signs

    def symbols(self, points: FloatArray, variants: IntArray, rng: Rng, *, constant_time: bool = True) -> IntArray:
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
        """Add up signs, shape (K, d), by counts, shape (n_variants, K, 2^s); and the users that each sum is over."""
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


def cyclic(d: int, signs: int) -> IntArray:
    """List coordinates for each variant, so that all occur equally often."""
    if signs == d:
        return np.arange(d)[None, :]
    return (np.arange(d)[:, None] + np.arange(signs)) % d


# Directions -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DirectionQuestion(ResidualQuestion):
    r"""Which directions is the residual nearest to, times a public sign of its center? A set of them.

    With $h$ a row of a Hadamard matrix, the vector of a user with label $k$ is $h_k (x - c_k)$. Rows are orthogonal, so
    that the sum of $h_k$ times reports over all rows keeps cluster $k$ and cancels the others: the label stays hidden.
    """

    kind: ClassVar[str] = "direction"

    directions: codebook.Directions
    chosen: int  # how many of a codebook

    @property
    def n_rows(self) -> int:
        """Order of the Hadamard matrix: the power of two from the number of centers on."""
        return codebook.order_of(len(self.centers))

    @property
    def n_variants(self) -> int:
        return self.n_rows * self.directions.n_codebooks  # the codebook running fastest

    @property
    def n_symbols(self) -> int:
        return 2 * self.directions.codebook  # with the opposite directions

    @property
    def n_chosen(self) -> int:
        return self.chosen

    @property
    def gain(self) -> float:
        """$G_k$: how much of a unit vector its set holds."""
        return float(direction_gains(self.centers.shape[1])[self.chosen - 1])

    def public_signs(self) -> IntArray:
        """List the signs of each row (Sylvester's construction), shape (n_rows, K)."""
        return _public_signs(np.arange(self.n_rows)[:, None], np.arange(len(self.centers)))

    def symbols(self, points: FloatArray, variants: IntArray, rng: Rng, *, constant_time: bool = True) -> IntArray:
        seen = self.labels.seen(points)
        label = self.labels.nearest_seen(seen, constant_time=constant_time)
        row, book = np.divmod(variants, self.directions.n_codebooks)
        residuals, radii = self.residuals(seen, label, constant_time=constant_time)
        products, lengths = self.directions.products(residuals, book), codebook.relative_lengths(residuals, radii)
        signs = _public_signs(row, label)
        return codebook.nearest_sets(products, lengths, signs, self.chosen, rng, constant_time=constant_time)

    def sums(self, counts: FloatArray) -> FloatArray:
        """Add up clipped residuals per cluster, in radii, by unbiased counts, shape (n_variants, n_symbols)."""
        signed = codebook.without_opposites(counts).reshape(self.n_rows, self.directions.n_codebooks, -1)
        return self.public_signs().T @ self.directions.sums(signed) / self.gain

    def fields(self) -> dict[str, Any]:
        residuals = ResidualQuestion.fields(self)
        return {**residuals, "sign_flips": self.directions.sign_flips, "chosen": self.chosen}

    @classmethod
    def from_fields(cls, d: int, fields: dict[str, Any]) -> "DirectionQuestion":
        labels, radii = cls.read_residuals(d, fields)
        q = labels.centers.shape[1]
        directions = codebook.read_directions(q, fields, "sign_flips", codebook.CODEBOOKS_OF_SHIFTS)
        return cls(labels, radii, directions, codebook.read_chosen(q, fields))


def _public_signs(rows: IntArray, labels: NDArray[np.integer]) -> IntArray:
    """Compute entries of a Hadamard matrix."""
    signs: IntArray = 1 - 2 * (np.bitwise_count(rows & labels) & 1).astype(np.int64)
    return signs


@lru_cache(maxsize=64)
def direction_gains(d: int) -> FloatArray:
    r"""Compute $G_1, \dots, G_m$, the parts of a unit vector that the directions nearest to it hold on average."""
    directions, vectors = codebook.Directions.of(d), codebook.unit_vectors(d)
    products = directions.products(vectors, np.arange(len(vectors)) % directions.n_codebooks)
    return codebook.mean_gains(products, products)


def direction_ask(
    labels: Labels,
    radii: FloatArray,
    *,
    epsilon: str,
    user_fraction: Fraction,
    fewest: int = codebook.CODEBOOKS_OF_DIRECTIONS,
) -> Ask:
    """Ask where residuals point to, with at least ``fewest`` codebooks."""
    d = labels.centers.shape[1]
    chosen = codebook.best_choice(direction_gains(d), float(epsilon))[0]
    question = DirectionQuestion(labels, radii, codebook.Directions.of(d, fewest=fewest), chosen)
    return Ask(question, ChoiceResponse(epsilon=epsilon, n_codes=question.n_symbols, n_chosen=chosen), user_fraction)


def direction_means(ask: Ask, answers: ReportTally) -> tuple[FloatArray, float]:
    """Estimate the mean over all users of the clipped residual, in radii, per cluster; and the variance of each."""
    question, n = ask.question_as(DirectionQuestion), max(answers.n_users, 1)
    return question.sums(answers.counts(ask.channel)) / n, 1 / (ask.channel.gap * question.gain) ** 2 / n


def shift_ask(center: FloatArray, radius: float, *, epsilon: str, user_fraction: Fraction) -> Ask:
    """Ask where $z = x - c$ points to."""
    labels, fewest = Labels(center[None, :]), codebook.CODEBOOKS_OF_SHIFTS
    return direction_ask(labels, np.array([radius]), epsilon=epsilon, user_fraction=user_fraction, fewest=fewest)


def mean_shift(ask: Ask, answers: ReportTally, radius: float, sd: float) -> tuple[FloatArray, float]:
    """Estimate the mean of $z$ and its variance, clipping undone for points with this standard deviation."""
    means, variance = direction_means(ask, answers)
    unclipped = radius / clipping_factor_lengths(radius / sd, means.shape[1])
    return unclipped * means[0], unclipped**2 * variance


# One of both ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MeanReports:
    """How local users report the means of clusters: labels with signs, or directions."""

    d: int
    n_signs: int  # in a symbol; 0 if directions are reported
    variance: float  # that a user adds to a coordinate of a sum, in squared radii: of coordinates, or of lengths

    @property
    def by_length(self) -> bool:
        """Whether radii are those of lengths of residuals, not of each coordinate."""
        return not self.n_signs

    def clipping_factor(self, radius: float) -> float:
        """Compute the part of a small shift that clipping leaves, for a radius in standard deviations."""
        return clipping_factor_lengths(radius, self.d) if self.by_length else clipping_factor_signs(radius)

    def noise(self, radius: float) -> float:
        """Compute the variance that a user adds, clipping undone, in variances of a coordinate within a cluster."""
        return self.variance * (radius / self.clipping_factor(radius)) ** 2


@lru_cache(maxsize=1024)
def mean_reports(k: int, d: int, epsilon: float) -> MeanReports:
    """Choose the way with less variance for ``k`` normal clusters in ``d`` dimensions, each with a usual radius."""
    of_direction = 1 / codebook.best_choice(direction_gains(d), epsilon)[1] ** 2 / float(1 - LABEL_FRACTION)
    directions = MeanReports(d, 0, of_direction)
    possible = [s for s in range(1, min(d, MOST_SIGNS) + 1) if k << s <= _MOST_SYMBOLS]
    if not possible:
        return directions  # not even one sign fits beside the label
    n_signs = min(possible, key=lambda s: sign_variance(k, d, s, epsilon))
    signs = MeanReports(d, n_signs, sign_variance(k, d, n_signs, epsilon))
    return directions if directions.noise(math.sqrt(d)) < signs.noise(1.2) else signs


def sign_variance(k: int, d: int, signs: int, epsilon: float) -> float:
    """Compute the variance that a user with ``signs`` signs adds to a coordinate of a sum, in squared radii."""
    return d / signs * ((1 << signs) * symbol_variance(epsilon, k << signs) + 1 / k)


def mean_asks(labels: Labels, radii: FloatArray, *, epsilon: str, user_fraction: Fraction) -> tuple[Ask, ...]:
    """Ask local users for means; radii are of lengths or of coordinates, as `MeanReports.by_length` has it."""
    k, d = labels.centers.shape
    reports = mean_reports(k, d, float(epsilon))
    if reports.by_length:
        label = LabelSignsQuestion(labels, radii, np.empty((1, 0), np.int64))
        return (
            Ask(label, symbol_channel(epsilon, max(k, 2)), user_fraction * LABEL_FRACTION),
            direction_ask(labels, radii, epsilon=epsilon, user_fraction=user_fraction * (1 - LABEL_FRACTION)),
        )
    question = LabelSignsQuestion(labels, radii, cyclic(d, reports.n_signs))
    return (Ask(question, symbol_channel(epsilon, question.n_symbols), user_fraction),)


def local_sums(asks: Sequence[Ask], answers: Sequence[ReportTally]) -> ResidualSums:
    """Decode the answers to `mean_asks`."""
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
