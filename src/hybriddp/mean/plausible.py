r"""Whether reports can have come out of a mean's channel, and whether they agree with what is known of the spread.

Every report is drawn from a mixture of the channel's rows, whatever its user's value is. So the sets of
`hybriddp.channels.plausible` are here all intervals of codes, which is what the rows of a window channel are made of:
codes of a larger ε are too many in a window, raw values are too many on some codes and too few elsewhere, a constant is
all on one, and so are the reports of people who have agreed on one.

The mean of the reports has a test of its own. The mean of the users' values lies within the bounds, so a mean of the
reports outside of them is noise alone, which Bernstein's inequality bounds. By how much it exceeds that, over what a
single report can move, is a lower bound of the number of wrong reports, too.

Together no real reports are called wrong with a probability above $10^{-6}$, at any number of users, whatever their
values are. No test can tell codes of a *smaller* ε, which look like values that vary a lot: for that, `Reports` carry
the digest of their study.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray
from hybriddp.channels.plausible import FALSE_ALARM, count_surpluses, wrong_in_intervals
from hybriddp.channels.window import Window
from hybriddp.channels.window_channel import WindowChannel
from hybriddp.study.groups import Forged
from hybriddp.study.summary import LocalSummary

if TYPE_CHECKING:
    from hybriddp.mean.study import MeanStudy

_LARGEST_VARIANCE = 0.25  # of values on [0, 1] (Popoviciu)
_STANDARD_ERRORS = 6.0
_CONSTANT = 0.9  # a fraction of all reports that have one code


def forged_codes(channel: WindowChannel, local: LocalSummary) -> Forged:
    """Test reports, of which there are some, against the channel."""
    counts = local.array()
    outside = _outside(float(counts @ channel.values) / local.count) - float(channel.worst_bias)
    beyond = outside - _bernstein_limit(local.count, channel)
    tests = (_doubt_codes(counts, channel.window), _doubt_mean(beyond, local.count, float(np.ptp(channel.values))))
    words = next((forged.words for forged in tests if forged.count), "")
    return Forged(max(forged.count for forged in tests), words)


def _doubt_codes(counts: NDArray[np.int64], window: Window) -> Forged:
    """Describe the counts if they are no mixture of the channel's rows."""
    n, (start, end) = int(counts.sum()), np.triu_indices(window.n_codes + 1, 1)  # all intervals, the ends excluded
    total = np.concatenate([[0], np.cumsum(counts)])
    found = count_surpluses(total[end] - total[start], n, *_probabilities(window, start, end))
    looks = (
        "nearly all of them are the same code, so they look like a constant"
        if counts.max() > _CONSTANT * n
        else "they are too concentrated, so they look like raw values, or like codes of a larger ε"
    )
    words = f"The local reports cannot come from this study's channel: {looks}."
    return Forged(wrong_in_intervals(found, start, end), words)


def _doubt_mean(beyond: float, n: int, reach: float) -> Forged:
    """Describe a mean that is farther outside than noise can explain.

    One report moves the sum of all reports by at most ``reach``.
    """
    words = (
        f"The mean of the local reports lies more than {_STANDARD_ERRORS:g} standard errors outside of the bounds, "
        "which no values within them can give: the reports are those of another study, or raw values."
    )
    return Forged(max(math.ceil(n * beyond / reach), 1) if beyond > 0 else 0, words)


def _probabilities(window: Window, start: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    r"""Compute bounds of the probability of each interval over all rows.

    A row gives $a$ to each code and $b$ more to those in its window, which can lie anywhere: an interval has at most
    $\min(\text{length}, k)$ codes in common with it, and least with the first or the last one.
    """
    n, k, a, b = window.n_codes, window.width, window.low, window.extra
    length, draws = end - start, float(1 << window.bits)
    first = np.clip(np.minimum(k, end) - start, 0, None)
    last = np.clip(end - np.maximum(n - k, start), 0, None)
    least, most = np.minimum(first, last), np.minimum(length, k)
    return (length * a + least * b) / draws, np.minimum((length * a + most * b) / draws, 1.0)


def _outside(mean: float) -> float:
    """By how much a mean lies outside of the unit range."""
    return max(-mean, mean - 1.0, 0.0)


def _bernstein_limit(n: int, channel: WindowChannel) -> float:
    r"""Compute the largest distance outside that noise can explain.

    Noise exceeds the limit at most with the probability of a false alarm. The limit is at least six standard errors.

    Bernstein: $P[\text{mean} - E \ge t] \le e^{-n t^2 / (2 V + 2 M t / 3)}$ for terms within $M$ of their mean.
    """
    variance, third = channel.worst_variance, (1 + channel.largest_value) / 6
    limit = math.log(2 / FALSE_ALARM)
    far = (third * limit + math.sqrt((third * limit) ** 2 + 2 * variance * limit * n)) / n
    return max(far, _STANDARD_ERRORS * math.sqrt(variance / n))


def spread_is_refuted(study: "MeanStudy", local: LocalSummary | None) -> bool:
    r"""Whether the reports vary more than public knowledge said, by three standard errors.

    The estimate has the divisor $n_L - 1$, and squared deviations vary by up to $s - s^2$ (`VarianceEvidence`); reports
    add what the channel does to them at worst, so that few reports that happen to agree are not sure of themselves.
    """
    limit = study.variance_at_most
    if limit >= _LARGEST_VARIANCE or local is None or local.count < 2:
        return False
    n, channel, statistics = local.count, study.channel, study.decode(local)
    influence = channel.square_values - 2 * statistics.mean * channel.values
    noise = float((channel.probabilities @ influence**2 - (channel.probabilities @ influence) ** 2).max())
    error = math.sqrt((noise + limit - limit**2) / n)
    allowed = limit * n / (n - 1) + channel.worst_rounding_variance
    return statistics.variance - 3 * error > allowed
