"""Codebooks by the definition, questions about them, and generators that are not random."""

from typing import Any

import numpy as np
from scipy.linalg import hadamard as another_hadamard

from hybriddp._check import FloatArray, IntArray
from hybriddp.kmeans.reports.base import Labels
from hybriddp.kmeans.reports.codebook import Directions, Pairs, codebook_size, paired_row
from hybriddp.kmeans.reports.means import DirectionQuestion
from hybriddp.kmeans.reports.moments import SecondMomentQuestion

TINY = 1e-12  # a radius that every vector is beyond, so that dice do not matter
DIMENSIONS = [1, 2, 3, 4, 5, 8, 16, 20, 64]


class EvenDice:
    """Dice that show ``n`` evenly spaced values between 0 and 1; to break ties, which there are none of, 1/2."""

    def __init__(self, n: int) -> None:
        self.values = (np.arange(n) + 0.5) / n

    def random(self, shape: int | tuple[int, ...], dtype: type = np.float64) -> FloatArray:
        if isinstance(shape, tuple):
            return np.full(shape, 0.5, dtype)
        assert shape == len(self.values)
        return self.values


class SameDice:
    """Dice that always show the same value."""

    def __init__(self, value: float) -> None:
        self.value = value

    def random(self, shape: int | tuple[int, ...], dtype: type = np.float64) -> FloatArray:
        return np.full(shape, self.value, dtype)


def direction_question(d: int, chosen: int, radius: float = TINY, n_centers: int = 1) -> DirectionQuestion:
    """With centers that are far from each other; a single one is at the origin. At most a codebook is chosen."""
    centers = 10.0 * np.arange(n_centers)[:, None] * np.ones(d)
    return DirectionQuestion(
        Labels(centers), np.full(n_centers, radius), Directions.of(d), min(chosen, codebook_size(d))
    )


def pair_question(d: int, chosen: int, radius: float = TINY) -> SecondMomentQuestion:
    return SecondMomentQuestion(np.zeros(d), radius, Pairs.of(d), min(chosen, codebook_size(d)))


def members(question: DirectionQuestion | SecondMomentQuestion, sets: IntArray, variants: IntArray) -> FloatArray:
    """Counts without noise: how many users have each code in their set, in each variant."""
    counts = np.zeros((question.n_variants, question.n_symbols))
    np.add.at(counts, variants, sets[:, None] >> np.arange(question.n_symbols) & 1)
    return counts


def signed(question: DirectionQuestion | SecondMomentQuestion, sets: IntArray) -> IntArray:
    """+1 if a direction is in the set, -1 if its opposite is, shape (n, codebook)."""
    directions = np.arange(question.n_symbols // 2)
    signed: IntArray = (sets[:, None] >> directions & 1) - (sets[:, None] >> directions + len(directions) & 1)
    return signed


def rows_of(directions: Directions) -> FloatArray:
    """All directions by the definition, shape (n_codebooks, codebook, d)."""
    d = directions.sign_flips.shape[1]
    rows = [another_hadamard(directions.order)[:, :d] * signs for signs in directions.sign_flips]
    return np.concatenate(rows).reshape(-1, codebook_size(d), d).astype(np.float64)


def row_pairs(pairs: Pairs, codebooks: IntArray) -> tuple[FloatArray, FloatArray]:
    """The vectors u and v of these codebooks by the definition, each of shape (n, codebook, d)."""
    order, d = pairs.left.order, pairs.left.sign_flips.shape[1]
    xor, codebook = np.divmod(codebooks, pairs.left.n_codebooks)
    place = codebook[:, None] * codebook_size(d) + np.arange(codebook_size(d))
    left, right = rows_of(pairs.left).reshape(-1, d), rows_of(pairs.right).reshape(-1, d)
    return left[place], right[place // order * order + (paired_row(place % order, order) ^ xor[:, None])]


def unit(vectors: FloatArray) -> FloatArray:
    unit: FloatArray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


class EvenColumns:
    """A generator of ``n`` evenly spaced values from 0 to below 1, in the first axis, the same in every call."""

    def __init__(self, n: int) -> None:
        self.values = (np.arange(n, dtype=np.float64) / n).astype(np.float32)

    def random(self, shape: Any, dtype: Any = None) -> Any:  # noqa: ARG002
        column = self.values.reshape(-1, *([1] * (np.size(shape) - 1)))
        return np.broadcast_to(column, shape)


def symbol_shares(question: Any, point: FloatArray, variant: int, n: int = 4096) -> FloatArray:
    """How likely each symbol is for one point, without any sampling: if its random numbers are all alike.

    These are floats of 24 bits, so the chance of rounding up or of a positive sign is a count of 2^24 values.
    """
    symbols = question.symbols(np.tile(point, (n, 1)), np.full(n, variant), EvenColumns(n))
    assert symbols.dtype == np.int64
    return np.bincount(symbols, minlength=question.n_symbols) / n
