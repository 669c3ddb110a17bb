"""`Groups`: both groups of a study, summarized, checked and decoded. Nothing has been charged or released yet.

Everything that can be refused is refused here: summaries of another study, impossible ones, groups that are empty or
too small, reports that cannot have come out of the study's channel, options that do not fit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from numpy.typing import ArrayLike

from hybriddp.channels.plausible import REMEDY
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.reporting.wording import counted
from hybriddp.study.reports import Reports, refuse_reports
from hybriddp.study.summary import LocalSummary, TrustedSummary

if TYPE_CHECKING:
    from hybriddp.study.question import DeviceQuestion
    from hybriddp.study.study import Study

EMPTY = "Both groups are empty."
"""Said of a study, or of a part of the users, in which nobody took part."""
Pair = tuple[TrustedSummary | None, LocalSummary | None]
"""The summaries of one part of the users."""

EvidenceT = TypeVar("EvidenceT")
OptionsT = TypeVar("OptionsT", bound="Options")


@dataclass(frozen=True, slots=True)
class Forged:
    """Reports that did not come out of a study's channel."""

    count: int
    """A lower bound on their number; 0 if all reports may be genuine."""
    words: str = ""
    """Why all reports are refused if nothing ties them to the study, as a sentence."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the groups are combined. A kind of study that leaves a choice has more of them."""

    @property
    def needs_trusted(self) -> bool:
        """Whether anything about the trusted group has to be released."""
        return True


@dataclass(frozen=True, slots=True)
class Groups(Generic[EvidenceT, OptionsT]):
    """Both groups of a study, or of a part of its users.

    Attributes
    ----------
    study : Study
        The study of these users.
    trusted, local : TrustedSummary or None, LocalSummary or None
        The summaries; None where there is no such group.
    options : Options
        How they are to be combined.
    evidence : object or None
        Content of the reports, decoded with the study's channel; None if there are none.
    implausible : int
        Lower bound on the number of forged reports.
    """

    study: "Study[EvidenceT, OptionsT, Any]"
    trusted: TrustedSummary | None
    local: LocalSummary | None
    options: OptionsT
    evidence: EvidenceT | None = None
    implausible: int = 0

    @classmethod
    def of(
        cls,
        study: "Study[EvidenceT, OptionsT, Any]",
        trusted: TrustedSummary | ArrayLike | None,
        local: LocalSummary | Reports | ArrayLike | None,
        options: OptionsT,
        *,
        single_group: bool,
    ) -> "Groups[EvidenceT, OptionsT]":
        """Summarize and check both groups; `DataError` or `ProtocolError` if there can be no estimate from them."""
        if isinstance(trusted, LocalSummary) or isinstance(local, TrustedSummary):
            raise DataError(
                "The summaries are exchanged. Give the TrustedSummary as trusted, the LocalSummary as local."
            )
        refuse_reports(trusted)
        local = None if local is None else study.summary(local)
        if trusted is not None and not isinstance(trusted, TrustedSummary):
            trusted = study.summarize_trusted(trusted)
        groups = cls(study, trusted, local, options)
        if trusted is not None:
            _check_trusted(study, trusted)
        _check_sizes(groups, single_group=single_group)
        implausible = 0 if local is None else study.implausible(local)
        study.check_options(groups)
        evidence = study.decode(local) if local is not None and local.count else None
        return replace(groups, evidence=evidence, implausible=implausible)

    @property
    def n_trusted(self) -> int:
        """Number of trusted users."""
        return self.trusted.count if self.trusted else 0

    @property
    def n_local(self) -> int:
        """Number of local users who reported."""
        return self.local.count if self.local else 0

    @property
    def n_users(self) -> int:
        """Number of users that the answer is about."""
        return self.n_trusted + self.n_local

    @property
    def empty(self) -> list[str]:
        """Names of the groups that nobody is in."""
        return [name for name, size in (("trusted", self.n_trusted), ("local", self.n_local)) if not size]

    @property
    def tied(self) -> bool:
        """Whether every report came with the study's digest."""
        return not self.n_local or self.local is None or self.local.tied

    @property
    def seeded(self) -> bool:
        """Whether reports were drawn with a seed, so that they are a simulation."""
        return self.local is not None and self.local.seeded

    @property
    def to_release(self) -> TrustedSummary | None:
        """The summary that an estimate releases with noise; None if it takes nothing from the trusted group."""
        return self.trusted if self.n_trusted and self.options.needs_trusted else None

    @property
    def is_from_reports(self) -> bool:
        """Whether an estimate takes nothing from the trusted group, and reports that are no simulation."""
        return self.to_release is None and self.n_local > 0 and not self.seeded


def groups_of_parts(
    study: "Study[EvidenceT, OptionsT, Any]",
    by: str,
    summaries: Mapping[Any, Pair],
    options: OptionsT,
    *,
    single_group: bool,
) -> dict[Any, Groups[EvidenceT, OptionsT]]:
    """Check the groups of all parts of the users; `DataError` if one of them cannot be estimated."""
    if not summaries:
        raise ParameterError("summaries", "those of at least one part", summaries)
    parts, problems = {}, []
    for key, pair in summaries.items():
        trusted, local = _checked_pair(key, pair)
        try:
            parts[key] = Groups.of(study.part(by, key), trusted, local, options, single_group=single_group)
        except DataError as problem:
            problems.append(f"{key}: {problem}")
    if problems:
        empty = any(problem.endswith(EMPTY) for problem in problems)
        remedy = " Leave keys that nobody has out, or check their spelling." if empty else ""
        said = " ".join(problems[:5])
        raise DataError(f"{len(problems)} of {len(summaries)} parts cannot be estimated. {said}{remedy}")
    return parts


def refuse_forged(forged: Forged, local: LocalSummary) -> int:
    """Return the number of forged reports; `DataError` if there are any and nothing ties them to the study.

    Untied reports are something else altogether. If they are tied, a few participants who agree on a code must not be
    able to stop a study.
    """
    if forged.count and not local.tied:
        raise DataError(f"{forged.words} {REMEDY}")
    return forged.count


def _checked_pair(key: object, pair: object) -> Pair:
    if isinstance(pair, tuple) and len(pair) == 2:
        trusted, local = pair
        if isinstance(trusted, TrustedSummary | None) and isinstance(local, LocalSummary | None):
            return trusted, local
    raise DataError(f"{key}: summaries must hold a pair of a trusted and a local summary, or None, for every key.")


def _check_trusted(study: "Study[Any, Any, Any]", trusted: TrustedSummary) -> None:
    """Raise `ProtocolError` or `DataError` unless a summary is of this study and of possible users."""
    check_summary(study, "trusted", trusted, study.n_sums)
    least, most = study.contribution
    if not least * trusted.count <= sum(trusted.sums) <= most * trusted.count:
        raise DataError("The trusted summary is impossible: its sums are not those of its number of users.")


def check_summary(question: "DeviceQuestion", name: str, summary: TrustedSummary | LocalSummary, expected: int) -> None:
    """Raise `ProtocolError` unless a summary is of this question, and has as many numbers as expected."""
    if summary.study != question.digest:
        mine = f"{question.digest[:12]}… ({question.name!r})"
        raise ProtocolError(f"The summary belongs to study {summary.study[:12]}…, not to {mine}.")
    if len(summary.array()) != expected:
        raise ProtocolError(f"The {name} summary has {len(summary.array()):,} counts, the study {expected:,}.")


def _check_sizes(groups: Groups[Any, Any], *, single_group: bool) -> None:
    """Raise `DataError` if a group is too small for the study, or empty although it is needed."""
    alone = single_group and len(groups.empty) == 1
    if "trusted" in groups.empty and not alone and groups.trusted is not None and groups.trusted.outside:
        raise DataError(
            "The trusted group is empty: none of its items is one of the categories. Check how they are spelled, and "
            "which column is counted."
        )
    check_sizes(groups.n_trusted, groups.n_local, groups.study.min_group_size, single_group=single_group)


def check_sizes(n_trusted: int, n_local: int, least: int, *, single_group: bool) -> None:
    """Raise `DataError` if a group has fewer than ``least`` users, or none although it is needed."""
    sizes = {"trusted": n_trusted, "local": n_local}
    empty = [name for name, size in sizes.items() if not size]
    if len(empty) == 2:
        raise DataError(EMPTY)
    if empty and not single_group:
        raise DataError(
            f"The {empty[0]} group is empty. Pass single_group=True if the answer of the other group alone will do."
        )
    for name, size in sizes.items():
        if size:
            check_size(name, size, least)


def check_size(name: str, size: int, least: int) -> None:
    """Raise `DataError` if a group has fewer than ``least`` users."""
    if size < least:
        raise DataError(f"The {name} group has {counted(size, 'user')}; the study asks for {least:,}.")
