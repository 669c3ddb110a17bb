r"""Reports of where a residual points to, as a whole.

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

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.response import ChoiceResponse
from hybriddp.kmeans.reports import codebook
from hybriddp.kmeans.reports.base import Ask, Labels, ReportTally, ResidualQuestion, Rng, read_array, require
from hybriddp.kmeans.reports.clipping import clipping_factor_lengths


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
        """The order of the Hadamard matrix: the power of two from the number of centers on."""
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

    def public_signs(self) -> IntArray:
        """The signs of each row (Sylvester's construction), shape (n_rows, K)."""
        return _public_signs(np.arange(self.n_rows)[:, None], np.arange(len(self.centers)))

    def symbols(self, points: FloatArray, variants: IntArray, rng: Rng, *, constant_time: bool = True) -> IntArray:
        seen = self.labels.seen(points)
        label = self.labels.nearest_seen(seen, constant_time=constant_time)
        row, book = np.divmod(variants, self.directions.n_codebooks)
        residuals, radii = self.residuals(seen, label, constant_time=constant_time)
        products, lengths = self.directions.products(residuals, book), codebook.relative_lengths(residuals, radii)
        return codebook.nearest_sets(
            products, lengths, _public_signs(row, label), self.chosen, rng, constant_time=constant_time
        )

    @property
    def gain(self) -> float:
        """$G_k$: how much of a unit vector its set holds."""
        return float(direction_gains(self.centers.shape[1])[self.chosen - 1])

    def sums(self, counts: FloatArray) -> FloatArray:
        """From unbiased counts, shape (n_variants, n_symbols): the sum of clipped residuals, in radii, per cluster."""
        signed = codebook.without_opposites(counts).reshape(self.n_rows, self.directions.n_codebooks, -1)
        return self.public_signs().T @ self.directions.sums(signed) / self.gain

    def fields(self) -> dict[str, Any]:
        residuals = ResidualQuestion.fields(self)
        return {**residuals, "sign_flips": self.directions.sign_flips, "chosen": self.chosen}

    @classmethod
    def from_fields(cls, d: int, fields: dict[str, Any]) -> "DirectionQuestion":
        labels, radii = cls.read_residuals(d, fields)
        q = labels.centers.shape[1]
        most = codebook.most_bases(q, codebook.CODEBOOKS_OF_SHIFTS)
        return cls(labels, radii, read_directions(q, fields, "sign_flips", most), read_chosen(q, fields))


def _public_signs(rows: IntArray, labels: NDArray[np.integer]) -> IntArray:
    """Entries of a Hadamard matrix."""
    signs: IntArray = 1 - 2 * (np.bitwise_count(rows & labels) & 1).astype(np.int64)
    return signs


@lru_cache(maxsize=64)
def direction_gains(d: int) -> FloatArray:
    r"""$G_1, \dots, G_m$: how much of a unit vector the directions nearest to it hold, on average over all vectors."""
    directions, vectors = codebook.Directions.of(d), codebook.unit_vectors(d)
    products = directions.products(vectors, np.arange(len(vectors)) % directions.n_codebooks)
    return codebook.mean_gains(products, products)


def read_directions(d: int, fields: dict[str, Any], name: str, most: int) -> codebook.Directions:
    """The directions of a text under this name."""
    bases = len(fields[name])
    require(0 < bases <= most, f"it has other than 1 to {most} rows of directions")
    sign_flips = read_array(fields, name, (bases, d))
    whole = (np.abs(sign_flips) == 1).all() and bases * codebook.order_of(d) % codebook.codebook_size(d) == 0
    require(bool(whole), "its directions are malformed")
    return codebook.Directions(sign_flips.astype(np.int64))


def read_chosen(d: int, fields: dict[str, Any]) -> int:
    """How many entries of a codebook a text chooses."""
    chosen, most = fields["chosen"], codebook.codebook_size(d)
    require(type(chosen) is int and 1 <= chosen <= most, f"it chooses other than 1 to {most} directions")
    return int(chosen)


def direction_ask(
    labels: Labels,
    radii: FloatArray,
    *,
    epsilon: str,
    user_fraction: Fraction,
    fewest: int = codebook.CODEBOOKS_OF_DIRECTIONS,
) -> Ask:
    """Ask where residuals point to, with at least so many codebooks."""
    d = labels.centers.shape[1]
    chosen = codebook.best_choice(direction_gains(d), float(epsilon))[0]
    question = DirectionQuestion(labels, radii, codebook.Directions.of(d, fewest=fewest), chosen)
    return Ask(question, ChoiceResponse(epsilon=epsilon, n_codes=question.n_symbols, n_chosen=chosen), user_fraction)


def direction_means(ask: Ask, answers: ReportTally) -> tuple[FloatArray, float]:
    """The mean over all users of the clipped residual, in radii, in each cluster; and the variance of each number."""
    question, n = ask.question_as(DirectionQuestion), max(answers.n_users, 1)
    return question.sums(answers.counts(ask.channel)) / n, 1 / (ask.channel.gap * question.gain) ** 2 / n


def shift_ask(center: FloatArray, radius: float, *, epsilon: str, user_fraction: Fraction) -> Ask:
    """Ask where $z = x - c$ points to."""
    labels = Labels(center[None, :])
    return direction_ask(
        labels, np.array([radius]), epsilon=epsilon, user_fraction=user_fraction, fewest=codebook.CODEBOOKS_OF_SHIFTS
    )


def mean_shift(ask: Ask, answers: ReportTally, radius: float, sd: float) -> tuple[FloatArray, float]:
    """Mean of $z$ and its variance in each coordinate, clipping undone for points with this standard deviation."""
    means, variance = direction_means(ask, answers)
    unclipped = radius / clipping_factor_lengths(radius / sd, means.shape[1])
    return unclipped * means[0], unclipped**2 * variance
