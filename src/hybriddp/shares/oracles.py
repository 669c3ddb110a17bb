"""The kinds of frequency oracles: a channel read as a way to ask for one of many categories. See `oracle`."""

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.hashing import LocalHashing
from hybriddp.channels.response import ChoiceResponse, RandomizedResponse
from hybriddp.channels.unary import UnaryEncoding
from hybriddp.grid import read_only
from hybriddp.shares import designs
from hybriddp.shares.law import GroupShares

FrequencyChannel = RandomizedResponse | ChoiceResponse | UnaryEncoding | LocalHashing
"""What the devices of local users may do."""

_CLEARLY = 4.5  # standard errors of a share from which on its collisions are corrected, as in `LocalHashing`
_MOST_SOLVED = 512  # categories of which all collisions are corrected
_LEAST_FREEDOM = 32
_UNPACKED = 1 << 15  # unary reports taken apart at a time


class FrequencyOracle(ABC):
    """A channel read as an oracle for the shares of ``n_categories`` categories."""

    n_codes: int
    """Reports are integers from 0 to below this."""
    n_counts: int
    """How many counts summarize all reports."""
    report_bytes: int
    """How many bytes a report has."""
    hit: float
    """$p$: how likely a report is to support its own category."""
    miss: float
    """$q$: how likely a report is to support any other one."""
    single: bool = False
    """Whether a report always supports exactly one category."""

    def __init__(self, channel: FrequencyChannel, n_categories: int) -> None:
        self.channel, self.n_categories = channel, n_categories

    @property
    def gap(self) -> float:
        """$p - q$."""
        return self.hit - self.miss

    def variance(self, share: float) -> float:
        r"""$n \operatorname{Var} \hat f$ for a category of this share."""
        r = share * self.hit + (1 - share) * self.miss
        return r * (1 - r) / self.gap**2

    @abstractmethod
    def randomize(self, categories: IntArray, random_state: int | np.random.Generator | None) -> NDArray[Any]:
        """One report for each category, given by its number."""

    def tally(self, codes: NDArray[Any]) -> IntArray:
        """Counts of valid reports, which add up: how many have each code, or each bit."""
        return np.bincount(codes.astype(np.int64, copy=False), minlength=self.n_counts).astype(np.int64)

    @abstractmethod
    def shares(self, counts: IntArray, n_reports: int) -> FloatArray:
        """The unbiased share of every category."""

    def group_shares(self, counts: IntArray, n_reports: int) -> GroupShares:
        """The unbiased shares, and how they vary."""
        shares = self.shares(counts, n_reports)
        return GroupShares.of_reports(shares, n_reports, hit=self.hit, miss=self.miss, single=self.single)

    def _unbiased(self, supports: NDArray[Any], n_reports: int) -> FloatArray:
        shares: FloatArray = (supports / n_reports - self.miss) / self.gap
        return shares


class ResponseOracle(FrequencyOracle):
    """Randomized response: a report supports the category that it is."""

    single = True

    def __init__(self, channel: RandomizedResponse, n_categories: int) -> None:
        super().__init__(channel, n_categories)
        self.n_codes = self.n_counts = channel.n_codes
        self.report_bytes = channel.report_bytes
        self.hit, self.miss = channel.hit_probability, channel.miss_probability

    def randomize(self, categories: IntArray, random_state: int | np.random.Generator | None) -> NDArray[Any]:
        return self.channel.sample(categories, random_state=random_state)

    def shares(self, counts: IntArray, n_reports: int) -> FloatArray:
        return self._unbiased(counts, n_reports)


class SubsetOracle(FrequencyOracle):
    """Subset selection by a block design: a report supports every category whose set has its code."""

    def __init__(self, channel: ChoiceResponse, n_categories: int) -> None:
        super().__init__(channel, n_categories)
        n, k, w = channel.n_codes, channel.n_chosen, channel.window
        self.n_codes = self.n_counts = n
        self.report_bytes = channel.report_bytes
        self._shape = (n, k)
        total = 1 << channel.bits
        self.hit = k * (w.low + w.extra) / total
        self.miss = (k * w.low + designs.common_codes(n, k) * w.extra) / total

    def randomize(self, categories: IntArray, random_state: int | np.random.Generator | None) -> NDArray[Any]:
        return self.channel.sample(designs.code_sets(*self._shape)[categories], random_state=random_state)

    def shares(self, counts: IntArray, n_reports: int) -> FloatArray:
        return self._unbiased(designs.membership(*self._shape)[: self.n_categories] @ counts, n_reports)


class UnaryOracle(FrequencyOracle):
    """Unary encoding: bit *i* of a report, which is one integer, supports category *i*."""

    def __init__(self, channel: UnaryEncoding, n_categories: int) -> None:
        super().__init__(channel, n_categories)
        self.n_codes, self.n_counts = 1 << n_categories, n_categories
        self.report_bytes = channel.report_bytes
        self.hit, self.miss = channel.hit_probability, channel.miss_probability

    def randomize(self, categories: IntArray, random_state: int | np.random.Generator | None) -> NDArray[Any]:
        rows = self.channel.sample(categories, random_state=random_state)
        codes = np.zeros((len(rows), 8), np.uint8)
        codes[:, : rows.shape[1]] = rows
        return codes.view("<u8")[:, 0].astype(np.int64)

    def tally(self, codes: NDArray[Any]) -> IntArray:
        counts = np.zeros(self.n_counts, np.int64)
        for start in range(0, len(codes), _UNPACKED):
            rows = codes[start : start + _UNPACKED].astype("<u8").view(np.uint8).reshape(-1, 8)
            bits = np.unpackbits(rows, axis=1, count=self.n_counts, bitorder="little")
            counts += bits.sum(axis=0, dtype=np.int64)
        return counts

    def shares(self, counts: IntArray, n_reports: int) -> FloatArray:
        return self._unbiased(counts, n_reports)


class HashingOracle(FrequencyOracle):
    """Local hashing of the categories' numbers."""

    def __init__(self, channel: LocalHashing, n_categories: int) -> None:
        super().__init__(channel, n_categories)
        self.n_codes = self.n_counts = channel.n_codes
        self.report_bytes = channel.report_bytes
        self.hit, self.miss = channel.hit_probability, channel.miss_probability
        self._functions = channel

    def randomize(self, categories: IntArray, random_state: int | np.random.Generator | None) -> NDArray[Any]:
        return self.channel.sample(categories, random_state=random_state)

    @property
    def _solves(self) -> bool:
        """Whether there are so few categories that all of their collisions can be corrected."""
        channel = self._functions
        freedom = channel.n_functions * (channel.n_values - 1)
        return self.n_categories <= min(_MOST_SOLVED, freedom // _LEAST_FREEDOM)

    def shares(self, counts: IntArray, n_reports: int) -> FloatArray:
        r"""With few categories all collisions are corrected, with many those of the frequent ones.

        If $c_{xz}$ is the fraction of functions under which $x$ and $z$ collide and $q'$ the probability of a wrong
        value, a report supports $x$ with probability $q' + (p - q') \sum_z c_{xz} f_z$: a linear system. Solving it
        costs as many degrees of freedom as there are categories, of $F(G - 1)$; up to a 32nd is worth it.
        """
        channel = self._functions
        tally, keys = counts.reshape(channel.n_functions, channel.n_values), _keys(self.n_categories)
        if not self._solves:
            return channel.corrected_counts(tally, keys) / n_reports
        wrong, collide = channel.window.low / (1 << channel.bits), channel.family.collision_probability
        held = (channel.supports(tally, keys) / n_reports - wrong) / (self.hit - wrong)
        solved = np.linalg.solve(_collisions(channel, self.n_categories) - collide, held - collide)
        return solved.astype(np.float64, copy=False)

    def group_shares(self, counts: IntArray, n_reports: int) -> GroupShares:
        r"""Besides the reports, collisions add to the variance: those of categories too rare to be corrected.

        If all are, the degrees of freedom that this costs add to it instead. If not, their $\sum f^2$ is estimated from
        the shares: a squared one is too large by its variance, on average.
        """
        found = super().group_shares(counts, n_reports)
        if self._solves:
            freedom = self._functions.n_functions * (self._functions.n_values - 1)
            return replace(found, noise=found.noise / (1 - self.n_categories / freedom))
        squares, variance = found.shares**2, self.variance(0.0) / n_reports
        rare = squares <= _CLEARLY**2 * variance
        left = max(float(np.sum(squares[rare] - variance)), 0.0)
        return replace(found, noise=found.noise + self._functions.collision_variance(left))


def _keys(n_categories: int) -> NDArray[np.uint64]:
    return np.arange(n_categories, dtype=np.uint64)


@lru_cache(maxsize=4)
def _collisions(channel: LocalHashing, n_categories: int) -> FloatArray:
    """The fraction of functions under which each two categories collide."""
    values = channel.family.table(_keys(n_categories))
    total = np.zeros((n_categories, n_categories), np.float64)
    for value in range(channel.n_values):
        held = (values == value).astype(np.float32)  # sums of ones, exact below 2^24
        total += held.T @ held
    return read_only(total / channel.n_functions)
