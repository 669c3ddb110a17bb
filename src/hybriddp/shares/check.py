"""First step of an estimate: everything is checked before anything is spent.

Among it, whether the reports can have come out of the study's channel at all (`hybriddp.channels.plausible`). Whatever
a user's category is, their report has each code, or sets each bit, with a probability between two that are public. Raw
categories, a constant, or codes of a larger ε are too many on some codes and too few on others; rows of bits with too
many or too few ones are noticed by their total.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hybriddp.channels.plausible import REMEDY, count_surpluses, wrong_in_codes, wrong_in_supports
from hybriddp.channels.response import SymbolChannel
from hybriddp.errors import DataError, ProtocolError
from hybriddp.reporting.wording import counted
from hybriddp.shares.summary import LocalCounts, TrustedCounts
from hybriddp.study.reports import Reports
from hybriddp.study.study import EMPTY

if TYPE_CHECKING:
    from hybriddp.shares.study import FrequencyStudy

_FALSE_ALARM = 1e-6  # of all tests of a study together
_CONSTANT = 0.9  # a fraction of all reports that have one code


@dataclass(frozen=True, slots=True)
class CheckedCounts:
    """What shares are estimated from. Nothing about the trusted group has been spent or released yet."""

    study: "FrequencyStudy"
    trusted: TrustedCounts | None
    local: LocalCounts | None
    implausible: int = 0  # at least so many of the reports did not come out of the study's channel

    @property
    def n_trusted(self) -> int:
        """How many trusted users there are."""
        return self.trusted.count if self.trusted else 0

    @property
    def n_local(self) -> int:
        """How many local users there are."""
        return self.local.count if self.local else 0

    @property
    def is_from_reports(self) -> bool:
        """Whether there is no trusted group, and reports that are no simulation."""
        return not self.n_trusted and self.local is not None and self.local.count > 0 and not self.local.seeded


def check_counts(
    study: "FrequencyStudy",
    trusted: object,
    local: LocalCounts | Reports | ArrayLike | None,
    *,
    single_group: bool,
) -> CheckedCounts:
    """Both groups summarized; `DataError` or `ProtocolError` if there can be no estimate from them."""
    if local is not None and not isinstance(local, LocalCounts):
        local = study.summarize_local(local)
    if trusted is not None and not isinstance(trusted, TrustedCounts):
        trusted = study.summarize_trusted(trusted)
    checked = CheckedCounts(study, trusted, local)
    expected = {"trusted": len(study.names), "local": study.oracle.n_counts}
    for name, summary in (("trusted", trusted), ("local", local)):
        if summary is not None:
            _check_summary(study, name, summary, expected[name])
    _check_sizes(checked, single_group=single_group)
    return replace(checked, implausible=implausible_counts(study, checked.local))


def _check_summary(study: "FrequencyStudy", name: str, summary: TrustedCounts | LocalCounts, n_counts: int) -> None:
    if summary.study != study.digest:
        mine = f"{study.digest[:12]}… ({study.name!r})"
        raise ProtocolError(f"The summary belongs to study {summary.study[:12]}…, not to {mine}.")
    if len(summary.counts) != n_counts:
        raise ProtocolError(f"The {name} summary has {len(summary.counts):,} counts, the study {n_counts:,}.")


def _check_sizes(checked: CheckedCounts, *, single_group: bool) -> None:
    """Raise `DataError` if a group is too small for the study, or empty and asked for."""
    sizes = {"trusted": checked.n_trusted, "local": checked.n_local}
    least = checked.study.min_group_size
    empty = [name for name, size in sizes.items() if not size]
    fine = single_group and len(empty) == 1
    if "trusted" in empty and not fine and checked.trusted is not None and checked.trusted.outside:
        raise DataError(
            "The trusted group is empty: none of its items is one of the categories. Check how they are spelled, and "
            "which column is counted."
        )
    if len(empty) == 2:
        raise DataError(EMPTY)
    if empty and not single_group:
        raise DataError(
            f"The {empty[0]} group is empty. Pass single_group=True if the answer of the other group alone will do."
        )
    for name, size in sizes.items():
        if 0 < size < least:
            raise DataError(f"The {name} group has {counted(size, 'user')}; the study asks for {least:,}.")


def implausible_counts(study: "FrequencyStudy", reports: LocalCounts | None) -> int:
    """At least so many reports did not come out of the study's channel; 0 if all may have.

    `DataError` if there are any and nothing ties the reports to the study: they are something else altogether.
    """
    if reports is None or not reports.count:
        return 0
    counts, channel = reports.array(), study.channel
    if isinstance(channel, SymbolChannel):
        users = np.array([reports.count])
        wrong = wrong_in_supports(channel, counts[np.newaxis], users, false_alarm=_FALSE_ALARM)
    else:
        least, most = channel.code_bounds
        wrong = wrong_in_codes(count_surpluses(counts, reports.count, least, most, false_alarm=_FALSE_ALARM))
    if wrong and not reports.tied:
        constant = counts.max() > _CONSTANT * reports.count and study.oracle.hit < 0.8
        looks = "a constant" if constant else "raw categories, or like codes of a larger ε"
        raise DataError(
            f"The local reports cannot come from this study's channel: they are too concentrated, so they look like "
            f"{looks}. {REMEDY}"
        )
    return wrong
