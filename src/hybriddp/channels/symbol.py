r"""Channels for one of $M$ symbols, or for a set of them: what a tally of reports says.

A report *supports* its own symbol with probability $p$ (hit) and any other one with probability $q$ (miss). If $c_v$ of
$n$ reports support symbol $v$, then [WBLJ17]

$$
\hat n_v = \frac{c_v - nq}{p - q}, \qquad \operatorname{Var} \hat n_v \approx nV, \quad V = \frac{q(1-q)}{(p-q)^2}.
$$
"""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.channel import FiniteChannel
from hybriddp.randomness import ByteSource


class SymbolChannel(FiniteChannel):
    """A channel whose report supports some of the symbols that there are."""

    sends_bits: ClassVar[bool] = False
    """Whether a report is a row of bytes with one bit per symbol; if not, it is one code."""

    @property
    @abstractmethod
    def n_symbols(self) -> int:
        """$M$: how many symbols there are."""

    @property
    def n_chosen(self) -> int | None:
        """How many symbols an input is, given as the bits of an integer; None if it is one symbol."""
        return None

    @property
    def report_bytes(self) -> int:
        """How many bytes a report has."""
        return self.code_type.itemsize

    @property
    @abstractmethod
    def hit_probability(self) -> float:
        """$p$: how likely a report is to support its own symbol."""

    @property
    @abstractmethod
    def miss_probability(self) -> float:
        """$q$: how likely a report is to support any other symbol."""

    @property
    def gap(self) -> float:
        """$p - q$: by how much counts shrink."""
        return self.hit_probability - self.miss_probability

    @property
    def count_variance(self) -> float:
        """$V$: the variance that one user adds to the unbiased count of every symbol."""
        return self.miss_probability * (1 - self.miss_probability) / self.gap**2

    @abstractmethod
    def signed_variance(self, n_signed: int, fraction: FloatArray | float) -> FloatArray | float:
        r"""The variance that one user adds to $\sum_v s_v \hat n_v$, a sum of $m$ counts with signs that cancel.

        It is the mean square of what a report adds, $s_v/(p - q)$ for each symbol $v$ that it supports, if a
        ``fraction`` $\pi$ of the users hold one of these; the square of the mean, at most $\pi^2$, is not subtracted.
        """

    def unbiased_counts(self, supports: IntArray, users: IntArray) -> FloatArray:
        r"""$\hat n$, shape (..., n_symbols), from how many of the reports of ``users``, shape (...), support each."""
        return (supports - self.miss_probability * np.asarray(users)[..., None]) / self.gap

    def tally(self, reports: NDArray[Any], groups: IntArray, n_groups: int) -> tuple[IntArray, IntArray]:
        """How many reports support each symbol, shape (n_groups, n_symbols), and how many there are, in each group.

        Reports that no device sends, or of a group that is not from 0 to below ``n_groups``, are left out.
        """
        good = (groups >= 0) & (groups < n_groups) & self.valid_reports(reports)
        groups = groups[good]
        users = np.bincount(groups, minlength=n_groups).astype(np.int64)
        return self.supports(reports[good], groups, n_groups), users

    @abstractmethod
    def valid_reports(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of these a device may have sent."""

    @abstractmethod
    def supports(self, reports: NDArray[Any], groups: IntArray, n_groups: int) -> IntArray:
        """How many of these valid reports support each symbol, shape (n_groups, n_symbols)."""

    @abstractmethod
    def simulate_supports(self, symbols: IntArray, groups: IntArray, n_groups: int, source: ByteSource) -> IntArray:
        """What `supports` says of reports on these inputs: drawn in bulk, by the law of one report per user exactly."""
