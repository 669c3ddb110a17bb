r"""Many people at once: how many have each value, and how many of their reports have each code.

A simulated trial need not draw once per person. People with the same value are alike, so the *number* of them in each
group, cell, row and code is drawn instead; every step is the exact law of the counts:

- who trusts: a multivariate hypergeometric draw from a fixed population, or a multinomial one from a distribution;
- to which edge of their cell users are rounded (`WindowChannel.rows`): binomial; to which row from there: binomial;
- which code the row gives: multinomial.

A trial with a million users takes a few milliseconds, whatever their number.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp._check import FloatArray
from hybriddp.channels.window_channel import CELL_BITS, CELLS, SHARE_BITS, WindowChannel
from hybriddp.errors import DataError
from hybriddp.grid import UNITS, Grid

Counts = NDArray[np.int64]
_PART_BITS = 20


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """People by their value: the distinct values, in units of a grid, and how many people have each."""

    units: Counts = field(repr=False)  # they may be real people's
    users: Counts = field(repr=False)

    @classmethod
    def of(cls, values: ArrayLike, bounds: tuple[float, float]) -> "ValueCounts":
        """Count people by their value; missing values are an error."""
        placed = Grid.of(bounds).place(values)
        if placed.rejected or len(placed.units) < 2:
            raise DataError(
                "values must be at least two finite numbers. Remove what is missing, NaN or infinite first."
            )
        units, users = np.unique(placed.units, return_counts=True)
        return cls(units.astype(np.int64), users.astype(np.int64))

    @property
    def count(self) -> int:
        """Number of people."""
        return int(self.users.sum())

    @property
    def total(self) -> int:
        """Sum of their values, in units; in two parts, since that of very many people does not fit into 64 bits."""
        many, few = self.users >> _PART_BITS, self.users & ((1 << _PART_BITS) - 1)
        return (int(self.units @ many) << _PART_BITS) + int(self.units @ few)

    @property
    def mean(self) -> float:
        """Of their values, on the unit range."""
        return self.total / (self.count * UNITS)

    @property
    def variance(self) -> float:
        """Of their values, on the unit range."""
        deviation = self.units / UNITS - self.mean
        return float(deviation**2 @ self.users) / self.count

    @property
    def split_variance(self) -> float:
        """Variance with divisor n - 1, which the formulas need if these very people are split at random."""
        return self.variance * self.count / (self.count - 1)

    def split(self, n_trusted: int, rng: np.random.Generator) -> "tuple[ValueCounts, ValueCounts]":
        """Draw who trusts and who does not, everybody equally likely."""
        trusted = rng.multivariate_hypergeometric(self.users, n_trusted, method="marginals")
        return ValueCounts(self.units, trusted), ValueCounts(self.units, self.users - trusted)

    def draw(self, n_users: int, rng: np.random.Generator) -> "ValueCounts":
        """Draw other people independently from the distribution of these."""
        return ValueCounts(self.units, rng.multinomial(n_users, self.users / self.count))


def code_counts(channel: WindowChannel, crowd: ValueCounts, rng: np.random.Generator) -> Counts:
    """Draw how many reports have each code, by the law of counting what ``channel.sample`` gives."""
    rows = _users_by_row(channel, crowd, lambda users, p: rng.binomial(users.astype(np.int64), p))
    some = np.flatnonzero(rows)
    return np.asarray(rng.multinomial(rows[some].astype(np.int64), channel.probabilities[some]).sum(axis=0))


def code_frequencies(channel: WindowChannel, crowd: ValueCounts) -> FloatArray:
    """Return the expected relative frequency of each code among reports: the mean of `code_counts`."""
    rows = _users_by_row(channel, crowd, lambda users, p: users * p)
    return np.asarray(rows @ channel.probabilities / crowd.count)


def _users_by_row(channel: WindowChannel, crowd: ValueCounts, rounded_up: Callable[..., NDArray[Any]]) -> NDArray[Any]:
    """Count users by the row they report from; ``rounded_up(users, p)`` of them go to the higher edge and row."""
    cell, inside = crowd.units >> CELL_BITS, crowd.units & ((1 << CELL_BITS) - 1)
    up = rounded_up(crowd.users, inside / (1 << CELL_BITS))
    edges = np.bincount(cell, crowd.users - up, CELLS + 2) + np.bincount(cell + 1, up, CELLS + 2)
    at = np.flatnonzero(edges)
    users, entry = edges[at], channel.lookup[at].astype(np.int64)
    row, n = entry >> SHARE_BITS, channel.n_rows
    higher = rounded_up(users, (entry & ((1 << SHARE_BITS) - 1)) / (1 << SHARE_BITS))
    return np.bincount(row, users - higher, n + 1)[:n] + np.bincount(np.minimum(row + 1, n - 1), higher, n)
