r"""Whether reports can have come out of the study's channel: checked before anything is spent.

Every report is drawn from a mixture of the channel's rows, whatever its user's value is. So for any set $A$ of codes
the probability that a report is in $A$ lies between $\min_j P_j(A)$ and $\max_j P_j(A)$, *for every user*; users may
differ, and are independent. By Hoeffding (1963, theorem 1) the number $K$ of $n$ reports in $A$ then has

$$
P[K/n \ge x] \le e^{-n\,\mathrm{KL}(x \| \max_j P_j(A))} \quad\text{for } x \ge \max_j P_j(A),
$$

and likewise below the minimum, $\mathrm{KL}$ between Bernoulli laws. Here $A$ runs over all intervals of codes, which
is what the rows of a window channel are made of: codes of a larger ε are too many in a window, raw values are too many
on some codes and too few elsewhere, a constant is all on one. With a union bound over all of them no set of real
reports is refused with a probability above $10^{-6}$, at any number of users, whatever their values are.

The mean of the reports has a test of its own. The mean of the users' values lies within the bounds, so a mean of the
reports outside of them is noise alone, which Bernstein's inequality bounds (Chernoff's for Laplace noise).

No test can tell codes of a *smaller* ε, which look like values that vary a lot: for that, reports carry the digest of
their study (`Reports`).
"""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray
from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.channels.window import Window, WindowChannel
from hybriddp.errors import DataError
from hybriddp.grid import UNITS
from hybriddp.mean.summary import LaplaceSummary, LocalSummary

if TYPE_CHECKING:
    from hybriddp.mean.study import MeanStudy

FALSE_ALARM = 5e-7
"""Of each of the two tests."""
_STANDARD_ERRORS = 6.0
_ALL_LENGTHS = 512  # up to so many codes intervals of all lengths are looked at
_REMEDY = "Nothing was released. Summarize the reports of this study: study.randomize makes them."


def check_belongs(study: "MeanStudy", reports: LocalSummary | LaplaceSummary | None) -> None:
    """Raise `DataError` if no users at all can have sent these reports through the study's channel."""
    if reports is None or not reports.count:
        return
    channel = study.channel
    if isinstance(reports, LocalSummary) and isinstance(channel, WindowChannel):
        counts = np.array(reports.counts, np.int64)
        suspect = _too_concentrated(counts, channel.window)
        if suspect:
            raise DataError(f"The local reports cannot come from this study's channel: {suspect}. {_REMEDY}")
        mean = float(counts @ channel.values) / reports.count
        outside = max(-mean, mean - 1.0, 0.0) - float(channel.worst_bias)
        impossible = _beyond_bernstein(outside, reports.count, channel)
    elif isinstance(reports, LaplaceSummary) and isinstance(channel, DiscreteLaplace):
        mean = reports.total / (reports.count * UNITS)
        outside = max(-mean, mean - 1.0, 0.0)
        impossible = _beyond_chernoff(outside, reports.count, channel)
    else:
        return
    if impossible:
        raise DataError(
            f"The mean of the local reports lies more than {_STANDARD_ERRORS:g} standard errors outside of the bounds, "
            f"which no values within them can give: the reports are those of another study, or raw values. {_REMEDY}"
        )


# Intervals of codes -------------------------------------------------------------------------------------------------


def _too_concentrated(counts: NDArray[np.int64], window: Window) -> str | None:
    """What the counts look like, if they are no mixture of the channel's rows; None if they may be one."""
    n, start, end = int(counts.sum()), *_intervals(window.n_codes, window.width)
    total = np.concatenate([[0], np.cumsum(counts)])
    share = (total[end] - total[start]) / n
    low, high = _probabilities(window, start, end)
    limit = math.log(2 * len(start) / FALSE_ALARM) / n
    above = (share > high) & (_divergence(share, high) > limit)
    below = (share < low) & (_divergence(share, low) > limit)
    if not (above.any() or below.any()):
        return None
    if counts.max() > 0.9 * n:
        return "nearly all of them are the same code, so they look like a constant"
    return "they are too concentrated, so they look like raw values, or like codes of a larger ε"


def _intervals(n_codes: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts and ends (excluded) of the intervals that are looked at: all, or those of some lengths."""
    if n_codes <= _ALL_LENGTHS:
        start, end = np.triu_indices(n_codes + 1, 1)
        return start, end
    lengths = sorted({width, *(1 << i for i in range(n_codes.bit_length() - 1))})
    start = np.concatenate([np.arange(n_codes - length + 1) for length in lengths])
    return start, start + np.repeat(lengths, [n_codes - length + 1 for length in lengths])


def _probabilities(window: Window, start: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    r"""The least and the largest probability of each interval over all rows.

    A row gives $a$ to each code and $b$ more to those in its window, which can lie anywhere: an interval shares at most
    $\min(\text{length}, k)$ codes with it, and least with the first or the last one.
    """
    n, k, a, b = window.n_codes, window.width, window.low, window.extra
    length, draws = end - start, float(1 << window.bits)
    first = np.clip(np.minimum(k, end) - start, 0, None)
    last = np.clip(end - np.maximum(n - k, start), 0, None)
    least, most = np.minimum(first, last), np.minimum(length, k)
    return (length * a + least * b) / draws, np.minimum((length * a + most * b) / draws, 1.0)


def _divergence(x: FloatArray, p: FloatArray) -> FloatArray:
    """KL between Bernoulli laws; infinite where p is 0 or 1 and x is not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(x > 0, x * np.log(x / p), 0.0)
        other = np.where(x < 1, (1 - x) * np.log((1 - x) / (1 - p)), 0.0)
    result: FloatArray = one + other
    return result


# The mean -----------------------------------------------------------------------------------------------------------


def _beyond_bernstein(outside: float, n: int, channel: WindowChannel) -> bool:
    r"""Whether a mean this far outside is noise with a probability of at most a false alarm.

    Bernstein: $P[\text{mean} - E \ge t] \le e^{-n t^2 / (2 V + 2 M t / 3)}$ for terms within $M$ of their mean.
    """
    if outside <= 0:
        return False
    variance, reach = channel.worst_variance, (1 + channel.largest_value) / 2
    exponent = n * outside**2 / (2 * variance + 2 * reach * outside / 3)
    return outside > _STANDARD_ERRORS * math.sqrt(variance / n) and exponent > math.log(2 / FALSE_ALARM)


def _beyond_chernoff(outside: float, n: int, channel: DiscreteLaplace) -> bool:
    r"""The same for a mean of Laplace noises of scale $b$.

    Their moment generating function is at most $1/(1 - b^2 s^2)$, so $P[\text{mean} \ge t] \le e^{-n h(t/b)}$ with
    $h(\tau) = r - 1 + \log\frac{2 (r - 1)}{\tau^2}$ and $r = \sqrt{1 + \tau^2}$.
    """
    if outside <= 0:
        return False
    variance = channel.noise_variance
    tau = outside / math.sqrt(variance / 2)
    r = math.sqrt(1 + tau * tau)
    exponent = n * (r - 1 + math.log(2 / (r + 1)))  # (r - 1)/τ² = 1/(r + 1)
    return outside > _STANDARD_ERRORS * math.sqrt(variance / n) and exponent > math.log(2 / FALSE_ALARM)
