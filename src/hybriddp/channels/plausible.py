r"""Plausibility: how many reports, at least, did not come out of the study's channel.

Whatever a user's value is, their report is in a set $A$ of codes with a probability between two public numbers, the
least and the largest over all rows of the channel. Users may differ, and are independent. By Hoeffding (1963,
theorem 1) the number $K$ of $n$ reports in $A$ then has

$$
P[K/n \ge x] \le e^{-n\,\mathrm{KL}(x \| p)} \quad\text{for } x \ge p,
$$

$p$ being the largest probability and $\mathrm{KL}$ the divergence of Bernoulli laws; likewise below the least one. So,
with a union bound over $M$ sets and both sides, all of them have at most $q(A)$ reports but for a probability of
$\alpha$, where $q(A)$ is the largest $k$ with $n\,\mathrm{KL}(k/n \| p) \le \log(2M/\alpha)$.

**How many are wrong.** Let some reports be replaced, whichever, by whoever has seen them all. Each of them adds at most
1 to a set, so at least $K - q(A)$ were, in every $A$ at once. A report is in one of several *disjoint* sets at most, so
that the surpluses of these add up, and so do the shortages below; a replaced report may cause one of each. The larger
of the two sums is a **lower bound of the number of wrong reports**, which is too large with a probability of $\alpha$
at most. It is post-processing of the reports, and as private as they are.

Rows of bits have a test of their own, of the total of their ones (`hybriddp.channels.ones`). Masked reports have two. A
report has a given pattern and code with a probability between $\pi a$ and $\pi(a + b)$, where $\pi$ is that of the
pattern: too many of one kind are those of people who have agreed on it. And of the $n_k$ reports of pattern $k$ each
has a given code with probability $a + b$ at most: raw labels have more, and so have reports of a larger ε about values
that hardly vary. For this one, it must be settled who sends wrong reports before anybody draws a pattern.

It does not see wrong reports that look like real ones, of which there may be any number. It counts what was replaced or
added: if somebody holds back reports by what they are, so that the others look wrong, it says so many, too.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.channel import Channel
from hybriddp.channels.hashing import LocalHashing
from hybriddp.channels.masked import MaskedResponse
from hybriddp.channels.ones import OnesLaw, wrong_in_ones
from hybriddp.channels.response import SymbolChannel
from hybriddp.errors import ParameterError
from hybriddp.reporting.wording import counted

__all__ = [
    "FALSE_ALARM",
    "REMEDY",
    "Surpluses",
    "bernoulli_divergence",
    "count_surpluses",
    "implausible_words",
    "short_doubt",
    "wrong_in_codes",
    "wrong_in_counts",
    "wrong_in_intervals",
    "wrong_in_supports",
]

FALSE_ALARM = 5e-7
"""The probability that real reports look wrong, of each of the two tests that a study makes at most."""
REMEDY = "Nothing was released now. Summarize the reports of this study: study.randomize makes them."


class Surpluses(NamedTuple):
    """By how many reports each set has more than any users can send, and by how many fewer; 0 where it is plausible."""

    above: IntArray
    below: IntArray


def count_surpluses(
    counts: ArrayLike, n: ArrayLike, least: ArrayLike, most: ArrayLike, *, false_alarm: float = FALSE_ALARM
) -> Surpluses:
    """Compute the surpluses and deficits in the counts of all sets together.

    Each set could contain up to ``n`` reports.

    Parameters
    ----------
    counts : array
        Number of reports in each set.
    n : int or array
        Number of reports that each set could contain.
    least, most : float or array
        Bounds of the probability that a report is in each set, for every value of its user.
    false_alarm : float
        Largest probability that real reports have a surplus anywhere.

    Examples
    --------
    >>> count_surpluses([260, 240], 500, 0.4, 0.6)
    Surpluses(above=array([0, 0]), below=array([0, 0]))
    >>> count_surpluses([420, 80], 500, 0.4, 0.6)
    Surpluses(above=array([60,  0]), below=array([ 0, 60]))
    """
    k, users = np.asarray(counts, np.int64), np.broadcast_to(np.asarray(n, np.int64), np.shape(counts))
    low, high = (np.broadcast_to(np.asarray(p, np.float64), k.shape) for p in (least, most))
    limit = math.log(2 * max(k.size, 1) / false_alarm)
    return Surpluses(_surplus(k, users, high, limit), _surplus(users - k, users, 1 - low, limit))


def wrong_in_codes(found: Surpluses, *, disjoint: bool = True) -> int:
    """At least so many reports are wrong, if the sets are codes, of which a report has one; else of which it has any.

    Examples
    --------
    >>> found = Surpluses(np.array([3, 0, 2]), np.array([0, 4, 0]))
    >>> wrong_in_codes(found), wrong_in_codes(found, disjoint=False)
    (5, 4)
    """
    if disjoint:
        return max(int(found.above.sum()), int(found.below.sum()))
    return max(int(found.above.max(initial=0)), int(found.below.max(initial=0)))


def wrong_in_supports(
    channel: SymbolChannel, supports: IntArray, users: IntArray, *, false_alarm: float = FALSE_ALARM
) -> int:
    """Bound from below the number of forged reports to a channel of symbols, by its kind.

    Reports of one code have disjoint sets. Of rows of bits, each bit is tested, and the total of all bits
    (`hybriddp.channels.ones`). Reports in different variants are different ones, so that their bounds add up, if it was
    settled who forges before anybody drew a variant.

    Parameters
    ----------
    channel : SymbolChannel
        The channel of the reports.
    supports : array of int, shape (n_variants, n_symbols)
        Number of reports that have each code or bit, in each variant of a question.
    users : array of int, shape (n_variants,)
        Number of reports in each variant.
    false_alarm : float
        Largest probability of a bound above 0 if all reports are real, all tests together.

    Examples
    --------
    >>> from hybriddp.channels import RandomizedResponse, UnaryEncoding
    >>> channel = RandomizedResponse(epsilon=1, n_categories=4)  # a report has a code with probability .475 at most
    >>> wrong_in_supports(channel, np.array([[700, 100, 100, 100]]), np.array([1000]))
    134
    >>> channel = UnaryEncoding(epsilon=1, n_categories=4)  # and a row has 1.31 ones on average
    >>> wrong_in_supports(channel, np.array([[450, 450, 450, 450]]), np.array([1000]))
    82
    """
    level = false_alarm / 2 if channel.sends_bits else false_alarm
    most, least = channel.hit_probability, channel.miss_probability
    found = count_surpluses(supports, users[:, np.newaxis], least, most, false_alarm=level)
    rows = (Surpluses(*pair) for pair in zip(found.above, found.below, strict=True))
    wrong = sum(wrong_in_codes(row, disjoint=not channel.sends_bits) for row in rows)
    if not channel.sends_bits:
        return wrong
    law = OnesLaw(channel.n_symbols, hit=most, miss=least)
    return max(wrong, wrong_in_ones(int(supports.sum()), int(users.sum()), law, false_alarm=level))


def wrong_in_counts(channel: Channel, counts: IntArray, n_reports: int) -> int:
    """Bound from below the number of forged reports to the channel of a study, all of its tests together.

    ``counts`` are those of all codes, or bits.
    """
    if isinstance(channel, SymbolChannel):
        users = np.array([n_reports])
        return wrong_in_supports(channel, counts[np.newaxis], users, false_alarm=2 * FALSE_ALARM)
    if isinstance(channel, MaskedResponse):
        codes = counts.reshape(channel.n_patterns, channel.n_labels)
        asked, users = channel.pattern_probabilities[:, np.newaxis], codes.sum(axis=1, keepdims=True)
        least, most = channel.response.miss_probability, channel.response.hit_probability
        kinds = count_surpluses(codes, n_reports, least * asked, most * asked)
        labels = count_surpluses(codes, np.broadcast_to(users, codes.shape), 0.0, most)
        return max(wrong_in_codes(kinds), wrong_in_codes(labels))
    if isinstance(channel, LocalHashing):
        least, most = channel.code_bounds
        return wrong_in_codes(count_surpluses(counts, n_reports, least, most, false_alarm=2 * FALSE_ALARM))
    raise ParameterError("channel", "one for categories or for bins", channel)


def wrong_in_intervals(found: Surpluses, start: IntArray, end: IntArray) -> int:
    """Return a lower bound on the number of wrong reports, from intervals of codes.

    ``end`` is excluded. The disjoint intervals with the largest total surplus determine the bound.
    """
    return max(_heaviest(found.above, start, end), _heaviest(found.below, start, end))


def implausible_words(at_least: int, n_reports: int) -> list[str]:
    """Return the warning to show before an answer.

    The list is empty if all reports are plausible.

    Examples
    --------
    >>> implausible_words(0, 300)
    []
    >>> print(implausible_words(3, 300)[0][:87])
    WARNING: at least 3 of the 300 local reports cannot come from this study's channel, and
    """
    if not at_least:
        return []
    return [
        f"WARNING: at least {at_least:,} of the {counted(n_reports, 'local report')} cannot come from this study's "
        "channel, and there may be more that look real. Whoever sent them chose what they say, and no interval allows "
        "for that: the answer may be off by more than it states. Find the app version or the relay that they came "
        "from before you use it, and ask again without that one."
    ]


def short_doubt(at_least: int) -> str:
    """Return the part of a ``repr`` about implausible reports."""
    return f", at least {counted(at_least, 'implausible report')}" if at_least else ""


def bernoulli_divergence(x: ArrayLike, p: ArrayLike) -> FloatArray:
    """KL divergence of Bernoulli laws with these probabilities of 1; infinite where p is 0 or 1 and x is not."""
    x, p = np.asarray(x, np.float64), np.asarray(p, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(x > 0, x * np.log(x / p), 0.0)
        other = np.where(x < 1, (1 - x) * np.log((1 - x) / (1 - p)), 0.0)
    return np.asarray(one + other)


def _surplus(k: IntArray, n: IntArray, p: FloatArray, limit: float) -> IntArray:
    """By how many each count exceeds the largest one that is plausible."""
    found = np.zeros_like(k)
    some = ~_plausible(k, n, p, limit)
    if some.any():
        found[some] = k[some] - _largest_plausible(n[some], p[some], limit)
    return found


def _plausible(k: IntArray, n: IntArray, p: FloatArray, limit: float) -> NDArray[np.bool_]:
    x = k / np.maximum(n, 1)
    with np.errstate(invalid="ignore"):  # of no reports, none is plausible whatever the divergence
        return np.asarray((x <= p) | (n * bernoulli_divergence(x, p) <= limit))


def _largest_plausible(n: IntArray, p: FloatArray, limit: float) -> IntArray:
    """$q$: by bisection, since the divergence grows with the count."""
    low, high = np.floor(n * p).astype(np.int64), n.copy()
    while np.any(low < high):
        middle = low + (high - low + 1) // 2
        fine = _plausible(middle, n, p, limit)
        low, high = np.where(fine, middle, low), np.where(fine, high, middle - 1)
    return np.asarray(low)


def _heaviest(weight: IntArray, start: IntArray, end: IntArray) -> int:
    """Compute the largest total weight of intervals that do not overlap.

    This is dynamic programming over the ends of the intervals.
    """
    heavy = np.flatnonzero(weight)
    if not heavy.size:
        return 0
    order = heavy[np.argsort(end[heavy], kind="stable")]
    best = [0] * (int(end[order[-1]]) + 1)  # of intervals that end up to here
    reached = 0
    for first, last, more in zip(start[order].tolist(), end[order].tolist(), weight[order].tolist(), strict=True):
        if last > reached:
            best[reached + 1 : last + 1] = [best[reached]] * (last - reached)
            reached = last
        best[last] = max(best[last], best[first] + more)
    return best[reached]
