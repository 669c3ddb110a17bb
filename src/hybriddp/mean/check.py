r"""First step of an estimate: everything is checked before anything is spent.

Among it, whether the reports can have come out of the study's channel at all. Every report is drawn from a mixture of
the channel's rows, whatever its user's value is. So for any set $A$ of codes the probability that a report is in $A$
lies between $\min_j P_j(A)$ and $\max_j P_j(A)$, *for every user*; users may differ, and are independent. By Hoeffding
(1963, theorem 1) the number $K$ of $n$ reports in $A$ then has

$$
P[K/n \ge x] \le e^{-n\,\mathrm{KL}(x \| \max_j P_j(A))} \quad\text{for } x \ge \max_j P_j(A),
$$

and likewise below the minimum, $\mathrm{KL}$ between Bernoulli laws. Here $A$ runs over all intervals of codes, which
is what the rows of a window channel are made of: codes of a larger ε are too many in a window, raw values are too many
on some codes and too few elsewhere, a constant is all on one. With a union bound over all of them no set of real
reports is refused with a probability above $10^{-6}$, at any number of users, whatever their values are.

The mean of the reports has a test of its own. The mean of the users' values lies within the bounds, so a mean of the
reports outside of them is noise alone, which Bernstein's inequality bounds (Chernoff's for Laplace noise).

No test can tell codes of a *smaller* ε, which look like values that vary a lot: for that, `Reports` carry the digest of
their study.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.channels.window import Window, WindowChannel
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.reports import Reports
from hybriddp.wording import counted

if TYPE_CHECKING:
    from hybriddp.mean.study import MeanStudy

WEIGHTS = ("adaptive", "known-variance", "privacy", "naive", "trusted-only", "local-only", "full-local")
FALSE_ALARM = 5e-7
"""Of each of the two tests."""
_LARGEST_VARIANCE = 0.25  # of values on [0, 1] (Popoviciu)
_STANDARD_ERRORS = 6.0
_ALL_LENGTHS = 512  # up to so many codes intervals of all lengths are looked at
_REMEDY = "Nothing was released. Summarize the reports of this study: study.randomize makes them."


@dataclass(frozen=True, slots=True)
class WeightRule:
    """How the two groups are weighted."""

    weight: str | float = "adaptive"  # one of `WEIGHTS`, or a fixed weight on the trusted group
    sd: float | None = None  # for "known-variance" alone: the standard deviation of the values, public knowledge

    @classmethod
    def of(cls, study: "MeanStudy", weight: str | float, sd: float | None) -> "WeightRule":
        """The rule that a user of `MeanStudy.estimate` asks for, checked."""
        if isinstance(weight, str):
            _check.choice("weight", weight, WEIGHTS)
        else:
            _check.number("weight", weight, _check.WEIGHT)
        if (weight == "known-variance") != (sd is not None):
            raise ParameterError("sd", 'given exactly if weight is "known-variance"', sd)
        if sd is not None:
            _check.number("sd", sd, _check.Range("a number from 0 to half of the range", 0.0, study.width / 2))
        return cls(weight, sd)

    @property
    def is_adaptive(self) -> bool:
        """Whether the weight depends on what the reports say."""
        return self.weight == "adaptive"

    @property
    def needs_trusted(self) -> bool:
        """Whether anything about the trusted group has to be released."""
        return self.weight not in ("local-only", 0.0)

    def variance(self, study: "MeanStudy") -> float | None:
        """The variance of the values on the unit range, where it is public knowledge."""
        return None if self.sd is None else (self.sd / study.width) ** 2


@dataclass(frozen=True, slots=True)
class Checked:
    """What an estimate is made from. Nothing about the trusted group has been spent or released yet."""

    study: "MeanStudy"
    trusted: TrustedSummary | None
    local: LocalSummary | LaplaceSummary | None
    rule: WeightRule

    @property
    def n_trusted(self) -> int:
        """How many trusted users there are."""
        return self.trusted.count if self.trusted else 0

    @property
    def n_local(self) -> int:
        """How many local users there are."""
        return self.local.count if self.local else 0


def check(
    study: "MeanStudy",
    trusted: TrustedSummary | ArrayLike | None,
    local: LocalSummary | LaplaceSummary | Reports | ArrayLike | None,
    rule: WeightRule,
    *,
    single_group: bool,
) -> Checked:
    """Both groups summarized; `DataError` or `ProtocolError` if there can be no estimate from them."""
    reports = check_local(study, local)
    if isinstance(trusted, TrustedSummary):
        _check_digest(study, trusted.study)
    elif trusted is not None:
        trusted = study.summarize_trusted(trusted)
    checked = Checked(study, trusted, reports, rule)
    _check_sizes(checked, single_group=single_group)
    check_plausible(study, reports)
    return checked


def check_local(
    study: "MeanStudy", local: LocalSummary | LaplaceSummary | Reports | ArrayLike | None
) -> LocalSummary | LaplaceSummary | None:
    """The summary of reports, or one that belongs to the study."""
    if local is None:
        return None
    if not isinstance(local, LocalSummary | LaplaceSummary):
        return study.summarize_local(local)
    _check_digest(study, local.study)
    if isinstance(local, LocalSummary):
        local.window_channel(study.channel)
    else:
        local.laplace_channel(study.channel)
    return local


def _check_digest(study: "MeanStudy", digest: str) -> None:
    if digest != study.digest:
        raise ProtocolError(
            f"The summary belongs to study {digest[:12]}…, not to {study.digest[:12]}… ({study.name!r})."
        )


def _check_sizes(checked: Checked, *, single_group: bool) -> None:
    """Raise `DataError` if a group is too small for the study, or empty and asked for."""
    sizes = {"trusted": checked.n_trusted, "local": checked.n_local}
    least, weight = checked.study.min_group_size, checked.rule.weight
    empty = [name for name, size in sizes.items() if not size]
    if len(empty) == 2:
        raise DataError("Both groups are empty.")
    if empty and not single_group:
        raise DataError(
            f"The {empty[0]} group is empty. Pass single_group=True if the answer of the other group alone will do."
        )
    for name, size in sizes.items():
        if 0 < size < least:
            raise DataError(f"The {name} group has {counted(size, 'user')}; the study asks for {least:,}.")
    alone = ("trusted-only", 1.0) if empty == ["local"] else ("local-only", 0.0)
    if empty and not checked.rule.is_adaptive and weight not in alone:
        raise DataError(f"The {empty[0]} group is empty, but weight={weight!r} asks for it.")


def check_plausible(study: "MeanStudy", reports: LocalSummary | LaplaceSummary | None) -> None:
    """Raise `DataError` if no users can have sent these reports, or if they refute what is known of the spread."""
    if reports is None or not reports.count:
        return
    if isinstance(reports, LaplaceSummary):
        laplace = reports.laplace_channel(study.channel)
        _refuse_mean(_beyond_chernoff(_outside(float(reports.exact_mean(laplace))), reports.count, laplace))
        return
    channel, counts = reports.window_channel(study.channel), np.array(reports.counts, np.int64)
    suspect = _too_concentrated(counts, channel.window)
    if suspect:
        raise DataError(f"The local reports cannot come from this study's channel: {suspect}. {_REMEDY}")
    outside = _outside(float(counts @ channel.values) / reports.count) - float(channel.worst_bias)
    _refuse_mean(_beyond_bernstein(outside, reports.count, channel))
    _check_spread(study, reports)


def _refuse_mean(impossible: bool) -> None:
    if impossible:
        raise DataError(
            f"The mean of the local reports lies more than {_STANDARD_ERRORS:g} standard errors outside of the bounds, "
            f"which no values within them can give: the reports are those of another study, or raw values. {_REMEDY}"
        )


def _check_spread(study: "MeanStudy", reports: LocalSummary) -> None:
    r"""Raise `DataError` if the reports vary more than public knowledge said, by three standard errors.

    The estimate has the divisor $n_L - 1$, and squared deviations vary by up to $s - s^2$ (`VarianceEvidence`); reports
    add what the channel does to them at worst, so that few reports that happen to agree are not sure of themselves.
    """
    limit, n, channel = study.variance_at_most, reports.count, reports.window_channel(study.channel)
    if limit >= _LARGEST_VARIANCE or n < 2:
        return
    local = reports.statistics(channel)
    influence = channel.square_values - 2 * local.mean * channel.values
    noise = float((channel.probabilities @ influence**2 - (channel.probabilities @ influence) ** 2).max())
    error = math.sqrt((noise + limit - limit**2) / n)
    allowed = limit * n / (n - 1) + channel.worst_rounding_variance
    if local.variance - 3 * error > allowed:
        raise DataError(
            f"The reports vary more than sd_at_most={study.sd_at_most:g} allows, by over three standard errors. "
            "Nothing has been spent. Estimate with a larger sd_at_most, or without one: the reports stay valid."
        )


def _too_concentrated(counts: NDArray[np.int64], window: Window) -> str | None:
    """What the counts look like, if they are no mixture of the channel's rows; None if they may be one."""
    n, start, end = int(counts.sum()), *_intervals(window.n_codes, window.width)
    total = np.concatenate([[0], np.cumsum(counts)])
    frequency = (total[end] - total[start]) / n
    low, high = _probabilities(window, start, end)
    limit = math.log(2 * len(start) / FALSE_ALARM) / n
    above = (frequency > high) & (_divergence(frequency, high) > limit)
    below = (frequency < low) & (_divergence(frequency, low) > limit)
    if not (above.any() or below.any()):
        return None
    if counts.max() > 0.9 * n:
        return "nearly all of them are the same code, so they look like a constant"
    return "they are too concentrated, so they look like raw values, or like codes of a larger ε"


def _intervals(n_codes: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts and ends (excluded) of the intervals of codes that are looked at: all, or those of some lengths."""
    if n_codes <= _ALL_LENGTHS:
        start, end = np.triu_indices(n_codes + 1, 1)
        return start, end
    lengths = sorted({width, *(1 << i for i in range(n_codes.bit_length() - 1))})
    start = np.concatenate([np.arange(n_codes - length + 1) for length in lengths])
    return start, start + np.repeat(lengths, [n_codes - length + 1 for length in lengths])


def _probabilities(window: Window, start: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    r"""The least and the largest probability of each interval over all rows.

    A row gives $a$ to each code and $b$ more to those in its window, which can lie anywhere: an interval has at most
    $\min(\text{length}, k)$ codes in common with it, and least with the first or the last one.
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
    return np.asarray(one + other)


def _outside(mean: float) -> float:
    """By how much a mean lies outside of the unit range."""
    return max(-mean, mean - 1.0, 0.0)


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
