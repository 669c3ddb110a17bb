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
from hybriddp.mean.plausible import implausible_reports
from hybriddp.mean.summary import LocalSummary, TrustedSummary
from hybriddp.reports import Reports
from hybriddp.wording import counted

if TYPE_CHECKING:
    from hybriddp.distribution.study import DistributionStudy


@dataclass(frozen=True, slots=True)
class CheckedGroups:
    """What an estimate is made from. Nothing about the trusted group has been spent or released yet."""

    study: "DistributionStudy"
    trusted: BinCounts | None
    local: PatternCounts | LocalSummary | None
    implausible: int = 0  # at least so many of the reports did not come out of the study's channel

    @property
    def n_trusted(self) -> int:
        """How many trusted users there are."""
        return self.trusted.count if self.trusted else 0

    @property
    def n_local(self) -> int:
        """How many local users there are."""
        return self.local.count if self.local else 0


def check_groups(
    study: "DistributionStudy",
    trusted: BinCounts | ArrayLike | None,
    local: PatternCounts | LocalSummary | Reports | ArrayLike | None,
    *,
    single_group: bool,
    groups_may_differ: bool,
) -> CheckedGroups:
    """Both groups summarized; `DataError` or `ProtocolError` if there can be no estimate from them."""
    if isinstance(local, PatternCounts | LocalSummary):
        _check_local(study, local)
    elif local is not None:
        local = study.summarize_local(local)
    if isinstance(trusted, BinCounts):
        _check_digest(study, trusted.study, study.digest)
    elif isinstance(trusted, TrustedSummary):
        raise DataError(
            "A TrustedSummary holds the total of the values only, and a distribution needs each of them. Give the "
            "trusted users' values, or study.summarize_trusted of them."
        )
    elif trusted is not None:
        trusted = study.summarize_trusted(trusted)
    checked = CheckedGroups(study, trusted, local)
    _check_sizes(checked, single_group=single_group)
    if study.mean_study is not None:
        _check_identified(checked, groups_may_differ=groups_may_differ)
    if isinstance(local, LocalSummary) and study.mean_study is not None:
        checked = replace(checked, implausible=implausible_reports(study.mean_study, local))
    elif isinstance(local, PatternCounts) and isinstance(study.channel, MaskedResponse):
        checked = replace(checked, implausible=implausible_patterns(study.channel, local))
    return checked


def _check_digest(study: "DistributionStudy", digest: str, expected: str) -> None:
    if digest != expected:
        raise ProtocolError(f"The summary belongs to study {digest[:12]}…, not to {expected[:12]}… ({study.name!r}).")


def _check_local(study: "DistributionStudy", local: PatternCounts | LocalSummary) -> None:
    kind = PatternCounts if study.mean_study is None else LocalSummary
    if not isinstance(local, kind):
        raise ProtocolError(
            f"The reports of {study.name!r} are summarized in {kind.__name__}, not {type(local).__name__}."
        )
    _check_digest(study, local.study, study.reports_digest)
    if len(local.counts) != study.channel.n_codes:
        raise ProtocolError(f"The local summary has {len(local.counts)} codes, the study {study.channel.n_codes}.")


def _check_sizes(checked: CheckedGroups, *, single_group: bool) -> None:
    """Raise `DataError` if a group is too small for the study, or empty and asked for."""
    sizes = {"trusted": checked.n_trusted, "local": checked.n_local}
    least, empty = checked.study.min_group_size, [name for name, size in sizes.items() if not size]
    if len(empty) == 2:
        raise DataError("Both groups are empty.")
    if empty and not single_group:
        raise DataError(
            f"The {empty[0]} group is empty. Pass single_group=True if the answer of the other group alone will do."
        )
    for name, size in sizes.items():
        if 0 < size < least:
            raise DataError(f"The {name} group has {counted(size, 'user')}; the study asks for {least:,}.")


def _check_identified(checked: CheckedGroups, *, groups_may_differ: bool) -> None:
    """Raise `DataError` where reports for a mean would have to stand alone."""
    if not checked.n_trusted:
        raise DataError(
            "Reports that were collected for a mean do not determine a distribution by themselves. A trusted group is "
            "needed, or reports of a DistributionStudy."
        )
    if groups_may_differ:
        raise DataError(
            "groups_may_differ=True asks what the local group alone says, and reports that were collected for a mean "
            "do not determine a distribution by themselves. Nothing was released."
        )


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
