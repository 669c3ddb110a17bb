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

from functools import lru_cache

from hybriddp import _check
from hybriddp.channels.channel import Channel
from hybriddp.channels.hashing import LocalHashing
from hybriddp.channels.response import ChoiceResponse, RandomizedResponse
from hybriddp.channels.unary import UnaryEncoding
from hybriddp.channels.window import MOST_CODES
from hybriddp.errors import ParameterError
from hybriddp.shares import designs
from hybriddp.shares.oracles import (
    FrequencyChannel,
    FrequencyOracle,
    HashingOracle,
    ResponseOracle,
    SubsetOracle,
    UnaryOracle,
)

MOST_BITS = 53
"""Categories that a unary report has a bit for: a larger integer is no number in JavaScript."""
_NEARLY = 1.01  # variances within this factor count as equal, and then the simpler oracle is chosen


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
