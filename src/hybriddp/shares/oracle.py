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
from hybriddp.grid import read_only
from hybriddp.shares import designs
from hybriddp.shares.law import GroupShares

FrequencyChannel = RandomizedResponse | ChoiceResponse | UnaryEncoding | LocalHashing
"""What the devices of local users may do."""

MOST_BITS = 53
"""Categories that a unary report has a bit for: a larger integer is no number in JavaScript."""
_NEARLY = 1.01  # variances within this factor count as equal, and then the simpler oracle is chosen
_CLEARLY = 4.5  # standard errors of a share from which on its collisions are corrected, as in `LocalHashing`
_MOST_SOLVED = 512  # categories of which all collisions are corrected
_LEAST_FREEDOM = 32
_UNPACKED = 1 << 15  # unary reports taken apart at a time


class FrequencyOracle:
    """A channel read as an oracle for the shares of ``n_categories`` categories."""

    single: bool = False
    """Whether a report always supports exactly one category."""

    def __init__(self, channel: FrequencyChannel, n_categories: int) -> None:
        self.channel, self.n_categories = channel, n_categories

    @property
    def hit(self) -> float:
        """$p$: how likely a report is to support its own category."""
        return self.channel.hit_probability

    @property
    def miss(self) -> float:
        """$q$: how likely a report is to support any other one."""
        return self.channel.miss_probability

    def variance(self, share: float) -> float:
        r"""Compute $n \operatorname{Var} \hat f$ for a category of this share."""
        r = share * self.hit + (1 - share) * self.miss
        return r * (1 - r) / (self.hit - self.miss) ** 2

    def randomize(self, categories: IntArray, random_state: int | np.random.Generator | None) -> NDArray[Any]:
        """Draw one report for each category, given by its number."""
        return self.channel.sample(categories, random_state=random_state)

    def tally(self, codes: NDArray[Any]) -> IntArray:
        """Count valid reports, by code or by bit; counts add up."""
        return np.bincount(codes.astype(np.int64, copy=False), minlength=self.channel.n_codes).astype(np.int64)

    def supports(self, counts: IntArray) -> IntArray:
        """Count the reports that support each category."""
        return counts

    def shares(self, counts: IntArray, n_reports: int) -> FloatArray:
        """Estimate the share of every category without bias."""
        shares: FloatArray = (self.supports(counts) / n_reports - self.miss) / (self.hit - self.miss)
        return shares

    def group_shares(self, counts: IntArray, n_reports: int) -> GroupShares:
        """Estimate the shares, and how they vary."""
        shares = self.shares(counts, n_reports)
        return GroupShares.of_reports(shares, n_reports, hit=self.hit, miss=self.miss, single=self.single)


class ResponseOracle(FrequencyOracle):
    """Randomized response: a report supports the category that it is."""

    single = True


class SubsetOracle(FrequencyOracle):
    """Subset selection by a block design: a report supports every category whose set has its code."""

    channel: ChoiceResponse

    @property
    def _shape(self) -> tuple[int, int]:
        return self.channel.n_codes, self.channel.n_chosen

    @property
    def hit(self) -> float:
        w = self.channel.window
        return w.width * (w.low + w.extra) / (1 << w.bits)

    @property
    def miss(self) -> float:
        w = self.channel.window
        return (w.width * w.low + designs.common_codes(*self._shape) * w.extra) / (1 << w.bits)

    def randomize(self, categories: IntArray, random_state: int | np.random.Generator | None) -> NDArray[Any]:
        return self.channel.sample(designs.code_sets(*self._shape)[categories], random_state=random_state)

    def supports(self, counts: IntArray) -> IntArray:
        return np.asarray(designs.membership(*self._shape)[: self.n_categories] @ counts)


class UnaryOracle(FrequencyOracle):
    """Unary encoding: bit *i* of a report, which is one integer, supports category *i*."""

    def randomize(self, categories: IntArray, random_state: int | np.random.Generator | None) -> NDArray[Any]:
        rows = self.channel.sample(categories, random_state=random_state)
        codes = np.zeros((len(rows), 8), np.uint8)
        codes[:, : rows.shape[1]] = rows
        return codes.view("<u8")[:, 0].astype(np.int64)

    def tally(self, codes: NDArray[Any]) -> IntArray:
        counts = np.zeros(self.n_categories, np.int64)
        for start in range(0, len(codes), _UNPACKED):
            rows = codes[start : start + _UNPACKED].astype("<u8").view(np.uint8).reshape(-1, 8)
            bits = np.unpackbits(rows, axis=1, count=self.n_categories, bitorder="little")
            counts += bits.sum(axis=0, dtype=np.int64)
        return counts


class HashingOracle(FrequencyOracle):
    """Local hashing of the categories' numbers."""

    channel: LocalHashing

    @property
    def _solves(self) -> bool:
        """Whether there are so few categories that all of their collisions can be corrected."""
        channel = self.channel
        freedom = channel.n_functions * (channel.n_values - 1)
        return self.n_categories <= min(_MOST_SOLVED, freedom // _LEAST_FREEDOM)

    def shares(self, counts: IntArray, n_reports: int) -> FloatArray:
        r"""With few categories all collisions are corrected, with many those of the frequent ones.

        If $c_{xz}$ is the fraction of functions under which $x$ and $z$ collide and $q'$ the probability of a wrong
        value, a report supports $x$ with probability $q' + (p - q') \sum_z c_{xz} f_z$: a linear system. Solving it
        costs as many degrees of freedom as there are categories, of $F(G - 1)$; up to a 32nd is worth it.
        """
        channel = self.channel
        tally, keys = counts.reshape(channel.n_functions, channel.n_values), _keys(self.n_categories)
        if not self._solves:
            return channel.corrected_counts(tally, keys) / n_reports
        wrong, collide = channel.window.outside, channel.family.collision_probability
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
            freedom = self.channel.n_functions * (self.channel.n_values - 1)
            return replace(found, noise=found.noise / (1 - self.n_categories / freedom))
        squares, variance = found.shares**2, self.variance(0.0) / n_reports
        rare = squares <= _CLEARLY**2 * variance
        left = max(float(np.sum(squares[rare] - variance)), 0.0)
        return replace(found, noise=found.noise + self.channel.collision_variance(left))


def _keys(n_categories: int) -> NDArray[np.uint64]:
    return np.arange(n_categories, dtype=np.uint64)


@lru_cache(maxsize=4)
def _collisions(channel: LocalHashing, n_categories: int) -> FloatArray:
    """Compute the fraction of functions under which two categories collide.

    The result has an entry for each pair of categories.
    """
    values = channel.family.table(_keys(n_categories))
    total = np.zeros((n_categories, n_categories), np.float64)
    for value in range(channel.n_values):
        held = (values == value).astype(np.float32)  # sums of ones, exact below 2^24
        total += held.T @ held
    return read_only(total / channel.n_functions)


def oracle_of(channel: Channel, n_categories: int) -> FrequencyOracle:
    """Return the frequency oracle of a channel for this number of categories.

    Raises `ParameterError` if the channel is not a frequency oracle.
    """
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
    """Return the channel with the least variance for this number of categories.

    Only channels with reports that are short enough are considered.

    Variances within a percent count as equal. In this case the first channel in the order of the table above is chosen.

    Parameters
    ----------
    epsilon : str
        The ε of a report, as a decimal.
    n_categories : int
        Number of categories, at least 2.
    max_bytes : int, optional
        Largest length of a report; if not given, the length of the best channel's reports, which is at most 7.

    Examples
    --------
    >>> [type(frequency_channel("1", k)).__name__ for k in (2, 8, 12, 20, 10_000)]
    ['RandomizedResponse', 'RandomizedResponse', 'ChoiceResponse', 'UnaryEncoding', 'LocalHashing']
    >>> frequency_channel("1", 20, max_bytes=1)
    ChoiceResponse(epsilon='1', n_codes=32)
    """
    most = 8 if max_bytes is None else _check.integer("max_bytes", max_bytes, at_least=1)
    oracles = [oracle for oracle in candidates(epsilon, n_categories) if oracle.channel.report_bytes <= most]
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
