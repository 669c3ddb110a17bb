r"""Frequency oracles: which channel asks for a category, and what its reports say about every category.

All oracles are alike: a report *supports* some categories, its user's own with probability $p$ (hit) and any other one
with probability $q$ (miss). If $f$ is the share of a category, a report supports it with probability
$r = fp + (1 - f)q$, so a fraction $s$ of $n$ reports that do gives the unbiased share [WBLJ17]

$$
\hat f = \frac{s - q}{p - q}, \qquad \operatorname{Var} \hat f = \frac{r(1 - r)}{n(p - q)^2}.
$$

| oracle | channel | report | good for |
| --- | --- | --- | --- |
| randomized response | `RandomizedResponse` | one or two bytes | few categories, or large ε |
| subset selection | `ChoiceResponse` on a block design | one byte | up to 31 categories, small ε |
| unary encoding | `UnaryEncoding` | one bit per category | up to 53 categories |
| local hashing | `LocalHashing` | two or three bytes | any number of categories |

`frequency_channel` compares them by this variance, exactly, from the integers of each channel, for categories that are
equally frequent ($f$ is one over their number). Every report is one integer below $2^{53}$, which all languages and
tables have.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp import _check
from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.channel import Channel
from hybriddp.channels.hashing import LocalHashing
from hybriddp.channels.response import ChoiceResponse, RandomizedResponse
from hybriddp.channels.unary import UnaryEncoding
from hybriddp.channels.window import MOST_CODES
from hybriddp.errors import ParameterError
from hybriddp.frequency import designs
from hybriddp.frequency.law import GroupShares

FrequencyChannel = RandomizedResponse | ChoiceResponse | UnaryEncoding | LocalHashing
"""What the devices of local users may do."""

MOST_BITS = 53
"""Categories that a unary report has a bit for: a larger integer is no number in JavaScript."""
_NEARLY = 1.01  # variances within this factor count as equal, and then the simpler oracle is chosen
_CLEARLY = 4.5  # standard errors of a share from which on its collisions are corrected, as in `LocalHashing`
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

    @property
    def count_bounds(self) -> tuple[float, float]:
        """Between which probabilities a report adds to each count, whatever its user's category is."""
        return self.miss, self.hit

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
        self._one = channel.miss_probability, channel.hit_probability
        total = 1 << channel.bits
        self.hit = k * (w.low + w.extra) / total
        self.miss = (k * w.low + designs.common_codes(n, k) * w.extra) / total

    @property
    def count_bounds(self) -> tuple[float, float]:
        return self._one

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

    @property
    def count_bounds(self) -> tuple[float, float]:
        channel = self._functions
        low = channel.window.low / (1 << channel.bits)
        return low / channel.n_functions, channel.hit_probability / channel.n_functions

    def randomize(self, categories: IntArray, random_state: int | np.random.Generator | None) -> NDArray[Any]:
        return self.channel.sample(categories, random_state=random_state)

    def shares(self, counts: IntArray, n_reports: int) -> FloatArray:
        channel = self._functions
        tally = counts.reshape(channel.n_functions, channel.n_values)
        return channel.corrected_counts(tally, np.arange(self.n_categories, dtype=np.uint64)) / n_reports

    def group_shares(self, counts: IntArray, n_reports: int) -> GroupShares:
        r"""Besides the reports, collisions add to the variance: those of categories too rare to be corrected.

        Their $\sum f^2$ is estimated from the shares: a squared one is too large by its variance, on average.
        """
        found = super().group_shares(counts, n_reports)
        squares, variance = found.shares**2, self.variance(0.0) / n_reports
        rare = squares <= _CLEARLY**2 * variance
        left = max(float(np.sum(squares[rare] - variance)), 0.0)
        return replace(found, noise=found.noise + self._functions.collision_variance(left))


# The choice -----------------------------------------------------------------------------------------------------------


def oracle_of(channel: Channel, n_categories: int) -> FrequencyOracle:
    """The oracle that a channel is for this many categories; `ParameterError` if it is none."""
    k = n_categories
    if isinstance(channel, RandomizedResponse) and channel.n_codes == k:
        return ResponseOracle(channel, k)
    if isinstance(channel, ChoiceResponse) and k <= designs.n_sets(channel.n_codes, channel.n_chosen):
        return SubsetOracle(channel, k)
    if isinstance(channel, UnaryEncoding) and channel.n_categories == k <= MOST_BITS:
        return UnaryOracle(channel, k)
    if isinstance(channel, LocalHashing):
        return HashingOracle(channel, k)
    raise ParameterError("channel", f"one that asks for one of {k:,} categories", channel)


def frequency_channel(epsilon: str, n_categories: int, *, max_bytes: int | None = None) -> FrequencyChannel:
    """The channel with the least variance for this many categories, of those with reports that are short enough.

    Variances within a percent count as equal; then the first one in the order of the table above is chosen.

    Parameters
    ----------
    epsilon : str
        What a report promises, as a decimal.
    n_categories : int
        How many categories there are, from 2.
    max_bytes : int, optional
        How long a report may be; if not given, as long as the best one is, which is never above 7.

    Examples
    --------
    >>> [type(frequency_channel("1", k)).__name__ for k in (2, 8, 12, 20, 10_000)]
    ['RandomizedResponse', 'RandomizedResponse', 'ChoiceResponse', 'UnaryEncoding', 'LocalHashing']
    >>> frequency_channel("1", 20, max_bytes=1)
    ChoiceResponse(epsilon='1', n_codes=32)
    """
    most = 8 if max_bytes is None else _check.integer("max_bytes", max_bytes, at_least=1)
    oracles = [oracle for oracle in candidates(epsilon, n_categories) if oracle.report_bytes <= most]
    if not oracles:
        remedy = "No report of so few bytes tells so many categories apart."
        raise ParameterError("max_bytes", f"larger for {n_categories:,} categories", max_bytes, remedy=remedy)
    share = 1 / n_categories
    least = min(oracle.variance(share) for oracle in oracles)
    return next(oracle.channel for oracle in oracles if oracle.variance(share) <= _NEARLY * least)


@lru_cache(maxsize=64)
def candidates(epsilon: str, n_categories: int) -> tuple[FrequencyOracle, ...]:
    """All oracles that there are for this many categories."""
    k = n_categories
    found: list[FrequencyOracle] = []
    if k <= MOST_CODES:
        found.append(oracle_of(RandomizedResponse(epsilon=epsilon, n_categories=k), k))
    for n_codes, n_chosen in designs.SHAPES:
        if k <= designs.n_sets(n_codes, n_chosen):
            found.append(oracle_of(ChoiceResponse(epsilon=epsilon, n_codes=n_codes, n_chosen=n_chosen), k))
    if k <= MOST_BITS:
        found.append(oracle_of(UnaryEncoding(epsilon=epsilon, n_categories=k), k))
    return (*found, oracle_of(LocalHashing(epsilon=epsilon), k))
