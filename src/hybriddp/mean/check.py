"""First step of an estimate: everything is checked before anything is spent.

`hybriddp.mean.plausible` says whether the reports can have come out of the study's channel at all.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.mean.plausible import implausible_reports, spread_is_refuted
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.mean.weights import LocalStatistics
from hybriddp.reporting.wording import counted
from hybriddp.study.reports import Reports
from hybriddp.study.study import EMPTY

if TYPE_CHECKING:
    from hybriddp.mean.study import MeanStudy

WEIGHTS = ("adaptive", "known-variance", "privacy", "naive", "trusted-only", "local-only")


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
    implausible: int = 0  # at least so many of the reports did not come out of the study's channel
    reported: LocalStatistics | None = None  # what the reports say; None if there are none

    @property
    def n_trusted(self) -> int:
        """How many trusted users there are."""
        return self.trusted.count if self.trusted else 0

    @property
    def n_local(self) -> int:
        """How many local users there are."""
        return self.local.count if self.local else 0

    @property
    def asked(self) -> bool:
        """Whether something about the trusted group is to be released."""
        return bool(self.n_trusted) and self.rule.needs_trusted

    @property
    def is_from_reports(self) -> bool:
        """Whether an estimate takes nothing from the trusted group, and reports that are no simulation."""
        return not self.asked and self.local is not None and self.local.count > 0 and not self.local.seeded


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
    checked = replace(checked, implausible=implausible_reports(study, reports))
    check_spread(study, reports)
    if reports is not None and reports.count:
        checked = replace(checked, reported=reports.statistics(study.channel))
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
        raise DataError(EMPTY)
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


def check_spread(study: "MeanStudy", reports: LocalSummary | LaplaceSummary | None) -> None:
    """Raise `DataError` if the reports refute what is known of the spread: the curator can say something else."""
    if spread_is_refuted(study, reports):
        raise DataError(
            f"The reports vary more than sd_at_most={study.sd_at_most:g} allows, by over three standard errors. "
            "Nothing has been spent. Estimate with a larger sd_at_most, or without one: the reports stay valid."
        )
