r"""Reports of one of $M$ symbols: which channel, what a count of reports says, and what a whole crowd reports.

A report supports its true symbol with probability $p$ and any other one with probability $q$, so that of $n$ users with
$c_v$ reports in support of symbol $v$

$$
\hat n_v = \frac{c_v - nq}{p - q}, \qquad \operatorname{Var} \hat n_v \approx nV, \quad V = \frac{q(1-q)}{(p-q)^2}.
$$

Randomized response has $V = (e^\epsilon + M - 2)/(e^\epsilon - 1)^2$, optimized unary encoding
$4e^\epsilon/(e^\epsilon - 1)^2$ whatever $M$ is [WBLJ17]: the first one is the better up to $M = 3e^\epsilon + 2$.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.choice import ChoiceResponse
from hybriddp.channels.response import RandomizedResponse
from hybriddp.channels.unary import BITS, UnaryEncoding
from hybriddp.randomness import ByteSource

SymbolChannel = RandomizedResponse | UnaryEncoding | ChoiceResponse


def symbol_channel(epsilon: str, n_symbols: int) -> SymbolChannel:
    """The channel with the least variance for this many symbols.

    Examples
    --------
    >>> symbol_channel("1", 8), symbol_channel("1", 12).n_categories
    (RandomizedResponse(epsilon='1', n_codes=8), 12)
    """
    if n_symbols < 3 * math.exp(float(epsilon)) + 2:
        return RandomizedResponse(epsilon=epsilon, n_categories=n_symbols)
    return UnaryEncoding(epsilon=epsilon, n_categories=n_symbols)


def symbol_variance(epsilon: float, n_symbols: int) -> float:
    """$V$ of the better channel: the variance that one user adds to the count of every symbol."""
    odds = math.exp(epsilon)
    return min(odds + n_symbols - 2, 4 * odds) / (odds - 1) ** 2


def n_symbols(channel: SymbolChannel) -> int:
    """How many symbols the channel has."""
    return channel.n_categories if isinstance(channel, UnaryEncoding) else channel.n_codes


def support(channel: SymbolChannel) -> tuple[float, float]:
    """$p$ and $q$: how likely a report is to support its own symbol, and any other one."""
    if isinstance(channel, UnaryEncoding):
        return channel.one / 2**BITS, channel.zero / 2**BITS
    window, total = channel.window, 2**channel.bits
    return (window.low + window.extra) / total, window.low / total


def symbol_counts(channel: SymbolChannel, supports: IntArray, users: IntArray) -> FloatArray:
    """Unbiased counts of the symbols themselves, from how many reports support each.

    Parameters
    ----------
    channel : SymbolChannel
        What the reports went through.
    supports : ndarray, shape (..., n_symbols)
        How many reports support each symbol.
    users : ndarray, shape (...)
        How many users reported.
    """
    p, q = support(channel)
    counts: FloatArray = (supports - q * np.asarray(users)[..., None]) / (p - q)
    return counts


def signed_variance(channel: SymbolChannel, n_signed: int, share: FloatArray | float) -> FloatArray | float:
    r"""The variance that one user adds to a sum of signs: to $\sum_v s_v \hat n_v$ over some of the symbols.

    With signs that cancel, a report counts $s_v/(p - q)$ for each symbol $v$ that it supports. Of $m$ symbols with a
    sign, held by a share $\pi$ of the users, the square of that has the mean

    $$
    \frac{m q}{(p - q)^2} + \frac{\pi}{p - q} \text{ (response)}, \qquad
    \frac{m q(1 - q)}{(p - q)^2} + \pi\frac{1 - 2q}{p - q} \text{ (unary)},
    $$

    from which the square of the mean, at most $\pi^2$, is not subtracted.

    Parameters
    ----------
    channel : SymbolChannel
        What the reports went through.
    n_signed : int
        $m$.
    share : float or ndarray
        $\pi$.
    """
    p, q = support(channel)
    if isinstance(channel, UnaryEncoding):
        return (n_signed * q * (1 - q) / (p - q) + share * (1 - 2 * q)) / (p - q)
    return (n_signed * q / (p - q) + share) / (p - q)


def supports_of(channel: SymbolChannel, reports: NDArray[np.unsignedinteger]) -> IntArray:
    """How many of the reports support each symbol."""
    if isinstance(channel, UnaryEncoding):
        return channel.ones(reports.astype(np.uint8, copy=False))
    return np.bincount(reports, minlength=channel.n_codes).astype(np.int64)


def crowd_supports(
    channel: SymbolChannel, symbols: NDArray[np.int64], which: NDArray[np.int64], n_questions: int, source: ByteSource
) -> IntArray:
    """What a crowd of devices reports, as counts: the law is that of one report per user, to the last bit.

    Parameters
    ----------
    channel : SymbolChannel
        What every report goes through.
    symbols, which : ndarray, shape (n,)
        Each user's symbol, and which question it answers.
    n_questions : int
        How many questions there are.
    source : ByteSource
        Where random bytes come from.

    Returns
    -------
    ndarray, shape (n_questions, n_symbols)
        How many reports support each symbol.
    """
    m = n_symbols(channel)
    if not isinstance(channel, UnaryEncoding):
        codes = channel.draw(len(symbols), lambda part: symbols[part], source)
        return np.bincount(which * m + codes, minlength=n_questions * m).reshape(n_questions, m).astype(np.int64)
    true = np.bincount(which * m + symbols, minlength=n_questions * m).reshape(n_questions, m).astype(np.int64)
    false = true.sum(axis=1, keepdims=True) - true
    # The bits of a report are independent, so a count of bits is a sum of two binomials.
    return binomials(true, channel.one, source) + binomials(false, channel.zero, source)


def binomials(trials: IntArray, weight: int, source: ByteSource) -> IntArray:
    r"""How many of ``trials`` uniform words of 32 bits are below ``weight``, exactly, for each of many counts.

    Words are compared with the weight bit by bit, the most significant first, and only those that agree so far go on.
    How many of $m$ bits are 1 is the number of ones in $m$ random bits, so 2 bits per trial are enough on average, and
    no word is ever written down.
    """
    below = np.zeros(trials.size, np.int64)
    undecided = trials.ravel().copy()
    for shift in range(BITS - 1, -1, -1):
        if not undecided.any():
            break
        ones = _coins(undecided, source)
        if weight >> shift & 1:  # a word with 0 here is below
            below += undecided - ones
            undecided = ones
        else:  # a word with 1 here is above
            undecided = undecided - ones
    return below.reshape(trials.shape)  # words that agree to the end are equal, not below


def _coins(tosses: IntArray, source: ByteSource) -> IntArray:
    """The number of heads in each of many rows of fair tosses."""
    words = np.maximum((tosses + 63) >> 6, 1)
    ends = np.cumsum(words)
    bits = source.take(8 * int(ends[-1])).view("<u8")
    used = tosses - 64 * (words - 1)  # of the last word of each row: 0 to 64
    mask = np.where(
        used > 0, np.uint64(0xFFFFFFFFFFFFFFFF) >> (64 - np.maximum(used, 1)).astype(np.uint64), np.uint64(0)
    )
    bits[ends - 1] &= mask
    heads: IntArray = np.add.reduceat(np.bitwise_count(bits), ends - words, dtype=np.int64)
    return heads
