r"""Least squares for the masses of the 256 bins, in Walsh coordinates.

Everything that both groups say is linear in the masses $p$, so each gives an information matrix $M$ and a right-hand
side $h$; they add up, and the estimate minimizes $\tfrac12 q^T M q - h^T q$ over masses of sum 1. Its covariance is the
inverse of $M$ on vectors of sum 0.

**Coordinates.** With $W$ the Walsh functions over 16, symmetric and orthogonal, the masses are $p = W z$. The first
coordinate is $z_0 = 1/16$ for every $p$ of sum 1, so it is fixed and the other 255 are free.

**Masked reports.** The label of a bin under pattern $k$ is a set of parities, so the indicator of label $y$ is
$2^{-r} \sum_s (-1)^{s \cdot y}$ times the Walsh function of the mask $m_k(s)$, the exclusive or of the masks in $s$. So
pattern $k$ touches $2^r$ coordinates only, and the information on two of them, $m_k(s)$ and $m_k(t)$, depends on
$s \oplus t$ alone. That is what makes an estimate take milliseconds.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.masked import N_BINS, MaskedResponse, patterns
from hybriddp.grid import read_only

ALPHA = 0.05
"""Pseudo-users with uniform values, only to make the information invertible. A whole one would cost coverage."""
_PIECES = 16  # of equal mass, into which the edges cut at which groups are compared
_SIDE = 16.0  # the root of the number of bins: Walsh functions over it are orthonormal


class Information(NamedTuple):
    """What some data say of the masses, in Walsh coordinates: $M$, and the right-hand side $h$."""

    matrix: FloatArray
    side: FloatArray

    def plus(self, other: "Information") -> "Information":
        """Add the information from other data."""
        return Information(self.matrix + other.matrix, self.side + other.side)


class Masses(NamedTuple):
    """Estimated masses of the bins, of sum 1, and their covariance."""

    values: FloatArray
    covariance: FloatArray


@lru_cache(maxsize=1)
def walsh() -> FloatArray:
    """Return the orthonormal Walsh functions of the bins.

    Row *m* is the parity of ``m & bin`` as a sign, over 16.
    """
    numbers = np.arange(N_BINS)
    parity = np.bitwise_count(numbers[:, None] & numbers) & 1
    return read_only((1.0 - 2.0 * parity) / _SIDE)


@lru_cache(maxsize=1)
def prior() -> Information:
    """`ALPHA` users who are spread evenly over the bins."""
    side = np.zeros(N_BINS)
    side[0] = ALPHA * _SIDE
    return Information(read_only(ALPHA * N_BINS * np.eye(N_BINS)), read_only(side))


def equal_pieces(masses: FloatArray) -> NDArray[np.intp]:
    """After which of the masses to cut them into 16 pieces that are as equal as they can be; 15 cuts at most."""
    quantiles = np.arange(1, _PIECES) / _PIECES
    return np.unique(np.clip(np.searchsorted(np.cumsum(masses), quantiles), 0, len(masses) - 2))


def inverse_on_sum_zero(matrix: FloatArray) -> FloatArray:
    """Invert a matrix in Walsh coordinates on the vectors of sum 0.

    The first row and column of the result are 0.
    """
    inverse = np.zeros_like(matrix)
    inverse[1:, 1:] = np.linalg.inv(matrix[1:, 1:])
    return inverse


def to_walsh(matrix: FloatArray) -> FloatArray:
    """Convert a matrix of bins to Walsh coordinates, or back."""
    w = walsh()
    turned: FloatArray = w @ matrix @ w
    return turned


def solve(information: Information) -> Masses:
    """Estimate the masses of sum 1 that fit best, and their covariance."""
    inverse = inverse_on_sum_zero(information.matrix)
    coordinates = np.zeros(N_BINS)
    coordinates[0] = 1 / _SIDE
    coordinates += inverse @ (information.side - information.matrix @ coordinates)
    return Masses(walsh() @ coordinates, to_walsh(inverse))


def of_known_covariance(masses: FloatArray, covariance: FloatArray) -> Information:
    """Return the information in an estimate of the masses with this covariance."""
    inverse = inverse_on_sum_zero(to_walsh(covariance))
    return Information(inverse, inverse @ (walsh() @ masses))


@dataclass(frozen=True, slots=True, eq=False)
class MaskedEvidence:
    """Counts of masked reports, shape (n_patterns, n_labels), and the channel that they came through."""

    counts: IntArray
    channel: MaskedResponse

    @property
    def count(self) -> int:
        """How many reports there are."""
        return int(self.counts.sum())

    def information(self, masses: FloatArray) -> Information:
        r"""Pattern $k$ gives code $y$ with probability $\pi = a + b P_k(y)$, $P_k(y)$ the mass of the label's bins.

        So $M = b^2 \sum n_k/\pi\, 1_{ky} 1_{ky}^T$ and $h = b \sum (\text{count}_{ky} - a n_k)/\pi\, 1_{ky}$.
        """
        design = _design(self.channel.label_bits)
        g, a, b = self.channel.n_labels, self.channel.response.miss_probability, self.channel.response.gap
        users = self.counts.sum(axis=1, keepdims=True)
        # P_k(y) = 2^-r Σ_s (-1)^(s·y) (Walsh sum of the masses at the mask of s)
        label_masses = (walsh() @ masses * _SIDE)[design.masks] @ design.signs / g
        chance = a + b * label_masses
        weights = (users / chance) @ design.signs  # of s ⊕ t, for each pattern
        matrix = np.bincount(design.pairs, weights[:, design.differences].ravel(), N_BINS**2)
        side = np.bincount(design.masks.ravel(), ((self.counts - a * users) / chance @ design.signs).ravel(), N_BINS)
        scale = b * _SIDE / g  # an indicator has the coordinates ±16/g
        return Information(np.asarray(scale**2 * matrix.reshape(N_BINS, N_BINS)), np.asarray(scale * side))


def code_influence(channel: MaskedResponse, masses: FloatArray, direction: FloatArray) -> FloatArray:
    """Compute how far one report of each code moves a sum of what `MaskedEvidence.information` says.

    The sum is ``direction @ side``; shape (n_patterns, n_labels).
    """
    design, g = _design(channel.label_bits), channel.n_labels
    a, b = channel.response.miss_probability, channel.response.gap
    label_masses = (walsh() @ masses * _SIDE)[design.masks] @ design.signs / g
    return np.asarray(b * _SIDE / g * (direction[design.masks] @ design.signs) / (a + b * label_masses))


class _Design(NamedTuple):
    """What the patterns of so many label bits look at, for subsets *s* and *t* of their masks."""

    masks: NDArray[np.intp]  # (patterns, labels): the exclusive or of the masks in s
    signs: FloatArray  # (labels, labels): (-1)^(s·y)
    differences: NDArray[np.intp]  # (labels²): s ⊕ t
    pairs: NDArray[np.intp]  # (patterns · labels²): the mask of s times 256, and that of t


@lru_cache(maxsize=4)
def _design(label_bits: int) -> _Design:
    g = 1 << label_bits
    subsets = np.arange(g)
    masks = np.zeros((len(patterns(label_bits)), g), np.intp)
    for i, column in enumerate(np.array([pattern.masks for pattern in patterns(label_bits)]).T):
        masks ^= column[:, None] * (subsets >> i & 1)
    signs = 1.0 - 2.0 * (np.bitwise_count(subsets[:, None] & subsets) & 1)
    differences = (subsets[:, None] ^ subsets).ravel()
    pairs = (masks[:, :, None] * N_BINS + masks[:, None, :]).ravel()
    return _Design(*(read_only(array) for array in (masks, signs, differences, pairs)))
