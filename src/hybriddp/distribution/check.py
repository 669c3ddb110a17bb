r"""First step of an estimate: everything is checked before anything is spent.

Among it, whether the reports can have come out of the study's channel (`hybriddp.channels.plausible`), by two tests. A
report has a given pattern and code with a probability between $\pi a$ and $\pi(a + b)$, for every user, where $\pi$ is
that of the pattern: too many of one kind are those of people who have agreed on it. And of the $n_k$ reports of pattern
$k$ each has a given code with probability $a + b$ at most: raw labels have more, and so have reports of a larger ε
about values that hardly vary. For this one, it must be settled who sends wrong reports before anybody draws a pattern.
Together no real reports are called wrong with a probability above $10^{-6}$. No test can tell reports of another ε
about values that vary: for that, `hybriddp.mean.Reports` carry the digest of their study.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hybriddp.channels.masked import MaskedResponse
from hybriddp.channels.plausible import REMEDY, count_surpluses, wrong_in_codes
from hybriddp.distribution.summary import BinCounts, PatternCounts
from hybriddp.errors import DataError, ProtocolError
from hybriddp.reporting.wording import counted
from hybriddp.study.reports import Reports
from hybriddp.study.study import EMPTY

if TYPE_CHECKING:
    from hybriddp.distribution.study import DistributionStudy


@dataclass(frozen=True, slots=True)
class CheckedGroups:
    """What an estimate is made from. Nothing about the trusted group has been spent or released yet."""

    study: "DistributionStudy"
    trusted: BinCounts | None
    local: PatternCounts | None
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


def check_groups(
    study: "DistributionStudy",
    trusted: BinCounts | ArrayLike | None,
    local: PatternCounts | Reports | ArrayLike | None,
    *,
    single_group: bool,
) -> CheckedGroups:
    """Both groups summarized; `DataError` or `ProtocolError` if there can be no estimate from them."""
    if isinstance(local, PatternCounts):
        _check_digest(study, local)
        if len(local.counts) != study.channel.n_codes:
            raise ProtocolError(f"The local summary has {len(local.counts)} codes, the study {study.channel.n_codes}.")
    elif local is not None:
        local = study.summarize_local(local)
    if isinstance(trusted, BinCounts):
        _check_digest(study, trusted)
    elif trusted is not None:
        trusted = study.summarize_trusted(trusted)
    checked = CheckedGroups(study, trusted, local)
    _check_sizes(checked, single_group=single_group)
    return checked if local is None else replace(checked, implausible=implausible_patterns(study.channel, local))


def _check_digest(study: "DistributionStudy", summary: BinCounts | PatternCounts) -> None:
    if summary.study != study.digest:
        mine = f"{study.digest[:12]}… ({study.name!r})"
        raise ProtocolError(f"The summary belongs to study {summary.study[:12]}…, not to {mine}.")


def _check_sizes(checked: CheckedGroups, *, single_group: bool) -> None:
    """Raise `DataError` if a group is too small for the study, or empty and asked for."""
    sizes = {"trusted": checked.n_trusted, "local": checked.n_local}
    least, empty = checked.study.min_group_size, [name for name, size in sizes.items() if not size]
    if len(empty) == 2:
        raise DataError(EMPTY)
    if empty and not single_group:
        raise DataError(
            f"The {empty[0]} group is empty. Pass single_group=True if the answer of the other group alone will do."
        )
    for name, size in sizes.items():
        if 0 < size < least:
            raise DataError(f"The {name} group has {counted(size, 'user')}; the study asks for {least:,}.")


def implausible_patterns(channel: MaskedResponse, reports: PatternCounts) -> int:
    """At least so many reports did not come out of the channel; 0 if all may have.

    `DataError` if there are any and nothing ties the reports to the study: they are something else altogether.
    """
    counts = np.array(reports.counts, np.int64).reshape(channel.n_patterns, channel.n_labels)
    asked, users = channel.pattern_probabilities[:, np.newaxis], counts.sum(axis=1, keepdims=True)
    least, most = channel.response.miss_probability, channel.response.hit_probability
    kinds = count_surpluses(counts, reports.count, least * asked, most * asked)
    codes = count_surpluses(counts, np.broadcast_to(users, counts.shape), 0.0, most)
    wrong = max(wrong_in_codes(kinds), wrong_in_codes(codes))
    if wrong and not reports.tied:
        raise DataError(
            "The local reports cannot come from this study's channel: some codes are too frequent, so they look like "
            f"labels that were not randomized, or like reports of a larger ε. {REMEDY}"
        )
    return wrong
